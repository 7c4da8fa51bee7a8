from pathlib import Path

import pytest

from pytest_mtp.core.history_verdict import Acknowledgement
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.acknowledged import load_acknowledged

WHOLE = """
[[change]]
series = "phantom/n3/*/speedup"
run = "night-80"
reason = "the sampler moved to the GPU"
who = "Ada"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "acknowledged.toml"


def test_a_missing_file_acknowledges_nothing(file: Path) -> None:
    assert load_acknowledged(file) == ()


def test_an_empty_file_acknowledges_nothing(file: Path) -> None:
    file.write_text("# nothing yet\n")

    assert load_acknowledged(file) == ()


def test_every_table_is_an_acknowledgement_in_the_order_of_the_file(file: Path) -> None:
    file.write_text(WHOLE + WHOLE.replace("night-80", "night-90"))

    first, second = load_acknowledged(file)

    assert first == Acknowledgement(
        series="phantom/n3/*/speedup", run="night-80", reason="the sampler moved to the GPU", who="Ada"
    )
    assert second.run == "night-90"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (WHOLE + 'when = "today"', r"number 1 has an unknown key 'when'. Its keys are series, run, reason and who\."),
        (WHOLE + WHOLE.replace('"Ada"', "7"), r"number 2: Expected `str`, got `int` - at `\$\.who`\. Give series"),
        (WHOLE.replace('who = "Ada"', ""), r"number 1: .*missing required field `who`\. Give series"),
        (WHOLE.replace("Ada", "  "), r"number 1: who is empty\. Say who"),
        ("change = 1", r"change is not an array of tables\. Write \[\[change\]\]"),
        ("change = [1]", r"number 1: Expected `object`, got `int`\. Give series"),
        ('[change]\nrun = "1"', r"change is not an array of tables"),
        ('[[changes]]\nrun = "1"', r"unknown key 'changes'\. It holds \[\[change\]\] tables and nothing else"),
        ("[[change", r"cannot be read: .*\. Mend it; it holds \[\[change\]\] tables"),
    ],
)
def test_an_unsound_file_is_refused_with_the_place_and_the_mend(file: Path, text: str, says: str) -> None:
    file.write_text(text)

    with pytest.raises(InputError, match=says) as error:
        load_acknowledged(file)

    assert str(file) in str(error.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"change = " + b"[" * 10_000])
def test_what_is_no_toml_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    with pytest.raises(InputError, match=r"cannot be read"):
        load_acknowledged(file)


def test_a_folder_in_its_place_is_refused(file: Path) -> None:
    file.mkdir()

    with pytest.raises(InputError, match=r"cannot be read"):
        load_acknowledged(file)


def test_escape_codes_in_keys_are_spelled_out(file: Path) -> None:
    file.write_text('"\\u001b[31m::error::" = 1')

    with pytest.raises(InputError) as error:
        load_acknowledged(file)

    assert "\x1b" not in str(error.value)
