"""Models that a real build does not load: its log beside the header tells whether the file or the build lacks."""

from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.mtp_layer import explained, mtp_complaint
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.errors import ServerDied
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.header import model_header
from pytest_mtp.runtime.server import serve

PHANTOM = PhantomSpec(
    seed=5, layers=4, n_embd=64, n_ff=64, chain_length=20, weights="q8_0", wrong=(("right", 0.0), ("mixed", 0.2))
)
KEY = b"qwen35.nextn_predict_layers"
_STRING = b"\x08\0\0\0\x06\0\0\0\0\0\0\0"  # its type, and its length: 6


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("phantom") / "phantom.gguf"
    write(PHANTOM, path)
    return path.read_bytes()


def said(data: bytes, build: Build, capabilities: Capabilities, folder: Path) -> tuple[str, Path]:
    """The whole message of the mtp arm's failed start, and the model."""
    path = folder / "model.gguf"
    path.write_bytes(data)
    spec = ServerSpec(model=str(path), ctx=512, gpu_layers=0, speculation=Speculation(n_max=3))
    with (
        pytest.raises(ServerDied) as caught,
        serve(build.server, negotiate(spec, capabilities), spec, folder, start_timeout_s=60, capabilities=capabilities),
    ):
        pass
    return explained(str(caught.value), model_header(path), caught.value.log_tail), path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"nextn.eh_proj", b"nextn.xx_proj"),
        (b"nextn.enorm", b"nextn.xnorm"),
        (KEY, KEY.upper()),
    ],
)
def test_a_file_without_its_mtp_layer_is_told_as_before_the_start(
    old: bytes, new: bytes, sound: bytes, real_build: Build, real_capabilities: Capabilities, tmp_path: Path
) -> None:
    message, path = said(sound.replace(old, new), real_build, real_capabilities, tmp_path)
    complaint = mtp_complaint(model_header(path))
    assert complaint is not None
    assert message.startswith(f"{complaint}\nThe mtp server ended with exit status")


@pytest.mark.parametrize(
    ("old", "why"),
    [
        (b"qwen35", "it does not know the architecture qwen99"),
        (b"tokenizer.ggml.pre" + _STRING + b"qwen35", "it does not know the tokenizer qwen99"),
    ],
)
def test_a_build_that_is_older_than_the_file_is_told_with_its_mend(
    old: bytes, why: str, sound: bytes, real_build: Build, real_capabilities: Capabilities, tmp_path: Path
) -> None:
    message, _ = said(sound.replace(old, old.replace(b"35", b"99")), real_build, real_capabilities, tmp_path)
    assert message.startswith(
        f"This build is too old for this file ({why}): build a newer llama.cpp with --mtp-source."
    )


def test_a_server_that_ends_of_something_else_keeps_its_message(
    sound: bytes, real_build: Build, real_capabilities: Capabilities, tmp_path: Path
) -> None:
    said_width = b"qwen35.feed_forward_length\x04\0\0\0\x40"
    wider = sound.replace(said_width, said_width[:-1] + b"\x60")
    message, _ = said(wider, real_build, real_capabilities, tmp_path)
    assert message.startswith("The mtp server ended with exit status")
