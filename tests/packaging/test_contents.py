"""The published files hold what is read at run time, and nothing else."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest

from tests.packaging.built import ROOT, Built, export, in_sdist, in_wheel

PACKAGE = (
    "pytest_mtp/py.typed",
    "pytest_mtp/schemas/report.json",
    "pytest_mtp/profiles/phantom.toml",
    "pytest_mtp/prompts/tutorial.toml",
    "pytest_mtp/suites/test_speedup.py",
    "pytest_mtp/templates/gpu.yml",
    "pytest_mtp/commands/gate.ini",
    "pytest_mtp/reports/html/templates/page.html.j2",
    "pytest_mtp/plugin.py",
)


@pytest.fixture(scope="module")
def wheel(built: Built) -> Mapping[str, bytes]:
    return in_wheel(built.wheel)


@pytest.fixture(scope="module")
def sdist(built: Built) -> Mapping[str, bytes]:
    return in_sdist(built.sdist)


def package_of(wheel: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: held for name, held in wheel.items() if ".dist-info/" not in name}


@pytest.mark.parametrize("name", PACKAGE)
def test_each_kind_of_file_that_is_read_at_run_time_is_inside(wheel: Mapping[str, bytes], name: str) -> None:
    assert name in wheel


def test_the_wheel_is_the_package_and_the_suites_and_no_leavings(wheel: Mapping[str, bytes], tmp_path: Path) -> None:
    export(tmp_path)
    ours = {
        f"{inside}{file.relative_to(tmp_path / folder)}": file.read_bytes()
        for folder, inside in (("pytest_mtp", "pytest_mtp/"), ("suites", "pytest_mtp/suites/"))
        for file in (tmp_path / folder).rglob("*")
        if file.is_file()
    }
    assert package_of(wheel) == ours


def test_the_licence_is_the_repositorys(wheel: Mapping[str, bytes], sdist: Mapping[str, bytes]) -> None:
    told = [held for name, held in wheel.items() if name.endswith(".dist-info/licenses/LICENSE")]
    assert told == [sdist["LICENSE"]] == [(ROOT / "LICENSE").read_bytes()]


def test_the_sdist_makes_the_same_wheel(built: Built, wheel: Mapping[str, bytes]) -> None:
    assert in_wheel(built.wheel_of_sdist) == wheel


def test_the_sdist_holds_what_the_wheel_is_made_of_and_no_more(sdist: Mapping[str, bytes]) -> None:
    assert {PurePosixPath(name).parts[0] for name in sdist} == {
        *("pytest_mtp", "suites", "pyproject.toml", "PKG-INFO", "README.md", "CHANGELOG.md", "LICENSE", ".gitignore"),
    }
    assert not [name for name in sdist if "left" in PurePosixPath(name).name]


def test_no_path_of_a_machine_is_inside(wheel: Mapping[str, bytes], sdist: Mapping[str, bytes], tree: Path) -> None:
    somebodys = re.compile(rb"/(?:home|Users)/[a-z][\w.-]*/")
    here = tuple(str(one).encode() for one in (ROOT, tree, Path(sys.prefix)))
    held = {**wheel, **sdist}
    assert {name for name, text in held.items() if somebodys.search(text) or any(one in text for one in here)} == set()
