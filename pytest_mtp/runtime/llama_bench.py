"""Have llama-bench beside the server, and run it: what a batch of a few tokens costs on this machine."""

import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from pytest_mtp.core.build_spec import Build, BuildSpec
from pytest_mtp.core.llama_bench import KNOWN_BY, BenchShape, BenchTest, bench_arguments, parse_bench
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.core.source import Source
from pytest_mtp.errors import BuildError, MeasureError
from pytest_mtp.runtime.build import build
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.child import run_text
from pytest_mtp.runtime.probe import probe
from pytest_mtp.runtime.process import describe_exit, not_startable, server_environment
from pytest_mtp.runtime.progress import Progress, silent

TARGET = "llama-bench"
_LINES = 10


def build_with_bench(spec: BuildSpec, source: Source, cache: Cache, progress: Progress = silent) -> Build:
    """The server of ``source`` with llama-bench beside it: an entry of its own, a minute where a compiler cache helps.

    BuildError where a ready-made server has no llama-bench in its folder.
    """
    wanted = spec if TARGET in spec.targets else replace(spec, targets=(*spec.targets, TARGET))
    made = build(wanted, source, cache, progress)
    if not bench_binary(made).is_file():
        raise BuildError(f"There is no {bench_binary(made)}; put it beside the server, or give a --source to compile.")
    return made


def bench_binary(made: Build) -> Path:
    """Where llama-bench lies, if it is there."""
    return made.server.with_name(TARGET)


def run_bench(
    binary: Path,
    spec: ServerSpec,
    shape: BenchShape,
    *,
    timeout_s: float,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> tuple[BenchTest, ...]:
    """Measure batches and single tokens of the model of ``spec``; it is loaded once, and by itself on the machine.

    ``environment`` is added to the variables that every server sees. MeasureError ends with its last words.
    """
    command = (str(binary), *bench_arguments(spec, shape, probe(binary, known_by=KNOWN_BY)))
    try:
        done = run_text(command, {**server_environment(), **environment}, timeout_s=timeout_s)
    except OSError as error:
        raise MeasureError(not_startable(str(binary), error)) from error
    except subprocess.TimeoutExpired as error:
        raise MeasureError(f"llama-bench did not end within {timeout_s:g} s. Command: {shlex.join(command)}") from error
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-_LINES:])
        raise MeasureError(f"llama-bench {describe_exit(done.returncode)}. Command: {shlex.join(command)}\n{last}")
    return parse_bench(done.stdout)
