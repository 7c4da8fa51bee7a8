import io
from dataclasses import replace

import pytest

from pytest_mtp.core.finding import State
from pytest_mtp.core.fitting import Room, fits, largest_ctx
from pytest_mtp.core.footprint import DEVICE_MARGIN, footprint
from pytest_mtp.core.gguf_header import Header, read_header
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from tests.fakes.gguf_file import small_model

SPEC = ServerSpec(model="m", ctx=100_000, gpu_layers=99, speculation=Speculation(n_max=3))
GIB = 2**30


@pytest.fixture(scope="module")
def header() -> Header:
    data = small_model()
    return read_header(io.BytesIO(data), len(data))


def card(total: int | None, free: int | None = None) -> Room:
    return Room(name="the card", on_card=True, total=total, free=free)


def test_a_server_that_fits_is_told_part_by_part(header: Header) -> None:
    finding = fits("n3 mtp", header, SPEC, card(24 * GIB, 24 * GIB))
    assert finding.state is State.HAVE
    assert finding.said.startswith("n3 mtp, ctx 100000: ")
    assert "KV cache" in finding.said
    assert "KV of the head" in finding.said


def test_a_server_that_is_too_large_says_which_context_would_fit(header: Header) -> None:
    room = card(DEVICE_MARGIN + footprint(header, replace(SPEC, ctx=50_000)).device)
    finding = fits("n3 mtp", header, SPEC, room)
    assert finding.state is State.LACK
    found = largest_ctx(header, SPEC, room)
    assert found is not None
    assert f"server.ctx={found}" in finding.said
    assert fits("n3 mtp", header, replace(SPEC, ctx=found), room).state is State.HAVE
    assert fits("n3 mtp", header, replace(SPEC, ctx=found + 1024), room).state is State.LACK


def test_no_context_helps_where_the_weights_alone_do_not_fit(header: Header) -> None:
    finding = fits("n3 mtp", header, SPEC, card(DEVICE_MARGIN))
    assert finding.state is State.LACK
    assert "smaller quantization, or fewer layers on the card" in finding.said


def test_what_others_hold_now_is_a_note_and_no_lack(header: Header) -> None:
    finding = fits("n3 plain", header, SPEC, card(24 * GIB, GIB))
    assert finding.state is State.NOTE
    assert finding.said.endswith("only 1.0 GiB are free now")


def test_a_card_that_does_not_tell_its_size_lacks_nothing(header: Header) -> None:
    assert fits("n3 mtp", header, SPEC, card(None)).state is State.HAVE


def test_a_cpu_counts_all_of_a_server_and_keeps_no_margin(header: Header) -> None:
    spec = replace(SPEC, gpu_layers=0)
    needed = footprint(header, spec).whole.total
    exactly = Room(name="memory", on_card=False, total=needed, free=needed)
    assert fits("n3 mtp", header, spec, exactly).state is State.HAVE
    assert fits("n3 mtp", header, spec, replace(exactly, total=needed - 1)).state is State.LACK
