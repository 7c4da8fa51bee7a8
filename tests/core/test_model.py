"""What --mtp-model takes, the parts of split models, and what a model is known by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.model import ModelKind, ModelSpec, content_identity, parse_model, part_names
from pytest_mtp.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "file", "revision"),
    [
        ("hf:o/r/f.gguf", "f.gguf", None),
        ("hf:o/r/f.gguf@main", "f.gguf", "main"),
        ("hf:o-1/r.2/sub/f-00001-of-00003.gguf@refs/pr/7", "sub/f-00001-of-00003.gguf", "refs/pr/7"),
    ],
)
def test_a_file_of_the_hub_is_read_with_its_revision(text: str, file: str, revision: str | None) -> None:
    spec = parse_model(text)
    assert (spec.kind, spec.file, spec.revision) == (ModelKind.HUB, file, revision)
    assert spec.location == "/".join(text.removeprefix("hf:").split("/")[:2])


@pytest.mark.parametrize("text", ["hf:o/r", "hf:o/r/f.bin", "hf:o/r/f.gguf@", "hf:o/r/f.gguf@a b", "hf:/r/f.gguf"])
def test_what_is_no_file_of_the_hub_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(SettingsError, match=r"is no file on the hub; write hf:OWNER/REPO/FILE\.gguf\[@REVISION\]"):
        parse_model(text)


@pytest.mark.parametrize("file", ["../f.gguf", "sub/../../f.gguf", "/f.gguf", "sub//f.gguf", "./f.gguf"])
def test_a_file_that_would_leave_its_folder_is_refused(file: str) -> None:
    with pytest.raises(SettingsError, match="has an empty step or a dot for a folder"):
        parse_model(f"hf:o/r/{file}")


def test_anything_else_is_a_path() -> None:
    assert parse_model("~/m.gguf") == ModelSpec(kind=ModelKind.FILE, location="~/m.gguf")
    assert parse_model("file:m.gguf") == ModelSpec(kind=ModelKind.FILE, location="m.gguf")


def test_a_phantom_is_read_with_its_fault() -> None:
    assert parse_model("phantom").location == "sound"
    assert parse_model("phantom:head=degraded:0.2@miss00").location == "degraded:0.2@miss00"


@pytest.mark.parametrize(("text", "why"), [("", "An empty model"), ("phantom:broken", "is no phantom")])
def test_a_text_that_is_no_model_is_refused_with_all_forms(text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=rf"{why}.*hf:OWNER/REPO/FILE.* or a path"):
        parse_model(text)


@given(part=st.integers(1, 4))
def test_any_part_of_a_split_model_stands_for_all(part: int) -> None:
    names = tuple(f"sub/m-0000{number}-of-00004.gguf" for number in (1, 2, 3, 4))
    assert part_names(names[part - 1]) == names


@pytest.mark.parametrize("file", ["m.gguf", "m-1-of-2.gguf", "m-00001-of-00002.bin"])
def test_other_names_are_whole_files(file: str) -> None:
    assert part_names(file) == (file,)


@pytest.mark.parametrize("part", ["00000", "00003"])
def test_a_part_that_there_cannot_be_is_refused(part: str) -> None:
    with pytest.raises(SettingsError, match=rf"says that it is part {int(part)} of 2"):
        part_names(f"m-{part}-of-00002.gguf")


def test_the_identity_of_a_file_is_its_hash() -> None:
    assert content_identity(["ab"]) == "sha256-ab"


def test_the_identity_of_parts_is_of_all_in_their_order() -> None:
    identities = {content_identity(hashes) for hashes in (["a", "b"], ["b", "a"], ["a"], ["a", "c"])}
    assert len(identities) == 4
    assert all(identity.startswith("sha256-") for identity in identities)
