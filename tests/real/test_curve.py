"""The curve of a small phantom on the real server, from its first start to its page and its file."""

import argparse
import json
from pathlib import Path

import pytest

from pytest_mtp.commands import curve
from pytest_mtp.core.build_spec import Build
from pytest_mtp.errors import FlagError
from tests.real.conftest import SMALL


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    curve.add_arguments(parser)
    return parser.parse_args(["--profile", str(SMALL), "--no-bench", *words])


@pytest.mark.usefixtures("real_build")
def test_a_curve_is_measured_shown_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    written = tmp_path / "curve.json"
    assert curve.run(parsed("--points", "2", "--blocks", "2", "--json", str(written))) == 0
    shown = capsys.readouterr().out
    assert "tokens/step" in shown
    assert "MTP " in shown
    assert max(map(len, shown.splitlines())) <= 80
    report = json.loads(written.read_text())
    assert [point["rates"] for point in report["points"]] == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert all(len([ms for ms in point["drafting_ms"] if ms]) == 2 for point in report["points"])
    accepted = [sample["timings"]["draft_n_accepted"] for point in report["points"] for sample in samples(point)]
    assert accepted == [0] * 6 + [35] * 6  # 47 tokens in 12 steps, the last of which has one


def samples(point: dict[str, object]) -> list[dict[str, dict[str, int]]]:
    starts = [start for block in point["campaign"]["blocks"] for start in block["starts"]]  # type: ignore[index]
    return [sample for start in starts if start["arm"] == "mtp" for sample in start["samples"]]


def test_a_build_without_acceptance_by_chance_says_so(real_build: Build, tmp_path: Path) -> None:
    older = tmp_path / "llama-server"
    older.write_text(f'#!/bin/sh\n"{real_build.server}" "$@" | sed s/spec-synth-rates/spec-another/\n')
    older.chmod(0o755)
    with pytest.raises(FlagError, match="cannot take drafts by chance"):
        curve.run(parsed("--source", f"bin:{older}"))
