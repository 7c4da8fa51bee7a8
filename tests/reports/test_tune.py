"""The page of a sweep: flags to copy first, how sure they are, and whose prompts they fit."""

import pytest

from pytest_mtp.core.study import Study
from pytest_mtp.reports.line import Line, Tone
from pytest_mtp.reports.tune import page
from tests.campaigns import around
from tests.hostile import WORDS
from tests.studies import draft_depth, report_of

SWEPT = {(1, 0.0): around(0.8, 0.01), (3, 0.0): around(1.2, 0.01), (8, 0.0): around(1.8, 0.01)}


def lines(study: Study, width: int = 80) -> list[Line]:
    return list(page(report_of(study), study, width))


def text(study: Study) -> str:
    """The page without the breaks of its lines."""
    return " ".join(" ".join(line.text for line in lines(study)).split())


def test_the_flags_to_copy_come_first_and_on_one_line() -> None:
    written = [line.text for line in lines(draft_depth(SWEPT), 40)]
    assert written[0].startswith("Best here, to paste after")
    assert (
        next(line for line in written if "--" in line)
        == "  --spec-type draft-mtp --spec-draft-n-max 8 --spec-draft-p-min 0"
    )


def test_the_gain_has_its_interval_and_blocks_and_stands_beside_the_flag_sets_own() -> None:
    shown = text(draft_depth(SWEPT))
    assert "1.80x [1.76, 1.84] the speed without MTP, over 4 blocks: 180.0 tok/s instead of 100.0." in shown
    assert "1.50x [1.50, 1.50] the speed of what the flag set says, n-max 3, p-min 0." in shown
    assert "warning" not in shown
    assert "No cliff: every n-max has at least 0.60x (profile) of its better neighbour's speed." in shown


def test_what_the_flag_set_says_already_is_said() -> None:
    assert "It is what the flag set says already." in text(draft_depth(SWEPT, own=8))


def test_every_setting_is_a_row_of_eighty_columns_with_the_best_and_the_own_marked() -> None:
    written = lines(draft_depth(SWEPT))
    assert max(len(line.text) for line in written) <= 80
    rows = [line.text.split() for line in written if line.text.startswith(("    1 ", "    3 ", "    8 "))]
    assert [(row[:5], row[-1]) for row in rows] == [
        (["1", "0", "100.0", "80.0", "0.80x"], "3.00"),
        (["3", "0", "100.0", "120.0", "1.20x"], "own"),
        (["8", "0", "100.0", "180.0", "1.80x"], "best"),
    ]


def test_a_gain_that_is_not_proven_is_a_warning_that_says_what_to_do() -> None:
    written = lines(draft_depth({(1, 0.0): around(0.9, 0.01), (3, 0.0): around(1.05, 0.1)}))
    (warning,) = [line for line in written if line.text.startswith("warning: that is not proven faster")]
    assert warning.tone is Tone.OPEN
    assert "--blocks 8" in " ".join(line.text for line in written)


def test_a_gain_over_the_flag_sets_own_that_is_not_proven_is_a_warning() -> None:
    noisy = draft_depth({(3, 0.0): around(1.5, 0.1), (2, 0.0): around(1.45, 0.1), (8, 0.0): around(1.7, 0.01)})
    assert "warning: it is not proven faster than what the flag set says" in text(noisy)


def test_where_nothing_gains_there_is_nothing_to_copy() -> None:
    shown = text(draft_depth({(1, 0.0): around(0.9, 0.01), (3, 0.0): around(0.7, 0.01)}))
    assert shown.startswith("Best here: no MTP. No setting gains; start `llama-server -m MODEL` as it is.")
    assert "Of all settings n-max 1, p-min 0 comes closest: 0.90x [" in shown
    assert "--spec-type" not in shown


def test_a_smaller_setting_that_is_as_good_says_which_was_the_fastest() -> None:
    shown = text(draft_depth({(3, 0.0): around(1.75, 0.05), (8, 0.0): around(1.8, 0.01)}))
    assert "The fastest was n-max 8, p-min 0; this one is as good, and drafts less." in shown


def test_a_cliff_is_told_in_its_tone() -> None:
    written = lines(draft_depth({(1, 0.0): around(1.5, 0.01), (2, 0.0): around(0.5, 0.01)}))
    (cliff,) = [line for line in written if line.text.startswith("cliff: tok/s at n-max 2 is 0.33x [")]
    assert cliff.tone is Tone.BAD


def test_it_says_whose_prompts_it_fits_and_how_to_ask_ones_own() -> None:
    shown = text(draft_depth(SWEPT))
    assert "It fits what was asked: a, answers of 97 tokens." in shown
    assert "--prompts FILE" in shown


def test_of_several_classes_each_has_its_own_best() -> None:
    shallow = {"code": around(1.1, 0.01), "prose": around(1.3, 0.01)}
    deep = {"code": around(1.5, 0.01), "prose": around(0.7, 0.01)}
    study = draft_depth({(1, 0.0): shallow, (8, 0.0): deep})
    rows = [line.text.split() for line in lines(study) if line.text.startswith(("code ", "prose "))]
    assert [(row[0], row[2], row[5], row[-1]) for row in rows] == [
        ("code", "8,", "1.50x", "1.10x"),
        ("prose", "1,", "1.30x", "1.30x"),
    ]


@pytest.mark.parametrize("blocks", [0, 1])
def test_a_sweep_that_was_not_measured_recommends_nothing(blocks: int) -> None:
    shown = text(draft_depth({(1, 0.0): (1.5,) * blocks, (3, 0.0): (1.5,) * blocks}))
    assert shown.startswith("No recommendation. INVALID:")
    assert "--max-time" in shown


def test_a_hostile_sweep_moves_no_cursor() -> None:
    study = draft_depth(SWEPT, flag_set=WORDS, left_out=(WORDS,))
    assert all(letter.isprintable() for line in lines(study) for letter in line.text)
