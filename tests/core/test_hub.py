"""What names a file of the hub, and whether it fits and is whole."""

import pytest

from pytest_mtp.core.hub import HubFile, cache_folder, is_commit, is_sha256, mismatch_sentence, room_sentence

FILE = HubFile(repo="o/r", name="f.gguf", revision="main")


def test_a_file_is_written_as_it_is_asked_for() -> None:
    assert str(FILE) == "o/r/f.gguf@main"


@pytest.mark.parametrize(("text", "commit"), [("a" * 40, True), ("a" * 7, False), ("g" * 40, False), ("A" * 40, False)])
def test_only_a_whole_hash_is_a_commit(text: str, commit: bool) -> None:  # noqa: FBT001
    assert is_commit(text) is commit


def test_gits_own_hash_is_not_a_sha256() -> None:
    assert is_sha256("0" * 64)
    assert not is_sha256("0" * 40)


def test_the_cache_keeps_a_repository_in_one_folder() -> None:
    assert cache_folder("o/r.2") == "models--o--r.2"


def test_damage_is_said_with_both_hashes_and_the_blob_to_delete() -> None:
    sentence = mismatch_sentence(FILE, actual="aa", expected="bb", blob="/c/blobs/bb")
    assert "o/r/f.gguf is damaged" in sentence
    assert "its sha256 is aa, the hub's is bb" in sentence
    assert "Delete /c/blobs/bb and run again" in sentence


def test_what_fits_exactly_is_no_complaint() -> None:
    assert room_sentence(need=10, have=10, cache="/c", unfinished=0) is None


def test_what_does_not_fit_is_said_with_need_have_and_leftovers() -> None:
    sentence = room_sentence(need=17 * 10**9, have=2 * 10**9, cache="/c", unfinished=44 * 10**6)
    assert sentence is not None
    assert "needs 17.00 GB, and the disk of the hub's cache /c has 2.00 GB free" in sentence
    assert "44.00 MB there are unfinished downloads" in sentence
    assert "HF_HUB_CACHE" in sentence
