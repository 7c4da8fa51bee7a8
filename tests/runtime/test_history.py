"""The history folder on a real disk: nothing is lost, and what is no run is named."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.history import ClassEntry, Entry, Metric, Value, series_of
from pytest_mtp.core.run_report import REPORT_VERSION, RunReport
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.history import History
from tests.damaged import one_armed
from tests.reports_of_runs import run_report


def report_of_day(day: int, speedup: float = 1.5) -> RunReport:
    return run_report({"code": (speedup, speedup * 1.01, speedup * 0.99)}, f"2026-11-{day:02}T03:00:00+00:00")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "history", tmp_path / "cache")


def test_what_is_kept_is_read_in_the_order_of_time(history: History) -> None:
    for day in (3, 1, 2):
        history.add(report_of_day(day, 1 + day / 10))
    loaded = history.load()
    assert [entry.at[8:10] for entry in loaded.entries] == ["01", "02", "03"]
    speedups = next(one for one in series_of(loaded.entries) if one.metric is Metric.SPEEDUP)
    assert [round(point.value.value, 2) for point in speedups.points] == [1.1, 1.2, 1.3]
    assert loaded.unreadable == ()
    assert history.load() == loaded  # from the index


def test_the_same_run_is_one_file(history: History) -> None:
    assert history.add(report_of_day(1)) == history.add(report_of_day(1))
    assert len(history.load().entries) == 1


def test_a_changed_file_is_read_anew(history: History) -> None:
    path = history.add(report_of_day(1, 1.5))
    history.load()
    other = history.add(report_of_day(1, 1.2))
    path.write_bytes(other.read_bytes())
    other.unlink()
    (entry,) = history.load().entries
    assert entry.classes["code"].values[Metric.SPEEDUP].value == pytest.approx(1.2, rel=1e-3)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "It is no run"),
        (b"{", "It is no run"),
        (b"\xff\xfe", "It is no run"),
        (b"[1, 2]", "It is no run"),
        (b'{"version": 99, "created_at": "x"}', "is not a RunReport"),
        (b'{"version": 99, "imported": []}', "It has format 99"),
        (b'{"imported": []}', "it has no 'version'"),
        (b"[" * 100_000, "It is no run"),
    ],
)
def test_a_file_that_is_no_run_is_named_and_left(content: bytes, why: str, history: History) -> None:
    history.add(report_of_day(1))
    bad = history.folder / "bad.json"
    bad.write_bytes(content)
    loaded = history.load()
    assert len(loaded.entries) == 1
    (found,) = loaded.unreadable
    assert found.name == "bad.json"
    assert why in found.why
    assert bad.read_bytes() == content


def test_a_truncated_run_and_one_of_a_newer_version_are_named(history: History) -> None:
    kept, cut, newer = (history.add(report_of_day(day)) for day in (1, 2, 3))
    cut.write_bytes(cut.read_bytes()[:-100])
    newer.write_bytes(newer.read_bytes().replace(f'"version": {REPORT_VERSION}'.encode(), b'"version": 99'))
    loaded = history.load()
    assert [entry.run for entry in loaded.entries] == [kept.stem]
    assert {one.name for one in loaded.unreadable} == {cut.name, newer.name}
    assert any("update pytest-mtp" in one.why for one in loaded.unreadable)


def test_a_folder_with_the_name_of_a_run_is_named(history: History) -> None:
    (history.folder / "folder.json").mkdir(parents=True)
    assert [one.name for one in history.load().unreadable] == ["folder.json"]


def test_a_broken_index_costs_nothing(history: History, tmp_path: Path) -> None:
    history.add(report_of_day(1))
    before = history.load()
    (index,) = (tmp_path / "cache" / "history").iterdir()
    index.write_bytes(b"{")
    assert history.load() == before


_WRITES_TWELVE = """
import sys
from pathlib import Path
from pytest_mtp.runtime.history import History
from tests.runtime.test_history import report_of_day
folder, cache, first = sys.argv[1:]
for day in range(int(first), int(first) + 12):
    History(Path(folder), Path(cache)).add(report_of_day(day))
    History(Path(folder), Path(cache)).load()
"""


def test_two_writers_lose_nothing(history: History, tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITES_TWELVE, history.folder, tmp_path / "cache", first])
        for first in ("1", "13")
    ]
    assert [one.wait() for one in writers] == [0, 0]
    assert len(history.load().entries) == 24
    assert history.load().unreadable == ()


def test_pruning_keeps_the_newest_and_what_cannot_be_read(history: History) -> None:
    paths = [history.add(report_of_day(day)) for day in range(1, 6)]
    bad = history.folder / "bad.json"
    bad.write_text("{")
    assert set(history.prune(2)) == set(paths[:3])
    assert {path.name for path in history.folder.iterdir()} == {paths[3].name, paths[4].name, "bad.json"}


def test_a_run_is_found_by_the_beginning_of_its_name(history: History) -> None:
    first, second = history.add(report_of_day(1)), history.add(report_of_day(2))
    assert history.report(first.stem[:8]).created_at == report_of_day(1).created_at
    assert history.report(second.stem).created_at == report_of_day(2).created_at
    with pytest.raises(InputError, match="has 2 runs named 2026"):
        history.report("2026")
    with pytest.raises(InputError, match="has no run named nothing"):
        history.report("nothing")


def test_what_another_tool_measured_is_kept_beside(history: History) -> None:
    values = {Metric.MTP_TPS: Value(80.0)}
    entry = Entry(
        run="old",
        at="2026-05-01T00:00:00+00:00",
        profile="mine",
        flag_set="n3",
        build="b9000",
        facts={},
        classes={"code": ClassEntry(outcome=Outcome.NO_BASELINE, values=values)},
        imported_from="mtp-bench.py",
    )
    history.add_imported([entry], "mtp-bench.py")
    history.add(report_of_day(1))
    assert history.load().entries[0] == entry
    assert history.prune(0) != ()
    assert history.load().entries == (entry,)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        History(tmp_path / "file" / "history", tmp_path).add(report_of_day(1))


def test_a_time_that_is_none_is_refused(history: History) -> None:
    with pytest.raises(InputError, match="'yesterday' is no time"):
        history.add(replace(report_of_day(1), created_at="yesterday"))


def test_one_damaged_run_does_not_keep_the_others_from_being_read(history: History) -> None:
    history.add(report_of_day(1))
    bad = history.add(one_armed(report_of_day(2)))
    loaded = history.load()
    assert [entry.at[8:10] for entry in loaded.entries] == ["01"]
    assert [one.name for one in loaded.unreadable] == [bad.name]
