"""What ``--mtp-out`` writes."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_mtp.errors import SettingsError
from pytest_mtp.reports.bundle import bundle
from pytest_mtp.runtime.outputs import write_all
from tests.hostile import hostile_file, hostile_report, hostile_verdict

TEXTS = {"summary.md", "annotations.txt", "bigger.json", "bencher.json", "verdict.txt"}
PAGE = "pytest_mtp.reports.html.page"


def put_page(monkeypatch: pytest.MonkeyPatch, result: str | SettingsError) -> None:
    """Put a page there whose text, or refusal, is known."""

    def page(*_: object) -> str:
        if isinstance(result, SettingsError):
            raise result
        return result

    module = ModuleType(PAGE)
    module.page = page  # type: ignore[attr-defined]  # a module is what one puts into it
    monkeypatch.setitem(sys.modules, PAGE, module)


def test_every_text_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_page(monkeypatch, "<!doctype html>")
    made = bundle(hostile_report(), (), hostile_verdict(), [hostile_file()])
    assert made.texts.keys() == TEXTS | {"report.html"}
    assert made.notices == ()
    write_all(tmp_path / "out", made.texts)
    assert {file.name for file in (tmp_path / "out").iterdir()} == made.texts.keys()
    assert (tmp_path / "out" / "report.html").read_text() == "<!doctype html>"


def test_without_jinja_the_page_is_left_out_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    put_page(monkeypatch, SettingsError("It needs jinja2: pip install 'pytest-mtp[report]'."))
    made = bundle(hostile_report())
    assert made.texts.keys() == TEXTS
    assert made.notices == ("report.html was left out. It needs jinja2: pip install 'pytest-mtp[report]'.",)


def test_the_verdict_is_a_table_that_a_terminal_and_a_log_only_show(monkeypatch: pytest.MonkeyPatch) -> None:
    put_page(monkeypatch, "")
    text = bundle(hostile_report()).texts["verdict.txt"]
    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line.strip().startswith("::") or "##[" in line]
    assert "plain     mtp  speedup" in text
