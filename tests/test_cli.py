from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.cli import main
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.runtime.store import write_json
from tests.campaigns import around, campaign


def stored(folder: Path, speedup: float) -> Path:
    judged = Judged(campaign=campaign({"a": around(speedup, 0.01)}), gate=Gate(), floors={"a": 1.5})
    # What a file claims does not matter: only its samples are judged.
    claimed = replace(judged, results=replace(judged, campaign=campaign({"a": around(2.0, 0.01)})).rejudged().results)
    report = RunReport(
        version=REPORT_VERSION,
        created_at="2026-01-01T00:00:00+00:00",
        tool="t",
        profile="p",
        machine={},
        judged=(claimed,),
    )
    write_json(folder / "r.json", report)
    return folder / "r.json"


@pytest.mark.parametrize(("speedup", "status", "said"), [(2.0, 0, "PASS"), (1.2, 1, "REGRESSION")])
def test_a_report_is_judged_again_from_its_samples(
    speedup: float, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(stored(tmp_path, speedup))]) == status
    assert said in capsys.readouterr().out


def test_a_missing_report_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.startswith("pytest-mtp: There is no report")
