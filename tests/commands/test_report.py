"""``pytest-mtp report`` over files that are not whole: one sentence with the file's name, and status 2."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.cli import main
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.runtime.store import write_json
from tests.damaged import one_armed
from tests.reports_of_runs import run_report
from tests.studies import latency, memory, report_of

WHOLE = run_report({"code": (2.0, 2.02, 1.98)})


def _without_logarithm(report: RunReport) -> RunReport:
    return replace(report, judged=tuple(replace(one, floors={"code": 0.0}) for one in report.judged))


@pytest.mark.parametrize("damage", [one_armed, _without_logarithm])
@pytest.mark.parametrize("how", [[], ["--upstream"], ["--html", "page.html"]])
def test_samples_that_cannot_be_judged_are_one_sentence(
    damage: Callable[[RunReport], RunReport],
    how: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_json(tmp_path / "damaged.json", damage(WHOLE))
    assert main(["report", "damaged.json", *how]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("pytest-mtp: damaged.json cannot be judged")
    assert not (tmp_path / "page.html").exists()


def test_two_reports_that_cannot_be_compared_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_json(tmp_path / "whole.json", WHOLE)
    write_json(tmp_path / "damaged.json", one_armed(WHOLE))
    assert main(["compare", "whole.json", "damaged.json"]) == 2
    assert "whole.json with damaged.json cannot be judged" in capsys.readouterr().err


def test_a_report_of_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "empty.json", replace(WHOLE, judged=()))
    assert main(["report", str(tmp_path / "empty.json")]) == 0
    assert "nothing was measured" in capsys.readouterr().out


@pytest.mark.parametrize(("most", "status"), [(2.0, 0), (1.0, 1)])
def test_a_study_is_judged_again_and_its_verdict_counts(
    most: float, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unjudged = replace(latency(most=most), results=(), verdict=latency().verdict)
    write_json(tmp_path / "studies.json", report_of(unjudged))
    assert main(["report", str(tmp_path / "studies.json")]) == status
    assert f"latency, flag set n3: {'REGRESSION' if status else 'PASS'}" in capsys.readouterr().out


def test_a_study_of_the_flag_sets_own_campaign_is_judged_again_by_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = replace(memory(WHOLE.judged[0].campaign), checks=())
    write_json(tmp_path / "whole.json", replace(WHOLE, studies=(study,)))
    main(["report", str(tmp_path / "whole.json")])
    assert "no memory was told of these servers" in capsys.readouterr().out
