"""The record of a run: what is finished is finished, and what is damaged is refused by name."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.fleet.cell import CellResult, State, lost
from pytest_mtp.errors import InputError, SettingsError
from pytest_mtp.runtime.fleet.ledger import Ledger
from pytest_mtp.runtime.fleet.stored import load_machines, load_manifest
from pytest_mtp.runtime.store import write_json
from tests.reports_of_runs import run_report
from tests.runtime.fleet.cells import cell_of, manifest_of

CELL, OTHER = cell_of("/bin/false"), cell_of("/bin/false", "tower")
AT = "2026-12-03T03:00:00.000000+00:00"
RESULT = CellResult(cell=CELL.id, status=1, report=None, started_at=AT, ended_at=AT, worker="box", said="no")

# It tells that it is in, and stays in until its input ends.
HOLDS = """
import sys
from pathlib import Path
from pytest_mtp.runtime.fleet.ledger import Ledger
with Ledger(Path(sys.argv[1])).held():
    print("in", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger")
    ledger.open(manifest_of(CELL, OTHER))
    return ledger


def test_a_result_comes_back_whole(ledger: Ledger) -> None:
    whole = replace(RESULT, status=0, report=run_report({"code": (1.5, 1.4, 1.6)}))
    ledger.keep(whole)
    assert ledger.finished(CELL) == whole
    assert ledger.finished(OTHER) is None


def test_a_lost_cell_is_on_record_and_not_finished(ledger: Ledger) -> None:
    gone = lost(CELL, "box-a went away", worker="box-a", started_at=AT, ended_at=AT)
    ledger.keep(gone)
    assert (ledger.result(CELL), ledger.finished(CELL)) == (gone, None)


def test_the_last_change_is_on_record(ledger: Ledger) -> None:
    for state, worker in ((State.RUNNING, "box-a"), (State.LOST, "box-a"), (State.RUNNING, "box-b")):
        ledger.heard(CELL, state, worker)
    last = ledger.last_heard(CELL)
    assert last is not None
    assert (last.state, last.worker) == (State.RUNNING, "box-b")
    assert ledger.last_heard(OTHER) is None


def test_the_same_manifest_goes_on_and_another_is_refused(ledger: Ledger) -> None:
    ledger.open(manifest_of(CELL, OTHER))
    with pytest.raises(SettingsError, match="is of another manifest: give another --ledger"):
        ledger.open(manifest_of(CELL))


def test_two_controllers_are_never_in_one_ledger(ledger: Ledger) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, ledger.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        with pytest.raises(SettingsError, match="Another controller runs"), ledger.held():
            pass
        other.kill()
    with ledger.held():  # the kernel took it back from the dead
        pass


HOSTILE = [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"cell": 3}', b'{"a": ' * 50_000]


@pytest.mark.parametrize("content", HOSTILE)
def test_a_damaged_file_is_one_sentence_with_its_name(content: bytes, ledger: Ledger) -> None:
    for place, read in (("results", ledger.result), ("heard", ledger.last_heard)):
        path = ledger.folder / place / f"{CELL.id}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"{CELL.id}.json cannot be read: .*Restore it, or remove it"):
            read(CELL)
    (ledger.folder / "manifest.json").write_bytes(content)
    with pytest.raises(InputError, match=r"manifest.json cannot be read"):
        ledger.manifest()


def test_a_result_of_another_cell_is_refused(ledger: Ledger) -> None:
    write_json(ledger.folder / "results" / f"{OTHER.id}.json", RESULT)
    with pytest.raises(InputError, match=f"is of cell '{CELL.id}', not of {OTHER.id}"):
        ledger.result(OTHER)


def test_a_result_whose_report_is_of_a_newer_version_is_refused(ledger: Ledger) -> None:
    ledger.keep(replace(RESULT, report=run_report({"code": (1.5, 1.4)})))
    path = ledger.folder / "results" / f"{CELL.id}.json"
    path.write_text(path.read_text().replace('"version": 4', '"version": 99'))
    with pytest.raises(InputError, match=r"cannot be used: .*update pytest-mtp"):
        ledger.result(CELL)


def test_a_folder_that_is_no_ledger_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no ledger: it has no manifest.json"):
        Ledger(tmp_path).manifest()


@pytest.mark.parametrize("content", HOSTILE)
def test_a_manifest_or_fleet_file_that_is_none_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(content)
    for load in (load_manifest, load_machines):
        with pytest.raises((InputError, SettingsError)) as caught:
            load(path)
        assert str(path) in str(caught.value)
        assert len(str(caught.value)) < 700


def test_a_file_that_is_not_there_is_said_without_the_words_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^There is no .*cells\.json\. Write one with"):
        load_manifest(tmp_path / "cells.json")
    with pytest.raises(SettingsError, match=r"^There is no fleet file .*fleet\.toml; docs/fleet\.md shows one"):
        load_machines(tmp_path / "fleet.toml")


def test_a_manifest_that_was_edited_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cells.json"
    write_json(path, manifest_of(CELL))
    path.write_text(path.read_text().replace("bin:/bin/false", "bin:/bin/evil"))
    with pytest.raises(InputError, match=f"{path} cannot be used: Cell {CELL.id} is not what its id says"):
        load_manifest(path)


def test_a_fleet_file_that_is_deep_or_endless_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text("a" + ".a" * 100 + " = 1")
    with pytest.raises(SettingsError, match="key of more than 32 parts"):
        load_machines(path)
    with pytest.raises(SettingsError, match="larger than 256 KiB"):
        load_machines(Path("/dev/zero"))
