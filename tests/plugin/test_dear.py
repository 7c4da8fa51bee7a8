"""Dear suites are measured when they are named, however the name is written."""

from pathlib import Path

import pytest

_DEAR = "import pytest\n\n@pytest.mark.mtp_dear\ndef test_dear(mtp_case): pass\n"


@pytest.fixture
def suites(pytester: pytest.Pytester) -> Path:
    folder = pytester.mkdir("suites")
    (folder / "test_soak.py").write_text(_DEAR)
    return folder


@pytest.mark.parametrize(
    "named", ["suites/test_soak.py", "suites/../suites/test_soak.py", "./suites/test_soak.py::test_dear"]
)
def test_a_dear_suite_is_kept_where_its_file_is_named(pytester: pytest.Pytester, suites: Path, named: str) -> None:
    result = pytester.runpytest_inprocess("--mtp", "--collect-only", "-q", named)
    result.stdout.fnmatch_lines(["*test_soak.py::test_dear*"])


def test_a_dear_suite_is_kept_where_it_is_named_by_a_link(pytester: pytest.Pytester, suites: Path) -> None:
    (pytester.path / "linked").symlink_to(suites)
    result = pytester.runpytest_inprocess("--mtp", "--collect-only", "-q", "linked/test_soak.py")
    result.stdout.fnmatch_lines(["*test_soak.py::test_dear*"])


def test_a_dear_suite_is_left_out_where_only_its_folder_is_named(pytester: pytest.Pytester, suites: Path) -> None:
    result = pytester.runpytest_inprocess("--mtp", "--collect-only", "-q", "suites")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.no_fnmatch_line("*test_soak.py::test_dear*")
