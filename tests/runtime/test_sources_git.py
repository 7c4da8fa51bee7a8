"""Commits of real repositories, over smart HTTP on loopback unless the test is about a path."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_mtp.core.source import Source, parse_source
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.cache import Cache, default_root
from pytest_mtp.runtime.sources import fetch_source
from tests.fakes.git_server import GitServer, commit, git, new_repository, serve_git

Fetch = Callable[[str], Source]


@pytest.fixture
def said() -> list[str]:
    """What the fetches of the test have told their user."""
    return []


@pytest.fixture
def fetch(tmp_path: Path, said: list[str]) -> Fetch:
    return lambda text: fetch_source(parse_source(text), Cache(tmp_path / "cache"), said.append)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "served").mkdir()
    return new_repository(tmp_path / "served" / "llama.cpp")


@pytest.fixture
def server(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve_git(repository.parent) as server:
        yield server


@pytest.fixture
def url(server: GitServer) -> str:
    return f"git:{server.url}/llama.cpp"


def text(source: Source) -> str:
    return (source.path / "CMakeLists.txt").read_text()


def only_mirror(tmp_path: Path) -> Path:
    (folder,) = (path for path in (tmp_path / "cache" / "mirror").iterdir() if path.is_dir())
    return folder


@pytest.mark.parametrize("ref", ["topic/x", "v1", "signed", "pull/1/head", "refs/pull/1/head", "merge-requests/7/head"])
def test_git_finds_branches_tags_and_requests_of_both_kinds(ref: str, fetch: Fetch, repository: Path, url: str) -> None:
    for full in ("heads/topic/x", "tags/v1", "pull/1/head", "merge-requests/7/head"):
        git(repository, "update-ref", f"refs/{full}", "HEAD")
    git(repository, "tag", "-a", "-m", "a tag with an object of its own", "signed")
    wanted = git(repository, "rev-parse", "HEAD")
    commit(repository, "second")
    source = fetch(f"{url}@{ref}")
    assert (source.identity, source.label) == (f"git-{wanted}", f"{ref} @ {wanted[:7]}")
    assert text(source) == "first"


@pytest.mark.parametrize(
    ("name", "digits"), [("heads/old", 40), ("tags/v1", 7), ("pull/1/head", 12), ("merge-requests/7/head", 39)]
)
def test_git_finds_a_commit_behind_any_name_by_its_sha(
    name: str, digits: int, fetch: Fetch, repository: Path, url: str
) -> None:
    wanted = git(repository, "rev-parse", "HEAD")
    git(repository, "update-ref", f"refs/{name}", commit(repository, "second"))
    git(repository, "checkout", "-q", "--orphan", "fresh")
    commit(repository, "third")
    git(repository, "branch", "-q", "-M", "fresh", "master")
    source = fetch(f"{url}@{wanted[:digits]}")
    assert (source.identity, source.label, text(source)) == (f"git-{wanted}", wanted[:7], "first")


def test_git_leaves_files_of_other_commits_on_the_server(
    fetch: Fetch, repository: Path, server: GitServer, url: str, tmp_path: Path
) -> None:
    old_file = git(repository, "rev-parse", "HEAD:CMakeLists.txt")
    commit(repository, "second")
    fetch(f"{url}@master")
    listed = git(only_mirror(tmp_path), "rev-list", "--objects", "--all", "--missing=print")
    assert [line for line in listed.splitlines() if line.startswith("?")] == [f"?{old_file}"]
    assert all(request.endswith("version=2") for request in server.asked)


@pytest.mark.parametrize("ability", ["version=2", "allowFilter", "allowAnySHA1InWant", "none"])
def test_git_gets_along_with_servers_of_one_ability_or_none(
    ability: str, fetch: Fetch, repository: Path, server: GitServer, url: str
) -> None:
    server.speaks_v2 = ability == "version=2"
    for setting in ("allowFilter", "allowAnySHA1InWant"):
        git(repository, "config", f"uploadpack.{setting}", str(ability == setting).lower())
    behind = git(repository, "rev-parse", "HEAD")
    git(repository, "update-ref", "refs/pull/1/head", commit(repository, "second"))
    git(repository, "reset", "-q", "--hard", behind)
    commit(repository, "third")
    found = [text(fetch(f"{url}@{ref}")) for ref in ("master", behind, behind[:9], "pull/1/head")]
    assert found == ["third", "first", "first", "second"]


def test_a_sha_that_the_server_itself_has_looked_for_is_not_searched(fetch: Fetch, said: list[str], url: str) -> None:
    with pytest.raises(SourceError, match=r"gives no '0{40}'; check the URL, the ref and the network"):
        fetch(f"{url}@{'0' * 40}")
    assert len(said) == 1


def test_a_short_sha_that_nobody_knows_is_refused_after_a_search(fetch: Fetch, said: list[str], url: str) -> None:
    with pytest.raises(SourceError, match=r"gives no '0123456789'.*short sha must fit one commit only(?s:.*)git says"):
        fetch(f"{url}@0123456789")
    assert [line.partition(" of ")[0] for line in said] == [
        "fetching 0123456789",
        "looking for 0123456789 in all branches and tags",
        "looking for 0123456789 in all pull and merge requests",
    ]


def test_a_commit_is_fetched_once_and_then_needs_no_server(
    fetch: Fetch, said: list[str], repository: Path, tmp_path: Path
) -> None:
    sha = git(repository, "rev-parse", "HEAD")
    with serve_git(repository.parent) as server:
        url = f"git:{server.url}/llama.cpp"
        first = fetch(f"{url}@{sha}")
        asked = len(server.asked)
        assert fetch(f"{url}@{sha}") == first
        assert len(server.asked) == asked
    assert fetch(f"{url}@{sha}") == first
    assert len(said) == 1


def test_a_branch_is_refused_without_its_server_and_its_last_commit_is_named(fetch: Fetch, repository: Path) -> None:
    with serve_git(repository.parent) as server:
        url = f"git:{server.url}/llama.cpp"
        fetch(f"{url}@master")
    sha = git(repository, "rev-parse", "HEAD")
    with pytest.raises(SourceError, match=f"gives no 'master'.*network.*last fetched it was {sha}(?s:.*)git says"):
        fetch(f"{url}@master")
    assert text(fetch(f"{url}@{sha[:10]}")) == "first"


def test_files_that_were_left_on_a_server_that_is_gone_are_missed_in_plain_words(
    fetch: Fetch, repository: Path
) -> None:
    old = git(repository, "rev-parse", "HEAD")
    commit(repository, "second")
    with serve_git(repository.parent) as server:
        url = f"git:{server.url}/llama.cpp"
        fetch(f"{url}@master")
    with pytest.raises(SourceError, match=f"cannot check out {old}; its files may be missing from the mirror"):
        fetch(f"{url}@{old}")


def test_a_commit_that_the_mirror_lacks_is_fetched_openly(
    fetch: Fetch, said: list[str], repository: Path, url: str
) -> None:
    fetch(f"{url}@master")
    new = commit(repository, "second")
    assert text(fetch(f"{url}@{new}")) == "second"
    assert [line.split()[1] for line in said] == ["master", new]


def test_a_server_that_wants_a_login_is_not_waited_for(fetch: Fetch, server: GitServer, url: str) -> None:
    server.login_wanted = True
    with pytest.raises(SourceError, match=r"asks for a login: check the spelling of the URL.*credential helper"):
        fetch(f"{url}@master")


def test_a_branch_that_moved_is_another_source(fetch: Fetch, repository: Path, url: str) -> None:
    first = fetch(f"{url}@master")
    git(repository, "checkout", "-q", "--orphan", "other")
    commit(repository, "second")
    git(repository, "branch", "-q", "-M", "master")  # as a forced push does
    assert [text(one) for one in (first, fetch(f"{url}@master"))] == ["first", "second"]


def test_a_branch_that_became_a_folder_of_branches_is_in_nobodys_way(fetch: Fetch, repository: Path, url: str) -> None:
    for name in ("topic", "topic/x"):
        sha = commit(repository, name)
        git(repository, "update-ref", f"refs/heads/{name}", sha)
        assert text(fetch(f"{url}@{sha[:10]}")) == name
        git(repository, "update-ref", "-d", f"refs/heads/{name}")


def test_the_tree_knows_its_commit(fetch: Fetch, repository: Path, url: str) -> None:
    assert git(fetch(f"{url}@master").path, "rev-parse", "HEAD") == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize("form", ["git:{}", "git:file://{}"])
def test_a_repository_on_this_disk_is_served_by_git_alone(form: str, fetch: Fetch, repository: Path) -> None:
    assert text(fetch(f"{form.format(repository)}@master")) == "first"


def test_a_removed_entry_is_checked_out_again(fetch: Fetch, url: str) -> None:
    path = fetch(f"{url}@master").path
    (path.parent / ".mtp-entry.json").unlink()
    assert text(fetch(f"{url}@master")) == "first"


def test_a_ref_that_is_not_there_says_what_git_says(fetch: Fetch, url: str) -> None:
    with pytest.raises(SourceError, match=r"gives no 'nothing'(?s:.*)git says: fatal: couldn't find remote ref"):
        fetch(f"{url}@nothing")


def test_a_tag_of_a_file_is_no_commit(fetch: Fetch, repository: Path, url: str) -> None:
    git(repository, "tag", "file", "HEAD:CMakeLists.txt")
    with pytest.raises(SourceError, match=r"'file' of .* is no commit"):
        fetch(f"{url}@file")


def test_git_works_inside_a_hook(
    fetch: Fetch, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert text(fetch(f"git:{repository}@master")) == "first"
    assert not (tmp_path / "elsewhere").exists()


def test_no_hook_of_the_user_runs(fetch: Fetch, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = tmp_path / "hooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'mark'}\n")
    hook.chmod(0o755)
    (tmp_path / "gitconfig").write_text(f"[core]\nhooksPath = {hook.parent}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    fetch(f"{url}@master")
    assert not (tmp_path / "mark").exists()


@pytest.fixture
def versions(tmp_path: Path) -> dict[str, str]:
    """A bare repository of two real versions, most of their documents and models left out: branch -> commit."""
    (tmp_path / "served").mkdir()
    bare, commits = tmp_path / "served" / "real.git", dict[str, str]()
    git(tmp_path, "init", "-q", "--bare", str(bare))
    for name, value in {"uploadpack.allowFilter": "true", "core.compression": "0", "pack.window": "0"}.items():
        git(bare, "config", name, value)
    for number in ("9246", "11434"):
        tree = fetch_source(parse_source(f"sdist:{number}"), Cache(default_root())).path
        git(tree, f"--git-dir={bare}", f"--work-tree={tree}", "add", "-A", ".", ":!models", ":!docs", ":!media")
        parents = [part for sha in commits.values() for part in ("-p", sha)]
        commits[number] = git(bare, "commit-tree", "-m", f"b{number}", *parents, git(bare, "write-tree"))
    for name, number in {"heads/old": "9246", "heads/master": "11434", "tags/b11434": "11434"}.items():
        git(bare, "update-ref", f"refs/{name}", commits[number])
    git(bare, "update-ref", "refs/pull/1/head", commits["9246"])
    git(bare, "update-ref", "refs/merge-requests/7/head", commits["11434"])
    return commits


@pytest.mark.real
def test_two_real_versions_are_fetched_by_every_name_and_again_without_their_server(
    fetch: Fetch, versions: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    old, new = versions["9246"], versions["11434"]
    names = {"old": old, "pull/1/head": old, old[:9]: old, "b11434": new, "merge-requests/7/head": new, new: new}
    with serve_git(tmp_path / "served") as server:
        url = f"git:{server.url}/real.git"
        found = {name: fetch(f"{url}@{name}") for name in names}
        assert all(request.endswith("version=2") for request in server.asked)
    assert {name: one.identity for name, one in found.items()} == {name: f"git-{sha}" for name, sha in names.items()}
    for sha in (old, new):
        tree = fetch(f"{url}@{sha}").path
        assert (tree / "tools" / "server" / "server.cpp").is_file()
        assert git(tree, "status", "--porcelain") == ""
