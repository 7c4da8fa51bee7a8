"""What is told to what keeps object files."""

import shutil
from pathlib import Path

import pytest

from pytest_mtp.core.toolchain import Launcher
from pytest_mtp.runtime.launcher import launcher_options, launching


def test_every_language_is_compiled_through_the_launcher() -> None:
    assert launcher_options(None) == []
    languages = [one.split("_")[1] for one in launcher_options("/usr/bin/ccache")]
    assert languages == ["C", "CXX", "CUDA", "HIP"]
    assert {one.split("=")[1] for one in launcher_options("/usr/bin/ccache")} == {"/usr/bin/ccache"}


@pytest.mark.parametrize("chosen", [None, Launcher.CCACHE])
def test_ccache_needs_no_server(chosen: Launcher | None, tmp_path: Path) -> None:
    with launching(chosen, "/none/ccache", tmp_path) as told:
        assert told == {"CCACHE_BASEDIR": str(tmp_path)}


def test_two_builds_at_once_have_a_server_of_sccache_each(tmp_path: Path) -> None:
    true = str(shutil.which("true"))
    with (
        launching(Launcher.SCCACHE, true, tmp_path / "a") as first,
        launching(Launcher.SCCACHE, true, tmp_path / "b") as second,
    ):
        assert (first["SCCACHE_BASEDIRS"], second["SCCACHE_BASEDIRS"]) == (str(tmp_path / "a"), str(tmp_path / "b"))
        assert set(first) == {"SCCACHE_BASEDIRS", "SCCACHE_SERVER_PORT"}
