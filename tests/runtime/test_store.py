import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from pytest_mtp import schema
from pytest_mtp.core.baseline import Recorded
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.store import Baselines, load_report, write_json, write_text
from tests.campaigns import around, campaign

MEASURED = campaign({"a": around(2.0, 0.01), "b": around(0.7, 0.02)})
MACHINE = Fingerprint({"cpu": "Some CPU", "cores": "2"})


def report() -> RunReport:
    judged = Judged(campaign=MEASURED, gate=Gate(), floors={"a": 1.5, "b": 0.5})
    return RunReport(
        version=REPORT_VERSION,
        created_at="2026-01-01T00:00:00+00:00",
        tool="test",
        profile="p",
        machine=MACHINE.facts,
        judged=(judged.rejudged(),),
    )


def test_a_report_comes_back_as_it_was_and_judges_alike(tmp_path: Path) -> None:
    write_json(tmp_path / "r.json", report())
    stored = load_report(tmp_path / "r.json")
    assert stored == report()
    assert stored.judged[0].rejudged() == report().judged[0]


def test_what_is_written_follows_its_schema(tmp_path: Path) -> None:
    write_json(tmp_path / "report.json", report())
    baselines = Baselines(tmp_path, MACHINE, "p")
    baselines.save(baselines.load().with_record(Recorded("2026-01-01T00:00:00+00:00", "test", MEASURED)))
    for path, name in ((tmp_path / "report.json", "report"), (baselines.path, "baseline")):
        written = json.loads((schema.FOLDER / f"{name}.json").read_text())
        assert list(Draft202012Validator(written).iter_errors(json.loads(path.read_text()))) == []


@pytest.mark.parametrize("name", sorted(schema.schemas()))
def test_the_schema_files_are_what_the_types_say(name: str) -> None:
    expected = schema.schemas()[name]
    Draft202012Validator.check_schema(expected)
    assert (schema.FOLDER / f"{name}.json").read_text() == schema.as_text(expected)


def test_baselines_lie_by_machine_and_profile(tmp_path: Path) -> None:
    baselines = Baselines(tmp_path, MACHINE, "p")
    assert baselines.path == tmp_path / MACHINE.slug / "p.json"
    assert baselines.load().recorded == ()


@pytest.mark.parametrize("text", ["{", "[]", '{"version": "one"}', "\xff"])
def test_a_file_that_is_no_report_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"r\.json is not a RunReport.*Restore it or move it away"):
        load_report(tmp_path / "r.json")


def test_a_report_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "r.json", report())
    text = (tmp_path / "r.json").read_text().replace(f'"version": {REPORT_VERSION}', '"version": 99')
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError, match=r"r\.json.*format 99.*update pytest-mtp"):
        load_report(tmp_path / "r.json")


def test_half_a_letter_of_what_a_server_printed_loses_no_report(tmp_path: Path) -> None:
    write_json(tmp_path / "r.json", replace(report(), tool="half \udc80"))
    assert load_report(tmp_path / "r.json").tool == "half ?"


@pytest.mark.parametrize(
    "content",
    [
        '{"judged": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"version": 1, "judged": [{"baseline": ' + '{"a": ' * 50_000 + "1" + "}" * 50_002 + "]}",
    ],
)
def test_a_report_nested_without_end_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text(content)
    with pytest.raises(InputError, match=r"deep\.json is not a RunReport"):
        load_report(tmp_path / "deep.json")


def test_a_file_without_an_end_is_not_read_to_it() -> None:
    with pytest.raises(InputError, match="/dev/zero is not a RunReport: it is larger than 64 MiB"):
        load_report(Path("/dev/zero"))


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("real.json")
    write_json(tmp_path / "link.json", report())
    assert (tmp_path / "link.json").is_symlink()
    assert load_report(tmp_path / "real.json") == report()


def test_what_takes_no_other_in_its_place_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "through\n")
    assert os.read(reader, 100) == b"through\n"
    os.close(reader)
    assert pipe.is_fifo()


def test_the_folder_itself_is_no_file_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        write_text(Path(), "text")
    assert list(tmp_path.iterdir()) == []
