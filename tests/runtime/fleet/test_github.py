"""What jobs leave is taken for samples, and what is not what it should be is left out and named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.fleet.cell import Cell, CellResult
from pytest_mtp.core.fleet.standing import conclusion
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.fleet.github import MOST_JOBS, Artifacts, matrix
from pytest_mtp.runtime.store import write_json
from tests.reports_of_runs import run_report
from tests.runtime.fleet.cells import cell_of, manifest_of

CELLS = (cell_of("/bin/false"), cell_of("/bin/false", "tower", "RTX 3090", minutes=45))
AT = "2026-12-03T03:00:00.000000+00:00"
REPORT = run_report({"code": (1.5, 1.4, 1.6)})


def result_of(cell: Cell) -> CellResult:
    return CellResult(cell=cell.id, status=0, report=REPORT, started_at=AT, ended_at=AT, worker="runner", said="")


def taken(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The cells that have a result, and what was left out with why."""
    artifacts = Artifacts(folder, ("cpu",), manifest_of(*CELLS).id)
    found = [one.cell for one in artifacts.run(CELLS, lambda *_: None)]
    return found, {one.name: one.why for one in artifacts.refused}


def test_the_matrix_is_one_line_of_json_with_a_job_for_each_cell() -> None:
    text = matrix(CELLS)
    assert "\n" not in text
    jobs = json.loads(text)["include"]
    assert [(job["cell"], job["machine"], job["kind"], job["timeout_minutes"]) for job in jobs] == [
        (CELLS[0].id, "desk", "cpu", 20),
        (CELLS[1].id, "tower", "RTX 3090", 60),
    ]


def test_more_jobs_than_github_starts_are_refused() -> None:
    with pytest.raises(InputError, match="at most 256 jobs"):
        matrix([cell_of("/bin/false", f"m{n}") for n in range(MOST_JOBS + 1)])


def test_results_and_bare_reports_are_taken_from_the_folders_of_their_artifacts(tmp_path: Path) -> None:
    write_json(tmp_path / "cell-a" / "results" / f"{CELLS[0].id}.json", result_of(CELLS[0]))
    write_json(tmp_path / f"cell-{CELLS[1].id}" / "report.json", REPORT)
    write_json(tmp_path / "cell-a" / "manifest.json", manifest_of(*CELLS))  # of the ledger that was uploaded
    (tmp_path / "cell-a" / "heard").mkdir()
    (tmp_path / "cell-a" / "heard" / f"{CELLS[0].id}.json").write_text("{}")
    found, refused = taken(tmp_path)
    assert sorted(found) == sorted(one.id for one in CELLS)
    assert refused == {}


def test_a_bare_report_without_a_baseline_has_no_answer(tmp_path: Path) -> None:
    write_json(tmp_path / f"{CELLS[0].id}.json", REPORT)
    (result,) = Artifacts(tmp_path, ()).run(CELLS, lambda *_: None)
    assert conclusion(result).open


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cannot be read"),
        (b"{", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b"\xff", "cannot be read"),
        (b'{"cell": "x", "status": "0"}', "cannot be read"),
        (json.dumps({"cell": "../../x", "status": 0, "report": None, "started_at": "", "ended_at": "", "worker": "",
                     "said": ""}).encode(), "'../../x' is none of those"),
    ],
)  # fmt: skip
def test_hostile_content_is_left_out_by_name(content: bytes, why: str, tmp_path: Path) -> None:
    write_json(tmp_path / "good.json", result_of(CELLS[0]))
    (tmp_path / "hostile.json").write_bytes(content)
    found, refused = taken(tmp_path)
    assert found == [CELLS[0].id]
    assert why in refused["hostile.json"]


def test_a_second_result_of_a_cell_is_left_out(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", result_of(CELLS[0]))
    write_json(tmp_path / "b.json", replace(result_of(CELLS[0]), status=1))
    found, refused = taken(tmp_path)
    assert found == [CELLS[0].id]
    assert "has a result in" in refused["b.json"]


def test_a_result_of_another_night_is_left_out(tmp_path: Path) -> None:
    """A runner that is not emptied uploads the ledger of its last night once more."""
    for cell, plan in zip(CELLS, (manifest_of(*CELLS), manifest_of(*reversed(CELLS))), strict=True):
        write_json(tmp_path / cell.machine / "manifest.json", plan)
        write_json(tmp_path / cell.machine / "results" / f"{cell.id}.json", result_of(cell))
    found, refused = taken(tmp_path)
    assert found == [CELLS[0].id]
    assert "It is of another plan" in refused[f"tower/results/{CELLS[1].id}.json"]


def test_links_and_folders_are_left_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write_json(outside / "secret.json", result_of(CELLS[0]))
    folder = tmp_path / "artifacts"
    (folder / "folder.json").mkdir(parents=True)
    (folder / "link.json").symlink_to(outside / "secret.json")
    (folder / "away").symlink_to(outside)
    found, refused = taken(folder)
    assert found == []
    assert refused["link.json"] == "It is a link."
    assert refused["folder.json"] == "It is no file."


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        taken(tmp_path / "nothing")
