"""``pytest-mtp compare`` on stored reports, and what it refuses before it builds anything."""

import argparse
from pathlib import Path

import pytest

from pytest_mtp.commands import compare
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import Campaign
from pytest_mtp.errors import InputError, SettingsError
from pytest_mtp.runtime.store import load_report, write_json
from tests.comparisons import base, stretched

BASE = base()


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    compare.add_arguments(parser)
    return parser.parse_args(list(words))


def stored(folder: Path, name: str, measured: Campaign) -> str:
    judged = (Judged(campaign=measured, gate=Gate()),)
    report = RunReport(version=REPORT_VERSION, created_at="now", tool="t", profile="p", machine={}, judged=judged)
    write_json(folder / name, report)
    return str(folder / name)


@pytest.mark.parametrize(
    ("mtp", "sd", "status", "verdict"),
    [(1.0, 0.002, 0, "PASS"), (1.3, 0.002, 1, "FAIL"), (1.05, 0.03, 17, "UNDECIDED")],
)
def test_two_reports_end_with_the_verdicts_status(
    mtp: float, sd: float, status: int, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    then, now = stored(tmp_path, "then.json", BASE), stored(tmp_path, "now.json", stretched(BASE, mtp=mtp, sd=sd))
    comment, report = tmp_path / "comment.md", tmp_path / "report.json"
    assert compare.run(parsed(then, now, "--markdown", str(comment), "--json", str(report))) == status
    assert f"### MTP: {verdict}," in comment.read_text().splitlines()[1]
    assert "without pairs and control" in " ".join(capsys.readouterr().out.split())
    kept = load_report(report)
    assert kept.judged[0].rejudged().results == kept.judged[0].results


def test_what_is_compared_is_said_once() -> None:
    with pytest.raises(SettingsError, match="BASE and HEAD are the two sources that are compared: drop --source"):
        compare.run(parsed("sdist:9246", "sdist:11434", "--source", "sdist:11434"))


def test_an_unknown_class_is_named_with_those_there_are() -> None:
    with pytest.raises(SettingsError, match=r"--class code: the profile phantom has miss00, miss05"):
        compare.run(parsed("sdist:9246", "sdist:11434", "--class", "code"))


def test_a_report_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no "):
        compare.run(parsed(str(tmp_path / "a.json"), str(tmp_path / "b.json")))
