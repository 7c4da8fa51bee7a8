"""The sweep of a small phantom on the real server, from its first start to its page and its file."""

import argparse
from pathlib import Path

import pytest

from pytest_mtp.commands import tune
from pytest_mtp.core.recheck import recheck
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.suites.draft_depth import depth
from pytest_mtp.runtime.store import load_report
from tests.real.conftest import SMALL

SWEPT = ("--set", "suites.draft_depth.n_max=[1, 3]", "--set", "suites.draft_depth.p_min=[]", "--blocks", "2")


@pytest.mark.usefixtures("real_build")
def test_a_sweep_is_measured_shown_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    written = tmp_path / "sweep.json"
    parser = argparse.ArgumentParser()
    tune.add_arguments(parser)
    tune.run(parser.parse_args(["--profile", str(SMALL), *SWEPT, "--json", str(written)]))
    shown = capsys.readouterr().out
    assert shown.startswith("Best here")
    assert "It fits what was asked: right" in shown
    assert max(map(len, shown.splitlines())) <= 80
    report = load_report(written)
    assert recheck(report) == ()
    (study,) = report.studies
    campaigns = {one.name: one.campaign for one in study.variants}
    assert [len(one.valid) for one in campaigns.values()] == [2, 2]
    for name, campaign in campaigns.items():
        n_max, _ = depth(name)
        assert f"--spec-draft-n-max {n_max} " in campaign.valid[0].start(Arm.MTP).command
        assert "--spec-draft" not in campaign.valid[0].start(Arm.PLAIN).command
