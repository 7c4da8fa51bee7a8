"""What CMake and the compilers are told, so that object files of one entry serve in the next."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pytest_mtp.core.toolchain import Launcher
from pytest_mtp.runtime.child import child_environment, run_text
from pytest_mtp.runtime.port import available_port
from pytest_mtp.runtime.toolchain import ENVIRONMENT

_LANGUAGES = ("C", "CXX", "CUDA", "HIP")


def launcher_options(launcher: str | None) -> list[str]:
    """Arguments for CMake that put ``launcher``, a path, in front of each compiler."""
    return [] if launcher is None else [f"-DCMAKE_{one}_COMPILER_LAUNCHER={launcher}" for one in _LANGUAGES]


@contextmanager
def launching(chosen: Launcher | None, launcher: str | None, folder: Path) -> Iterator[Mapping[str, str]]:
    """Variables under which the path of ``folder`` is no part of what is looked up.

    sccache compiles in a server that learns of the folder only when it starts, and would otherwise
    outlive the build: so each build has a server of its own. The files it keeps are shared.
    """
    if chosen is not Launcher.SCCACHE or launcher is None:
        yield {"CCACHE_BASEDIR": str(folder)}
        return
    told = {"SCCACHE_BASEDIRS": str(folder), "SCCACHE_SERVER_PORT": str(available_port("127.0.0.1", 0))}
    try:
        yield told
    finally:
        # It complains when nothing was compiled, so that no server ever started.
        run_text([launcher, "--stop-server"], child_environment(ENVIRONMENT, told))
