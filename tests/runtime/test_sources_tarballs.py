"""Archives stay inside their folder also where Python is older than the filters of PEP 706."""

import importlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pytest_mtp.runtime.sources import tarballs


@pytest.fixture
def of_old_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """What is used for ``tarfile`` on a Python whose own takes any name."""
    with monkeypatch.context() as patch:
        patch.delattr(tarfile, "data_filter")
        yield importlib.reload(tarballs).tarfile
    importlib.reload(tarballs)


def packed(name: str) -> io.BytesIO:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name))
    archive.seek(0)
    return archive


def test_an_old_python_unpacks(of_old_python: ModuleType, tmp_path: Path) -> None:
    assert of_old_python is not tarfile
    with of_old_python.open(fileobj=packed("a/b")) as tar:
        tar.extractall(tmp_path, filter="data")
    assert (tmp_path / "a" / "b").is_file()


def test_an_old_python_refuses_what_leads_outside(of_old_python: ModuleType, tmp_path: Path) -> None:
    with of_old_python.open(fileobj=packed("../b")) as tar, pytest.raises(of_old_python.TarError, match="outside"):
        tar.extractall(tmp_path / "in", filter="data")
    assert not (tmp_path / "b").exists()


def test_a_python_that_has_them_uses_its_own() -> None:
    assert (tarballs.tarfile is tarfile) == hasattr(tarfile, "data_filter")
