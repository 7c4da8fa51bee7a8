import sys
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend, BuildSpec
from pytest_mtp.core.llama_bench import BenchShape
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.core.source import Source, parse_source
from pytest_mtp.errors import BuildError, MeasureError, ServerDied
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.llama_bench import build_with_bench, run_bench
from pytest_mtp.runtime.sources import fetch_source

DATA = Path(__file__).parents[1] / "core" / "data" / "llama_bench"
SPEC = ServerSpec(model="model.gguf", ctx=64, gpu_layers=0)
SHAPE = BenchShape(batch=4)


def fake(folder: Path, body: str) -> Path:
    """A llama-bench that shows a real help, then does ``body``."""
    path = folder / "llama-bench"
    path.write_text(
        f"#!{sys.executable}\nimport os, sys, time\nfrom pathlib import Path\ndata = Path({str(DATA)!r})\n"
        f"if '--help' in sys.argv:\n    print((data / 'help-b11434.txt').read_text())\n    sys.exit()\n{body}\n"
    )
    path.chmod(0o755)
    return path


def test_its_tests_are_read_from_its_output(tmp_path: Path) -> None:
    binary = fake(tmp_path, "print((data / 'b11434.json').read_text())")
    assert [one.n_batch for one in run_bench(binary, SPEC, SHAPE, timeout_s=30)] == [4, 4]


def test_it_sees_the_variables_that_hold_it_to_a_card(tmp_path: Path) -> None:
    binary = fake(tmp_path, "assert os.environ['A'] == 'b'\nprint((data / 'b11434.json').read_text())")
    assert run_bench(binary, SPEC, SHAPE, timeout_s=30, environment={"A": "b"})


def test_its_end_is_told_with_its_command_and_last_words(tmp_path: Path) -> None:
    binary = fake(tmp_path, "print('no such model', file=sys.stderr)\nsys.exit(1)")
    with pytest.raises(MeasureError, match=r"ended with exit status 1(?s:.*)-b 4(?s:.*)no such model"):
        run_bench(binary, SPEC, SHAPE, timeout_s=30)


def test_it_must_end_in_time(tmp_path: Path) -> None:
    binary = fake(tmp_path, "time.sleep(60)")
    with pytest.raises(MeasureError, match=r"did not end within 0\.2 s"):
        run_bench(binary, SPEC, SHAPE, timeout_s=0.2)


def test_a_binary_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "llama-bench").write_text("")
    with pytest.raises(ServerDied, match="cannot be started"):
        run_bench(tmp_path / "llama-bench", SPEC, SHAPE, timeout_s=30)


def ready_made(folder: Path) -> Source:
    server = folder / "llama-server"
    server.write_text("#!/bin/sh\necho version: 1\n")
    server.chmod(0o755)
    return fetch_source(parse_source(f"bin:{server}"), Cache(folder / "cache"))


def test_a_ready_made_server_brings_its_own(tmp_path: Path) -> None:
    fake(tmp_path, "")
    made = build_with_bench(BuildSpec(backend=Backend.CPU), ready_made(tmp_path), Cache(tmp_path / "cache"))
    assert made.server == tmp_path / "llama-server"


def test_a_ready_made_server_without_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"There is no .*llama-bench; put it beside the server"):
        build_with_bench(BuildSpec(backend=Backend.CPU), ready_made(tmp_path), Cache(tmp_path / "cache"))
