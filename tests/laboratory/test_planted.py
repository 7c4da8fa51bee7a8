"""The planted repository is what it says, as far as git can tell without a compiler."""

from pathlib import Path

import pytest

from pytest_mtp.core.source import parse_source
from pytest_mtp.runtime.cache import Cache, default_root
from pytest_mtp.runtime.sources import fetch_source
from tests.fakes.git_server import git
from tests.laboratory.edits import SPECULATION, Change, Edit, changed
from tests.laboratory.losses import Losses, branches, history, slow_step
from tests.laboratory.planted import SDIST, Planted, plant

pytestmark = pytest.mark.real

BRANCHES, HISTORY = branches(Losses()), history(Losses())


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return plant(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def tree() -> Path:
    return fetch_source(parse_source(SDIST), Cache(default_root())).path


def files_of(planted: Planted, commit: str) -> list[str]:
    """What a commit changes, modes included, against its only parent."""
    lines = git(planted.path, "diff-tree", "--no-commit-id", "-r", "--summary", "--name-only", commit).splitlines()
    assert git(planted.path, "rev-list", "--no-walk", "--parents", commit).count(" ") == 1
    return lines


def line(planted: Planted) -> list[str]:
    """The commits of the history, the oldest first."""
    return git(planted.path, "rev-list", "--reverse", "--ancestry-path", "good..bad").splitlines()


@pytest.mark.parametrize("name", BRANCHES)
def test_every_edit_finds_its_place_in_the_tree_once(name: str, tree: Path) -> None:
    for edit in BRANCHES[name].edits:
        assert (tree / edit.path).read_text().count(edit.old) == 1


@pytest.mark.parametrize(("text", "found"), [("another tree", 0), ("old old", 2)])
def test_an_edit_without_one_place_of_its_own_is_refused(text: str, found: int) -> None:
    with pytest.raises(ValueError, match=f"'old' {found} times, not once"):
        Edit("file.cpp", "old", "new").applied(text)


def test_edits_of_one_file_are_made_one_after_the_other() -> None:
    change = Change("three", (Edit("one", "a", "b"), Edit("two", "a", "c"), Edit("one", "b", "bb")))
    assert changed(change, {"one": "a!", "two": "a?"}.__getitem__) == {"one": "bb!", "two": "c?"}


def test_all_refs_are_there(planted: Planted) -> None:
    heads = {f"refs/heads/{name}" for name in ("base", "history", *BRANCHES)}
    tags = {f"refs/tags/{name}" for name in ("good", "bad", "planted", "uncompilable", "undecided")}
    assert set(planted.refs) == heads | tags
    assert git(planted.path, "rev-parse", "HEAD") == planted.refs["refs/heads/base"] == planted.refs["refs/tags/good"]


def test_a_ref_is_a_source_of_the_gate(planted: Planted) -> None:
    spec = parse_source(planted.source("slow-step"))
    assert (spec.location, spec.ref) == (str(planted.path), "slow-step")


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_changes_its_own_files_of_the_base(name: str, planted: Planted) -> None:
    assert files_of(planted, name) == sorted(BRANCHES[name].paths)
    assert git(planted.path, "rev-parse", f"{name}^") == planted.refs["refs/heads/base"]


def test_the_unchanged_branch_adds_a_comment_and_no_line(planted: Planted) -> None:
    changed = git(planted.path, "diff", "-U0", "base", "unchanged").splitlines()[-2:]
    assert changed == ['-#include "llama-batch.h"', '+#include "llama-batch.h" // nothing changes']


def test_the_history_is_one_line_of_sixteen_commits_with_a_file_each(planted: Planted) -> None:
    assert [files_of(planted, commit) for commit in line(planted)] == [list(change.paths) for change in HISTORY]
    assert sum(change.paths[0].endswith(".md") for change in HISTORY) == 2
    assert len(HISTORY) == 16


def test_only_the_ninth_commit_touches_the_speculation(planted: Planted) -> None:
    guilty = git(planted.path, "rev-list", "good..bad", "--", SPECULATION)
    assert guilty == planted.refs["refs/tags/planted"] == line(planted)[8]
    spin = slow_step(Losses().step_us).new.splitlines()[0]
    assert f"+{spin}" in git(planted.path, "show", guilty).splitlines()


def test_the_commit_after_the_uncompilable_one_mends_it(planted: Planted) -> None:
    at = line(planted).index(planted.refs["refs/tags/uncompilable"])
    before, mended = line(planted)[at - 1], line(planted)[at + 1]
    assert git(planted.path, "diff", before, "uncompilable", "--", "src/llama-cparams.cpp").count(";\n") == 1
    assert git(planted.path, "diff", before, mended) == ""


def test_the_neighbours_of_the_guilty_commit_leave_the_answer_unique(planted: Planted) -> None:
    untestable = {planted.refs[f"refs/tags/{name}"] for name in ("uncompilable", "undecided")}
    assert git(planted.path, "rev-parse", "planted^") not in untestable | {planted.refs["refs/heads/base"]}
    assert "undecided" in git(planted.path, "log", "-1", "--format=%s", "undecided")


def test_the_shas_depend_on_no_user_and_no_day(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ignored").write_text("*.cpp\n")
    (tmp_path / "config").write_text(f"[core]\nexcludesFile = {tmp_path}/ignored\nautocrlf = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-02-03T04:05:06+0700")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert plant(tmp_path).refs == planted.refs


def test_another_loss_changes_its_own_commits_alone(planted: Planted, tmp_path: Path) -> None:
    other = plant(tmp_path, Losses(every=9)).refs
    assert {name for name, commit in other.items() if planted.refs[name] != commit} == {"refs/heads/bad-drafts"}
