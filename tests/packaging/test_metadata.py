"""What an index shows, and refuses."""

import subprocess
import sys
import tomllib

import pytest

from pytest_mtp import __version__
from tests.packaging.built import ROOT, Built, metadata

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = sorted(PROJECT["optional-dependencies"])


def test_an_index_takes_both_files_without_a_warning(built: Built) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(built.wheel), str(built.sdist)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout


def test_the_version_is_the_packages_own(built: Built) -> None:
    assert metadata(built.wheel)["Version"] == __version__
    assert built.sdist.name == f"pytest_mtp-{__version__}.tar.gz"


def test_licence_python_and_extras_are_told(built: Built) -> None:
    told = metadata(built.wheel)
    assert told["License-Expression"] == "MIT"
    assert told.get_all("License-File") == ["LICENSE"]
    assert told["Requires-Python"] == ">=3.11"
    assert sorted(told.get_all("Provides-Extra", [])) == EXTRAS


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_documentation_says_what_each_extra_is_for(extra: str) -> None:
    assert f"| `{extra}` |" in (ROOT / "docs/install.md").read_text()
