"""``pytest-mtp baseline`` over real files: only promote writes, and only what can be a baseline."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.cli import main
from pytest_mtp.core.baseline import Recorded
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.sample import ArmFailure, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.runtime.history import History
from pytest_mtp.runtime.store import Baselines, write_json
from tests.damaged import one_armed
from tests.reports_of_runs import MACHINE, run_report

FAST, SLOW = (2.0, 2.02, 1.98), (1.5, 1.51, 1.49)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _stored(place: Path, name: str, report: RunReport) -> str:
    write_json(place / name, report)
    return name


def _on_record(place: Path) -> Baselines:
    return Baselines(place / "baselines", Fingerprint(MACHINE), "phantom")


def test_a_promoted_run_is_what_the_next_is_held_against(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = _stored(place, "first.json", run_report({"code": FAST}))
    assert main(["baseline", "promote", first]) == 0
    assert "has no baseline of this yet" in capsys.readouterr().out
    assert main(["baseline", "diff", _stored(place, "second.json", run_report({"code": SLOW}))]) == 0
    assert "2.00x -> 1.50x  -25.0%" in capsys.readouterr().out
    (record,) = _on_record(place).load().recorded
    assert record.recorded_at == "2026-11-01T03:00:00+00:00"


def test_promote_takes_the_place_of_what_measured_the_same(place: Path) -> None:
    for name, blocks in (("first.json", FAST), ("second.json", SLOW)):
        assert main(["baseline", "promote", _stored(place, name, run_report({"code": blocks}))]) == 0
    (record,) = _on_record(place).load().recorded
    assert record.campaign == run_report({"code": SLOW}).judged[0].campaign


def test_a_run_of_the_history_is_promoted_by_its_name(place: Path) -> None:
    path = History(place / "history", place / "cache").add(run_report({"code": FAST}))
    words = ["baseline", "promote", path.stem[:15], "--history", "history", "--cache-dir", "cache"]
    assert main(words) == 0
    assert len(_on_record(place).load().recorded) == 1


def test_what_is_on_record_is_shown_with_its_age_and_origin(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", "promote", _stored(place, "first.json", run_report({"code": FAST}))])
    capsys.readouterr()
    assert main(["baseline", "show"]) == 0
    out = capsys.readouterr().out
    assert "days ago) by pytest-mtp 0.1.0" in out
    assert "2.00x [1.9" in out


def test_a_baseline_that_is_none_is_named_and_the_others_are_shown(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["baseline", "promote", _stored(place, "first.json", run_report({"code": FAST}))])
    (place / "baselines" / "other").mkdir()
    (place / "baselines" / "other" / "phantom.json").write_text("{")
    capsys.readouterr()
    assert main(["baseline", "show"]) == 1
    out, err = capsys.readouterr()
    assert "2.00x" in out
    assert "other/phantom.json is not a BaselineFile" in err


@pytest.mark.parametrize(
    "report",
    [
        run_report({"code": (2.0,)}),
        run_report({"code": FAST}, failures=(ArmFailure(arm=Arm.MTP, stage=Stage.START, message="died"),)),
    ],
)
def test_half_a_run_is_no_baseline(report: RunReport, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "promote", _stored(place, "half.json", report)]) == 1
    assert "not put on record" in capsys.readouterr().out
    assert not (place / "baselines").exists()


def test_an_unknown_run_is_one_sentence(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "promote", "nothing"]) == 2
    assert "has no run named nothing" in capsys.readouterr().err


@pytest.mark.parametrize("profile", ["../../outside", "a\0b", "", "..", "a\\b"])
def test_a_strangers_report_names_no_file_outside_the_folder(
    profile: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = _stored(place, "stranger.json", replace(run_report({"code": FAST}), profile=profile))
    assert main(["baseline", "promote", stranger]) == 2
    assert "is no name of a file" in capsys.readouterr().err
    assert list(place.rglob("*.json")) == [place / "stranger.json"]


@pytest.mark.parametrize(("at", "said"), [("yesterday", "recorded yesterday by"), ("2026-11-01T03:00:00", "days ago")])
def test_a_time_that_is_none_or_without_a_zone_is_shown_as_it_is(
    at: str, said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = _stored(place, "odd.json", replace(run_report({"code": FAST}), created_at=at))
    assert main(["baseline", "promote", odd]) == 0
    assert main(["baseline", "show"]) == 0
    assert main(["baseline", "diff", odd]) == 0
    assert capsys.readouterr().out.count(said) == 2


def test_samples_that_cannot_be_judged_are_not_put_on_record(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = _stored(place, "damaged.json", one_armed(run_report({"code": FAST})))
    assert main(["baseline", "promote", damaged]) == 2
    assert "damaged.json cannot be judged" in capsys.readouterr().err
    assert not (place / "baselines").exists()


def test_a_damaged_baseline_is_named_and_the_others_are_shown(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = run_report({"code": FAST})
    main(["baseline", "promote", _stored(place, "whole.json", whole)])
    bad = Baselines(place / "baselines", Fingerprint({"cpu": "A"}), "phantom")
    campaign = one_armed(whole).judged[0].campaign
    bad.save(bad.load().with_record(Recorded(whole.created_at, "test", campaign)))
    capsys.readouterr()
    assert main(["baseline", "show"]) == 1
    told = capsys.readouterr()
    assert "2.00x [1.9" in told.out
    assert f"{bad.path} cannot be judged" in told.err


def test_a_run_without_a_measurement_has_nothing_to_put_on_record(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = _stored(place, "empty.json", replace(run_report({"code": FAST}), judged=()))
    for action in ("promote", "diff"):
        assert main(["baseline", action, empty]) == 1
        assert capsys.readouterr().out == "Nothing was measured in this run.\n"


def test_a_name_that_moves_the_cursor_is_harmless(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run_report({"code": FAST})
    campaign = replace(report.judged[0].campaign, flag_set="\x1b[31mred\n::error::x")
    hostile = replace(report, judged=(replace(report.judged[0], campaign=campaign),))
    assert main(["baseline", "promote", _stored(place, "hostile.json", hostile)]) == 0
    assert "\x1b" not in capsys.readouterr().out
