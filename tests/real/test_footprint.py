"""What a real server says that it took, against what was computed from its model's header."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.footprint import Footprint, footprint
from pytest_mtp.core.server_log import logged_memory
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.header import model_header
from pytest_mtp.runtime.server import serve

MIB = 2**20
ONE_CLASS = (("right", 0.0),)
EXACT = ("weights", "kv", "recurrent", "draft_kv")
"""Parts that follow from the header; the rest is modelled."""

# Unlike in every way that counts: width, depth, vocabulary, context, cache, flags.
SHAPES = {
    "wide": (
        PhantomSpec(seed=1, layers=4, n_embd=1536, n_ff=3072, chain_length=64, weights="q8_0", wrong=ONE_CLASS),
        ServerSpec(model="-", ctx=4096, gpu_layers=0),
    ),
    "deep": (
        PhantomSpec(seed=1, layers=32, n_embd=256, n_ff=768, chain_length=512, weights="f16", wrong=ONE_CLASS),
        ServerSpec(model="-", ctx=30_000, gpu_layers=0, cache_type_k="q8_0", cache_type_v="q8_0"),
    ),
    "long": (
        PhantomSpec(seed=1, layers=8, n_embd=512, n_ff=2048, chain_length=2000, weights="q8_0", wrong=ONE_CLASS),
        ServerSpec(model="-", ctx=100_000, gpu_layers=0, ubatch=256, cache_type_k="q8_0", cache_type_v="q4_0"),
    ),
    "shared": (
        PhantomSpec(seed=1, layers=4, n_embd=512, n_ff=2048, chain_length=64, weights="q8_0", wrong=ONE_CLASS),
        ServerSpec(model="-", ctx=9000, gpu_layers=0, parallel=2),
    ),
    "no flash attention": (
        PhantomSpec(seed=1, layers=4, n_embd=512, n_ff=2048, chain_length=64, weights="q8_0", wrong=ONE_CLASS),
        ServerSpec(model="-", ctx=4096, gpu_layers=0, flash_attn="off"),
    ),
}
ARMS = {"plain": None, "mtp": Speculation(n_max=3), "mtp with five drafts": Speculation(n_max=5)}
QUANTIZED_DRAFT = ("-ctkd", "q8_0", "-ctvd", "q4_0")


@pytest.fixture(scope="module", params=SHAPES)
def shape(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ServerSpec:
    """A server of the plain arm, whose model has been written."""
    phantom, spec = SHAPES[request.param]
    path = tmp_path_factory.mktemp("phantom") / "phantom.gguf"
    write(phantom, path)
    return replace(spec, model=str(path))


def logged(spec: ServerSpec, build: Build, capabilities: Capabilities, folder: Path) -> Footprint:
    arguments = negotiate(spec, capabilities)
    assert arguments[arguments.index("-lv" if "-lv" in arguments else "--verbosity") + 1] == "4"
    with serve(build.server, arguments, spec, folder, start_timeout_s=120, capabilities=capabilities) as up:
        found = logged_memory(up.log_text())
    assert found is not None
    return found


def check_exact(computed: Footprint, found: Footprint) -> None:
    for part in EXACT:
        assert getattr(computed, part).total == pytest.approx(getattr(found, part).total, abs=0.1 * MIB), part


@pytest.mark.parametrize("arm", ARMS)
def test_a_server_takes_what_was_computed(
    arm: str, shape: ServerSpec, real_build: Build, real_capabilities: Capabilities, tmp_path: Path
) -> None:
    spec = replace(shape, speculation=ARMS[arm])
    computed = footprint(model_header(Path(spec.model)), spec)
    found = logged(spec, real_build, real_capabilities, tmp_path)
    check_exact(computed, found)
    assert computed.whole.total == pytest.approx(found.whole.total, rel=0.05)
    assert (computed.device, computed.assumed) == (0, ())


def test_the_drafts_cache_is_as_large_as_its_own_flags_say(
    real_build: Build, real_capabilities: Capabilities, tmp_path: Path
) -> None:
    phantom, shared = SHAPES["shared"]
    write(phantom, tmp_path / "phantom.gguf")
    speculation = Speculation(n_max=3, extra=QUANTIZED_DRAFT)
    spec = replace(shared, model=str(tmp_path / "phantom.gguf"), speculation=speculation)
    found = logged(spec, real_build, real_capabilities, tmp_path)
    check_exact(footprint(model_header(Path(spec.model)), spec), found)
