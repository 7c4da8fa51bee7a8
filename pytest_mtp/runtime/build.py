"""Have a llama-server that runs here: compiled once per recipe, or a binary that exists."""

import os
import platform
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

from pytest_mtp.core.accelerator import resolve_backend
from pytest_mtp.core.build_spec import Backend, Build, BuildSpec, Options
from pytest_mtp.core.source import Source
from pytest_mtp.core.toolchain import ARCHITECTURES, Toolchain, cuda_architecture, refusals
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.child import Finished, child_environment, ending
from pytest_mtp.runtime.compilation import Compilation
from pytest_mtp.runtime.cpu import cpu_flags
from pytest_mtp.runtime.progress import Progress, silent
from pytest_mtp.runtime.sandbox import Sandbox, run_confined
from pytest_mtp.runtime.toolchain import (
    ENVIRONMENT,
    KEYED,
    accelerators,
    compute_capabilities,
    find_tools,
    read_toolchain,
)

_LOG = "build.log"
_SERVER = "llama-server"
_VERSION_TIMEOUT_S = 60.0


def build(
    spec: BuildSpec, source: Source, cache: Cache, progress: Progress = silent, sandbox: Sandbox | None = None
) -> Build:
    """Return a llama-server of ``source`` that starts here; minutes the first time, then a cache hit.

    ``BuildError`` says what these tools cannot compile before they are run, ends with the
    compiler's words, or says how the finished binary failed.
    """
    if source.kind.ready_made:
        version, identity = server_version(source.path, sandbox), source.identity
        return Build(server=source.path, identity=identity, source=identity, label=source.label, version=version)
    spec = _resolved(spec)
    options = spec.cmake_options(cpu_flags(), platform.machine())
    entry = _compiled(spec, source, options, cache, progress, sandbox)
    return Build(
        server=entry / "bin" / _SERVER,
        identity=entry.name.rpartition("-")[2],
        source=source.identity,
        label=source.label,
        version=server_version(entry / "bin" / _SERVER, sandbox),
        options=options,
        log=entry / _LOG,
    )


def complaints(spec: BuildSpec) -> tuple[str, ...]:
    """Say why ``build`` would not even begin, a sentence each; ``BuildError`` where a tool is missing."""
    spec = _resolved(spec)
    return _complaints(spec, read_toolchain(find_tools(), spec.backend, spec.options))


def _complaints(spec: BuildSpec, toolchain: Toolchain) -> tuple[str, ...]:
    return refusals(spec.backend, spec.options, _named_architectures(spec), toolchain)


def _resolved(spec: BuildSpec) -> BuildSpec:
    """Put this machine's backend for AUTO, and its cards for CUDA where nobody named any."""
    if spec.backend is Backend.CPU:
        return spec
    spec = replace(spec, backend=resolve_backend(spec.backend, accelerators(spec.options)))
    if spec.backend is not Backend.CUDA or _named_architectures(spec):
        return spec
    return replace(spec, cuda_architectures=tuple(map(cuda_architecture, compute_capabilities())))


def _named_architectures(spec: BuildSpec) -> tuple[str, ...]:
    """What CUDA is told to compile for, by whoever wins: the profile, the caller, then the environment."""
    told = dict(spec.options).get(ARCHITECTURES) or ";".join(spec.cuda_architectures)
    return tuple(one for one in (told or os.environ.get("CUDAARCHS", "")).split(";") if one)


def _compiled(
    spec: BuildSpec, source: Source, options: Options, cache: Cache, progress: Progress, sandbox: Sandbox | None
) -> Path:
    """Return the cache entry that holds ``bin/`` and the log."""
    tools = find_tools()
    toolchain = read_toolchain(tools, spec.backend, spec.options)
    if refused := _complaints(spec, toolchain):
        raise BuildError("\n".join(refused))
    recipe: dict[str, object] = {
        # Not the branch: the same commit under another name is the same build.
        "name": source.label.rpartition(" @ ")[2],
        "source": source.identity,
        # Backend, architectures and build type are among them.
        "options": dict(options),
        "targets": list(spec.targets),
        "compilers": list(toolchain.compilers),
        "environment": child_environment(KEYED),
        "machine": platform.machine(),
    }

    def make(entry: Path) -> None:
        Compilation(
            source=source,
            backend=spec.backend,
            options=options,
            targets=spec.targets,
            tools=tools,
            # What strangers compile must not be found by the next build.
            launcher=toolchain.launcher if sandbox is None else None,
            sandbox=sandbox,
            folder=entry,
            log=entry / _LOG,
        ).run(progress)

    return cache.entry("build", recipe, make, progress, sealed=True)


def server_version(server: Path, sandbox: Sandbox | None = None) -> str:
    """Return what ``--version`` prints, which also proves that the binary starts on this machine."""
    try:
        done = run_confined(sandbox, [str(server), "--version"], child_environment(ENVIRONMENT), _VERSION_TIMEOUT_S)
    except OSError as error:
        raise BuildError(f"{server} cannot be run: {error.strerror or error}. Is it made for this machine?") from error
    except subprocess.TimeoutExpired as error:
        raise BuildError(
            f"{server} --version did not end in {_VERSION_TIMEOUT_S:.0f} s; is it a llama-server?"
        ) from error
    if done.returncode != 0:
        raise BuildError(_death(server, done))
    lines = [line.strip() for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("version")), lines[0] if lines else "")


def _death(server: Path, done: Finished) -> str:
    said = (done.stderr + done.stdout).strip()[-500:]
    message = f"{server} --version {ending(done.returncode)}."
    if done.returncode in {-signal.SIGILL, 128 + signal.SIGILL}:  # the second of a sandbox
        message += (
            " It holds instructions that this CPU lacks, or announces and then refuses (virtual machines do). Name the"
            ' instruction sets in the profile\'s [build.options], for example GGML_AVX512 = "OFF" beside'
            ' GGML_NATIVE = "OFF"; a binary of your own needs the same of CMake.'
        )
    return f"{message}\n{said}" if said else message
