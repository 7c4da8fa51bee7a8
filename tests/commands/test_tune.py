"""``pytest-mtp tune``: what it would sweep, what it refuses before it builds anything, and what it ends with."""

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.commands import tune
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.core.study import Study
from pytest_mtp.core.suites.draft_depth import design
from pytest_mtp.errors import InputError, MtpError, SettingsError
from pytest_mtp.runtime.store import write_json
from tests.campaigns import around
from tests.real.conftest import SMALL
from tests.studies import draft_depth, latency, report_of

GAINS = draft_depth({(3, 0.0): around(1.2, 0.01), (8, 0.0): around(1.8, 0.01)})


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    tune.add_arguments(parser)
    return parser.parse_args(["--profile", str(SMALL), *words])


def test_the_suites_sweep_is_asked_of_the_wanted_classes_and_blocks() -> None:
    _, profile, flag_set = tune.wanted(parsed("--blocks", "5", "--class", "mixed"))
    planned = design(profile, flag_set)
    assert profile.suites.looks == (5,)
    assert {one.name for each in planned.arrangements for one in each.profile.classes} == {"mixed"}
    assert (planned.flag_set, len(planned.arrangements)) == ("n3", 8)


def test_without_a_class_the_further_suites_are_asked() -> None:
    assert tune.wanted(parsed())[1].suites.classes == ()
    assert tune.wanted(parsed("--set", 'suites.classes=["mixed"]'))[1].suites.classes == ("mixed",)


def test_of_ones_own_prompts_all_are_asked(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.json"
    prompts.write_text('[{"class": "mail", "prompt": "Dear"}, {"class": "code", "prompt": "def"}]')
    words = ("--prompts", str(prompts), "--model", "/models/some.gguf")
    assert tune.wanted(parsed(*words))[1].suites.classes == ("mail", "code")
    assert tune.wanted(parsed(*words, "--class", "code"))[1].suites.classes == ("code",)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("--class", "code"), r"has right, mixed"),
        (("--blocks", "1"), r"--blocks is 1; it must be at least 2"),
        (("--flag-set", "n9"), r"has n3"),
        (("--set", "flag_sets.n2.n_max=2", "--set", "flag_sets.n2.p_min=0.0", "--flag-set", "n2", "--flag-set", "n3"),
         r"One flag set is swept, not n2, n3"),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_said_at_once(words: tuple[str, ...], cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        tune.run(parsed(*words))


def test_a_source_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(MtpError, match="llama-server-of-nobody"):
        tune.run(parsed("--source", "bin:/llama-server-of-nobody"))


@pytest.mark.parametrize(
    ("study", "status"),
    [
        (GAINS, 0),
        (draft_depth({(1, 0.0): around(0.9, 0.01), (3, 0.0): around(0.7, 0.01)}), 0),
        (draft_depth({(1, 0.0): around(1.5, 0.01), (3, 0.0): around(0.7, 0.01)}), 1),
        (draft_depth({(3, 0.0): around(1.05, 0.1)}), UNDECIDED),
        (draft_depth({(3, 0.0): (1.5,)}), UNDECIDED),
    ],
    ids=["a gain", "no gain at any depth", "a cliff", "noise", "too few blocks"],
)
def test_the_exit_status_says_whether_it_is_proven(study: Study, status: int) -> None:
    assert tune.status(study) == status


def test_a_stored_sweep_is_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = tmp_path / "sweep.json"
    write_json(stored, report_of(latency(), GAINS))
    assert tune.run(parsed("--read", str(stored))) == 0
    shown = capsys.readouterr().out
    assert "  --spec-type draft-mtp --spec-draft-n-max 8 --spec-draft-p-min 0\n" in shown


def test_a_report_without_a_sweep_is_one_sentence(tmp_path: Path) -> None:
    stored = tmp_path / "other.json"
    write_json(stored, report_of(latency()))
    with pytest.raises(InputError, match=r"other\.json holds no sweep over draft depths"):
        tune.run(parsed("--read", str(stored)))


OTHER = replace(draft_depth({(3, 0.0): around(1.5, 0.01), (5, 0.0): around(1.9, 0.01)}), flag_set="n5")


def test_of_several_stored_sweeps_that_of_the_flag_set_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = tmp_path / "sweeps.json"
    write_json(stored, report_of(GAINS, OTHER))
    for flag_set, n_max in (("n3", 8), ("n5", 5)):
        assert tune.run(parsed("--read", str(stored), "--flag-set", flag_set)) == 0
        assert f"--spec-draft-n-max {n_max} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ((), r"One sweep is shown, not those of n3, n5: choose one by --flag-set\."),
        (("--flag-set", "n9"), r"--flag-set n9: .*sweeps\.json holds sweeps of n3, n5\."),
        (("--flag-set", "n3", "--flag-set", "n5"), r"One sweep is shown, not those of n3, n5"),
    ],
    ids=["none", "another", "two"],
)
def test_which_of_several_stored_sweeps_is_meant_must_be_said(
    tmp_path: Path, words: tuple[str, ...], cause: str
) -> None:
    stored = tmp_path / "sweeps.json"
    write_json(stored, report_of(GAINS, OTHER))
    with pytest.raises(InputError, match=cause):
        tune.run(parsed("--read", str(stored), *words))


def test_nothing_new_is_written_of_what_is_only_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"drop --json"):
        tune.run(parsed("--read", str(tmp_path / "sweep.json"), "--json", str(tmp_path / "new.json")))
