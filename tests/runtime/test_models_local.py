"""Models that lie on the disk, and the phantom."""

import hashlib
from pathlib import Path

import pytest

from pytest_mtp.core.model import Model, content_identity, parse_model
from pytest_mtp.core.served_tables import PhantomTable
from pytest_mtp.errors import ModelError, SettingsError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.header import model_header
from pytest_mtp.runtime.models import fetch_model, glance_at, phantom_spec
from pytest_mtp.runtime.progress import silent
from tests.fakes.gguf_file import fields, gguf, small_model, split_model, tensors

TABLE = PhantomTable(seed=7, layers=4, n_embd=64, n_ff=64, chain_length=20, weights="q8_0", wrong={"code": 0.0})


def fetched(text: str, folder: Path) -> Model:
    return fetch_model(parse_model(text), TABLE, Cache(folder / "cache"), silent)


def split(folder: Path, parts: int) -> list[bytes]:
    written = split_model(parts)
    for part, data in enumerate(written, 1):
        (folder / f"m-{part:05}-of-{parts:05}.gguf").write_bytes(data)
    return written


def test_a_file_is_known_by_its_hash(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(data := small_model())
    sha256 = hashlib.sha256(data).hexdigest()
    assert fetched(str(tmp_path / "m.gguf"), tmp_path) == Model(
        path=tmp_path / "m.gguf", identity=f"sha256-{sha256}", label="m.gguf", size=len(data)
    )


def test_any_part_stands_for_the_split_model(tmp_path: Path) -> None:
    written = split(tmp_path, 2)
    model = fetched(str(tmp_path / "m-00002-of-00002.gguf"), tmp_path)
    assert (model.path.name, model.label) == ("m-00001-of-00002.gguf", "m-00001-of-00002.gguf")
    assert model.size == sum(len(data) for data in written)
    assert model.identity == content_identity([hashlib.sha256(data).hexdigest() for data in written])


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    split(tmp_path, 3)
    (tmp_path / "m-00002-of-00003.gguf").unlink()
    with pytest.raises(ModelError, match=r"A model of 3 parts lacks .*m-00002-of-00003\.gguf; put it beside"):
        fetched(str(tmp_path / "m-00001-of-00003.gguf"), tmp_path)


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("/nowhere/m.gguf", r"There is no model file /nowhere/m\.gguf"),
        ("~nobody-of-that-name/m.gguf", "names a home folder that is not there"),
        ("file:", r"\. is a folder; name the \.gguf file in it"),
        ("/", "/ is a folder; name the"),
        ("/" + "x" * 300, "cannot be read: File name too long"),
    ],
)
def test_a_path_without_a_file_is_refused(tmp_path: Path, location: str, why: str) -> None:
    with pytest.raises(ModelError, match=why):
        fetched(location, tmp_path)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"PK..", r"m\.gguf is not a GGUF file: it begins with b'PK\.\.'"),
        (small_model()[:-1], r"m\.gguf is truncated: .* Download it again\."),
        (
            gguf(fields(nextn_predict_layers=0), tensors(head=False)),
            r"m\.gguf: This file has no MTP layer: its header has no qwen35\.nextn_predict_layers above 0",
        ),
        (
            gguf(fields(), tensors(head=False)),
            r"m\.gguf: This file has no MTP layer: .* its tensors lack blk\.1\.nextn",
        ),
        (split_model(2)[0], r"m\.gguf is a part of a model that is split into 2 files, and its name does not say so"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_it_is_hashed(data: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(ModelError, match=why):
        fetched(str(tmp_path / "m.gguf"), tmp_path)
    assert not (tmp_path / "cache").exists()


def test_a_glance_shows_the_header_of_what_cannot_be_measured_too(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(data := gguf(fields(), tensors(head=False)))
    seen = glance_at(parse_model(str(tmp_path / "m.gguf")), TABLE, Cache(tmp_path / "cache"), silent)
    assert (seen.here, seen.size) == (True, len(data))
    assert seen.header == model_header(tmp_path / "m.gguf")


def test_a_glance_at_what_is_no_model_says_why(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"PK..")
    with pytest.raises(ModelError, match="is not a GGUF file"):
        glance_at(parse_model(str(tmp_path / "m.gguf")), TABLE, Cache(tmp_path / "cache"), silent)


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
