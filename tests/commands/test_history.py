"""``pytest-mtp history`` over a real folder."""

import csv
import json
from pathlib import Path

import pytest

from pytest_mtp.cli import main
from pytest_mtp.runtime.history import History
from tests.reports_of_runs import run_report

DATA = Path(__file__).parents[1] / "core" / "data" / "imported"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    history = History(tmp_path / "history", tmp_path / "cache" / "pytest-mtp")
    for day, speedup in enumerate((1.5, 1.6, 1.7), start=1):
        blocks = (speedup, speedup * 1.01, speedup * 0.99)
        history.add(run_report({"code": blocks}, f"2026-11-0{day}T03:00:00+00:00"))
    return tmp_path


def test_every_run_is_a_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "list"]) == 0
    out = capsys.readouterr().out
    assert [f"2026-11-0{day}" in out for day in (1, 2, 3)] == [True] * 3
    assert all(len(line) <= 80 for line in out.splitlines())


def test_files_that_are_no_runs_are_named_and_left(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = place / "history" / "bad.json"
    bad.write_text("{")
    assert main(["history", "list"]) == 1
    assert "bad.json" in capsys.readouterr().out
    assert main(["history", "export"]) == 1
    out, err = capsys.readouterr()
    assert "bad.json was left out" in err
    assert out.count("speedup") == 3
    assert bad.read_text() == "{"


def test_an_export_has_every_value(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "export", "--format", "csv"]) == 0
    rows = [row for row in csv.DictReader(capsys.readouterr().out.splitlines()) if row["metric"] == "speedup"]
    assert [round(float(row["value"]), 2) for row in rows] == [1.5, 1.6, 1.7]
    assert main(["history", "export", "--format", "json", "--output", "all.json"]) == 0
    assert "speedup" in json.dumps(json.loads((place / "all.json").read_text()))


def test_a_run_is_shown_by_the_beginning_of_its_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "show", "20261102"]) == 0
    assert "1.60" in capsys.readouterr().out
    assert main(["history", "show", "2026"]) == 2
    assert "3 runs begin with 2026" in capsys.readouterr().err


def test_other_tools_files_are_kept_beside(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"plain={DATA / 'mtp_bench_off.json'}", f"mtp={DATA / 'mtp_bench_on.json'}"]
    words = [*files, "--at", "2026-05-06T12:00:00Z", "--build", "b9246"]
    assert main(["history", "import", *words]) == 0
    assert "never judged" in capsys.readouterr().out
    assert main(["history", "list"]) == 0
    assert "2026-05-06" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import", "nothing.json"], "nothing.json cannot be imported"),
        (["import", "a=b", "c=d"], "give one file, or plain=FILE and mtp=FILE"),
        (["import", "plain=a", "plain=b"], "give one file, or plain=FILE and mtp=FILE"),
    ],
)
def test_what_cannot_be_imported_is_one_sentence(
    words: list[str], said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", *words]) == 2
    assert said in capsys.readouterr().err


def test_pruning_keeps_the_newest(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "prune", "--keep", "1"]) == 0
    assert "2 runs removed" in capsys.readouterr().out
    assert [path.name[:8] for path in (place / "history").iterdir()] == ["20261103"]


def test_an_empty_folder_says_how_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["history", "list"]) == 0
    assert "pytest --mtp --mtp-history history" in capsys.readouterr().out


def test_a_name_that_is_the_beginning_of_another_names_its_own_run(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, *_) = sorted((place / "history").iterdir())
    first.with_name(f"{first.stem}-again.json").write_bytes(first.read_bytes())
    assert main(["history", "show", first.stem]) == 0
    assert first.stem in capsys.readouterr().out
