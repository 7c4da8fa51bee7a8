"""A run as one night of many, against the fake llama-server: kept, judged, and written for people."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.sample import Block, Sample, Start
from pytest_mtp.runtime.store import load_report, write_json
from tests.plugin.gates import Gate

FLOOR = '--mtp-set=classes=[{ name = "a", prompt = "A", floor = 1.5 }]'
HISTORY = "--mtp-history=history"
TOOLS = {"report.json", "report.html", "summary.md", "annotations.txt", "bigger.json", "bencher.json", "verdict.txt"}


def test_every_run_is_kept_and_an_unbroken_history_is_green(gate: Gate, pytester: pytest.Pytester) -> None:
    assert [gate(FLOOR, HISTORY).ret for _ in range(2)] == [0, 0]
    assert len(list((pytester.path / "history").iterdir())) == 2


def test_everything_that_people_look_at_is_written_at_once(gate: Gate, pytester: pytest.Pytester) -> None:
    assert gate(FLOOR, HISTORY, "--mtp-out=out").ret == 0
    out = pytester.path / "out"
    assert {path.name for path in out.iterdir()} == TOOLS
    assert load_report(out / "report.json").profile == "fake"
    assert "PASS" in (out / "verdict.txt").read_text()
    assert [one["name"] for one in json.loads((out / "bigger.json").read_text())]


def test_a_loss_that_only_the_history_proves_ends_with_18(gate: Gate, pytester: pytest.Pytester) -> None:
    """The gate's floor holds, and the twelve nights before were twice as fast in both arms."""
    gate(FLOOR, HISTORY)
    (now,) = (pytester.path / "history").iterdir()
    _write_past(now, nights=12, faster=2.0, last_slow=1)
    found = gate(FLOOR, HISTORY)
    assert found.ret == 18
    found.stdout.fnmatch_lines(["History: *mtp tok/s*"])


def test_an_acknowledged_loss_is_silent(gate: Gate, pytester: pytest.Pytester) -> None:
    gate(FLOOR, HISTORY)
    (now,) = (pytester.path / "history").iterdir()
    _write_past(now, nights=12, faster=2.0, last_slow=1)
    (pytester.path / "baselines").mkdir()
    (pytester.path / "baselines" / "acknowledged.toml").write_text(
        f'[[change]]\nseries = "fake/n3/*"\nrun = "{_first_slow(pytester.path)}"\nreason = "known"\nwho = "us"\n'
        f'[[change]]\nseries = "fake/n3/a/*"\nrun = "{_first_slow(pytester.path)}"\nreason = "known"\nwho = "us"\n'
    )
    assert gate(FLOOR, HISTORY).ret == 0


def test_a_file_that_is_no_run_is_named_and_leaves_the_night_undecided(gate: Gate, pytester: pytest.Pytester) -> None:
    gate(FLOOR, HISTORY)
    (pytester.path / "history" / "bad.json").write_text("{")
    found = gate(FLOOR, HISTORY)
    assert found.ret == 17
    found.stdout.fnmatch_lines(["History: bad.json was left out: *"])


def test_acknowledgements_that_cannot_be_read_lose_no_run(gate: Gate, pytester: pytest.Pytester) -> None:
    (pytester.path / "baselines").mkdir()
    (pytester.path / "baselines" / "acknowledged.toml").write_text("[[change]")
    found = gate(FLOOR, HISTORY)
    assert found.ret == 17
    found.stdout.fnmatch_lines(["The history was not judged:*", "*acknowledged.toml*"])
    assert len(list((pytester.path / "history").iterdir())) == 1


def test_a_history_that_cannot_be_written_is_one_sentence(gate: Gate, pytester: pytest.Pytester) -> None:
    (pytester.path / "file").write_text("")
    found = gate(FLOOR, "--mtp-history=file/history")
    assert found.ret == 1
    found.stdout.fnmatch_lines(["*cannot be written*"])


def _first_slow(folder: Path) -> str:
    return sorted(path.stem for path in (folder / "history").iterdir())[-1]


def _write_past(newest: Path, nights: int, faster: float, last_slow: int) -> None:
    """Nights before the newest one, a tenth of a percent apart, all but the last ``last_slow`` of them faster."""
    report = load_report(newest)
    for night in range(1, nights + 1):
        speed = (faster if night <= nights - last_slow else 1.0) * (1 + night % 3 / 1000)
        past = _at_speed(report, speed)
        stamp = f"2026-01-{night:02}T03:00:00+00:00"
        write_json(newest.with_name(f"202601{night:02}T030000-fake-0.json"), replace(past, created_at=stamp))


def _at_speed(report: RunReport, speed: float) -> RunReport:
    def sample(one: Sample) -> Sample:
        return replace(one, timings=replace(one.timings, predicted_ms=one.timings.predicted_ms / speed))

    def each(campaign_part: Start) -> Start:
        return replace(campaign_part, samples=tuple(map(sample, campaign_part.samples)))

    def block(one: Block) -> Block:
        return replace(one, starts=tuple(map(each, one.starts)))

    def judged(one: Judged) -> Judged:
        return replace(one, campaign=replace(one.campaign, blocks=tuple(map(block, one.campaign.blocks)))).rejudged()

    return replace(report, judged=tuple(map(judged, report.judged)))


def test_folders_that_cannot_be_are_refused_before_anything_is_measured(gate: Gate, pytester: pytest.Pytester) -> None:
    (pytester.path / "file").write_text("")
    for words in (("--mtp-history=file",), ("--mtp-out=file",), ("--mtp-history=both", "--mtp-out=both")):
        assert gate(FLOOR, *words).ret == pytest.ExitCode.USAGE_ERROR
