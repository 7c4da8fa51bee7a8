"""Have a llama-server that runs here: compiled once per recipe, or a binary that exists."""

import platform
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

from pytest_mtp.core.build_spec import Backend, Build, BuildSpec, Options
from pytest_mtp.core.source import Source, SourceKind
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.child import Finished, child_environment, ending, run_text
from pytest_mtp.runtime.compilation import ENVIRONMENT, KEYED, Compilation, find_tools
from pytest_mtp.runtime.cpu import cpu_flags
from pytest_mtp.runtime.progress import Progress, silent

_LOG = "build.log"
_SERVER = "llama-server"
_VERSION_TIMEOUT_S = 60.0


def build(spec: BuildSpec, source: Source, cache: Cache, progress: Progress = silent) -> Build:
    """Return a llama-server of ``source`` that starts here; minutes the first time, then a cache hit.

    ``BuildError`` ends with the compiler's words, or says how the finished binary failed.
    """
    if source.kind is SourceKind.BIN:
        version, identity = _version(source.path), source.identity
        return Build(server=source.path, identity=identity, source=identity, label=source.label, version=version)
    options = spec.cmake_options(cpu_flags(), platform.machine())
    entry = _compiled(spec, source, options, cache, progress)
    return Build(
        server=entry / "bin" / _SERVER,
        identity=entry.name.rpartition("-")[2],
        source=source.identity,
        label=source.label,
        version=_version(entry / "bin" / _SERVER),
        options=options,
        log=entry / _LOG,
    )


def _compiled(spec: BuildSpec, source: Source, options: Options, cache: Cache, progress: Progress) -> Path:
    """Return the cache entry that holds ``bin/`` and the log."""
    tools = find_tools()
    recipe: dict[str, object] = {
        "name": source.label,
        "source": source.identity,
        "options": dict(options),
        "targets": list(spec.targets),
        "compilers": _compilers(spec.backend),
        "environment": child_environment(KEYED),
        "machine": platform.machine(),
    }

    def make(entry: Path) -> None:
        Compilation(
            source=source, options=options, targets=spec.targets, tools=tools, folder=entry, log=entry / _LOG
        ).run(progress)

    return cache.entry("build", recipe, make, progress)


def _compilers(backend: Backend) -> list[str]:
    """Return what the compilers call themselves; an update of one makes a new build."""
    environment = child_environment(ENVIRONMENT)
    host = shlex.split(environment.get("CXX", "")) or ["c++"]
    if shutil.which(host[0]) is None:
        raise BuildError(f"There is no C++ compiler {host[0]!r}; install one (apt install g++), or set CXX.")
    commands = [[*host, "--version"]]
    nvcc = environment.get("CUDACXX") or "nvcc"
    if backend is Backend.CUDA and shutil.which(nvcc):
        commands.append([nvcc, "--version"])
    return [_told_version(run_text(command, environment).stdout) for command in commands]


def _told_version(text: str) -> str:
    """Return the line that holds the version: g++ says it first, nvcc last."""
    lines = text.strip().splitlines() or [""]
    return lines[-1] if "nvcc" in lines[0] else lines[0]


def _version(server: Path) -> str:
    """Return what ``--version`` prints, which also proves that the binary starts on this machine."""
    try:
        done = run_text([str(server), "--version"], child_environment(ENVIRONMENT), timeout_s=_VERSION_TIMEOUT_S)
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
    if done.returncode == -signal.SIGILL:
        message += (
            " It holds instructions that this CPU lacks, or announces and then refuses (virtual machines do). Name the"
            ' instruction sets in the profile\'s [build.options], for example GGML_AVX512 = "OFF" beside'
            ' GGML_NATIVE = "OFF"; a binary of your own needs the same of CMake.'
        )
    return f"{message}\n{said}" if said else message
