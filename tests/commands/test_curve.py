"""``pytest-mtp curve``: what it would measure, and what it refuses before it builds anything."""

import argparse
from pathlib import Path

import pytest

from pytest_mtp.commands import curve
from pytest_mtp.errors import InputError, MtpError, SettingsError
from pytest_mtp.runtime.store import write_json
from tests.curves import point, report
from tests.real.conftest import SMALL


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    curve.add_arguments(parser)
    return parser.parse_args(["--profile", str(SMALL), *words])


def test_acceptance_is_spread_from_none_to_all() -> None:
    wish = curve._wish(parsed("--points", "3"))
    rates = {name: one.synth_rates for name, one in wish.profile.flag_sets.items()}
    assert list(rates) == ["tau-1.00", "tau-2.50", "tau-4.00"]
    assert rates["tau-1.00"] == (0.0, 0.0, 0.0)
    assert 1 + sum(rates["tau-2.50"]) == pytest.approx(2.5, abs=1e-4)
    assert rates["tau-4.00"] == (1.0, 1.0, 1.0)
    assert all(one.n_max == 3 for one in wish.profile.flag_sets.values())


def test_a_single_point_lies_in_the_middle() -> None:
    assert list(curve._wish(parsed("--points", "1")).profile.flag_sets) == ["tau-2.50"]


def test_one_class_is_asked() -> None:
    assert curve._wish(parsed()).prompt_class.name == "right"
    assert curve._wish(parsed("--class", "mixed")).prompt_class.name == "mixed"


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("--class", "code"), r"has right, mixed"),
        (("--points", "0"), r"--points is 0"),
        (("--blocks", "0"), r"--blocks is 0"),
        (("--flag-set", "n9"), r"has n3"),
        (("--set", "flag_sets.n2.n_max=2", "--set", "flag_sets.n2.p_min=0.0", "--flag-set", "n2", "--flag-set", "n3"),
         r"one flag set, not of n2, n3"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_said_at_once(words: tuple[str, ...], cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        curve.run(parsed(*words))


def test_a_source_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(MtpError, match="llama-server-of-nobody"):
        curve.run(parsed("--source", "bin:/llama-server-of-nobody"))


def test_a_stored_curve_is_shown_beside_an_older_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now, then = tmp_path / "now.json", tmp_path / "then.json"
    write_json(then, report())
    write_json(now, report(*(point(tau, 2.2, drafting=0.6) for tau in (1.0, 2.0, 4.0))))
    assert curve.run(parsed("--read", str(now), "--against", str(then))) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "of 2026-01-01: A step became dearer by 10.0%, most of it by drafting" in shown


def test_a_curve_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no .*none\.json; pytest-mtp curve --json FILE writes one"):
        curve.run(parsed("--against", str(tmp_path / "none.json")))
