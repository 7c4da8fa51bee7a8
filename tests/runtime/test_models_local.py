"""Models that lie on the disk, and the phantom."""

import hashlib
from pathlib import Path

import pytest

from pytest_mtp.core.model import Model, content_identity, parse_model
from pytest_mtp.core.profile import PhantomTable
from pytest_mtp.errors import ModelError, SettingsError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.models import fetch_model, phantom_spec
from pytest_mtp.runtime.progress import silent

TABLE = PhantomTable(seed=7, layers=4, n_embd=64, n_ff=64, chain_length=20, weights="q8_0", wrong={"code": 0.0})


def fetched(text: str, folder: Path) -> Model:
    return fetch_model(parse_model(text), TABLE, Cache(folder / "cache"), silent)


def gguf(path: Path, body: bytes = b"") -> str:
    path.write_bytes(b"GGUF" + body)
    return hashlib.sha256(b"GGUF" + body).hexdigest()


def test_a_file_is_known_by_its_hash(tmp_path: Path) -> None:
    sha256 = gguf(tmp_path / "m.gguf", b"12")
    assert fetched(str(tmp_path / "m.gguf"), tmp_path) == Model(
        path=tmp_path / "m.gguf", identity=f"sha256-{sha256}", label="m.gguf", size=6
    )


def test_any_part_stands_for_the_split_model(tmp_path: Path) -> None:
    hashes = [gguf(tmp_path / f"m-0000{part}-of-00002.gguf", bytes(part)) for part in (1, 2)]
    model = fetched(str(tmp_path / "m-00002-of-00002.gguf"), tmp_path)
    assert (model.path.name, model.label, model.size) == ("m-00001-of-00002.gguf", "m-00001-of-00002.gguf", 11)
    assert model.identity == content_identity(hashes)


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    gguf(tmp_path / "m-00001-of-00003.gguf")
    gguf(tmp_path / "m-00003-of-00003.gguf")
    with pytest.raises(ModelError, match=r"A model of 3 parts lacks .*m-00002-of-00003\.gguf; put it beside"):
        fetched(str(tmp_path / "m-00001-of-00003.gguf"), tmp_path)


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("/nowhere/m.gguf", r"There is no model file /nowhere/m\.gguf"),
        ("~nobody-of-that-name/m.gguf", "names a home folder that is not there"),
    ],
)
def test_a_path_without_a_file_is_refused(tmp_path: Path, location: str, why: str) -> None:
    with pytest.raises(ModelError, match=why):
        fetched(location, tmp_path)


def test_what_is_not_gguf_is_refused_before_it_is_hashed(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"PK..")
    with pytest.raises(ModelError, match="is not a GGUF file; convert it"):
        fetched(str(tmp_path / "m.gguf"), tmp_path)
    assert not (tmp_path / "cache").exists()


def test_a_phantom_is_written_once_and_known_by_its_parameters(tmp_path: Path) -> None:
    model, broken = (fetched(text, tmp_path) for text in ("phantom", "phantom:head=broken"))
    assert fetched("phantom", tmp_path) == model
    assert model.path.read_bytes()[:4] == b"GGUF"
    assert model.identity == broken.identity
    assert (model.label, broken.label) == ("phantom", "phantom:head=broken")
    assert model.path != broken.path


def test_a_profile_without_a_table_makes_no_phantom() -> None:
    with pytest.raises(SettingsError, match=r"has no \[model\.phantom\] table"):
        phantom_spec(parse_model("phantom"), None)
