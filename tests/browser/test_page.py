"""The HTML report in a real browser: offline, by keyboard, on a phone, in the dark, and by the rules of the web."""

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
import pytest

from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import Judged
from tests import pages
from tests.comparisons import base, compared, stretched
from tests.hostile import hostile_report, hostile_verdict
from tests.reports.test_html import of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

CHECKS = Path(os.environ.get("MTP_TEST_NODE", platformdirs.user_cache_path("pytest-mtp-tests"))) / "node_modules"
CHROMIUM = shutil.which("chromium")
_NO_CHECKS = f"npm install --prefix {CHECKS.parent} axe-core html-validate"
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="no playwright: pip install playwright"),
]


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of each kind: a night with a year behind it, a comparison, a stranger's words, and nothing measured."""
    from pytest_mtp.reports.html.page import page

    compared_one = Judged(campaign=stretched(base(), mtp=1.15), gate=Gate(), compared=compared(base())).rejudged()
    made = tmp_path_factory.mktemp("pages")
    told = {
        "night": page(pages.report(), pages.nights(), pages.spoken()),
        "comparison": page(of(compared_one)),
        "stranger": page(hostile_report(), pages.nights(4, 2), hostile_verdict()),
        "nothing": page(of()),
    }
    for name, text in told.items():
        (made / f"{name}.html").write_text(text, encoding="utf-8")
    return made


KINDS = ("night", "comparison", "stranger", "nothing")


@pytest.fixture
def complaints() -> list[str]:
    """What the page asked of the network, wrote to the console, or opened."""
    return []


def opened(browser: "Browser", file: Path, complaints: list[str], **how: Any) -> "Page":
    """The page in a context without network."""
    context: BrowserContext = browser.new_context(offline=True, **how)
    page = context.new_page()
    page.on("request", lambda one: complaints.append(one.url) if one.url != file.as_uri() else None)
    page.on("console", lambda one: complaints.append(one.text))
    page.on("pageerror", lambda one: complaints.append(str(one)))
    page.on("dialog", lambda one: complaints.append(one.message))
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_asks_for_nothing_complains_of_nothing_and_fits(
    browser: "Browser", folder: Path, complaints: list[str], kind: str, width: int
) -> None:
    page = opened(browser, folder / f"{kind}.html", complaints, viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.get_by_role("heading", level=1).count() == 1
    assert complaints == []


def test_the_keyboard_reaches_every_control(browser: "Browser", folder: Path, complaints: list[str]) -> None:
    page = opened(browser, folder / "night.html", complaints)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('a, button, summary, input:not([type=radio]), [tabindex="0"]')]
        .filter((one) => one.checkVisibility()).map((one, place) => { one.dataset.place = place; return place; })"""
    )
    reached = set()
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.place ?? document.activeElement.name"))
    assert reached >= {*map(str, wanted), "metric"}
    assert complaints == []


def test_a_reader_walks_through_the_runs_by_keyboard(browser: "Browser", folder: Path, complaints: list[str]) -> None:
    page = opened(browser, folder / "night.html", complaints)
    walk = page.get_by_role("slider", name="Run of code, speedup")
    said = page.locator("figure.show-SPEEDUP output").first
    assert said.inner_text().startswith("2026-12-02 · b11364 · ")
    walk.focus()
    page.keyboard.press("ArrowLeft")
    assert said.inner_text().startswith("2026-12-01 · b11363 · ")
    page.keyboard.press("Home")
    assert said.inner_text() == walk.get_attribute("aria-valuetext")
    assert said.inner_text().startswith("2025-12-03 · b11000 · ")


def test_pointing_at_a_run_says_what_it_is(browser: "Browser", folder: Path, complaints: list[str]) -> None:
    page = opened(browser, folder / "night.html", complaints, viewport={"width": 1280, "height": 844})
    drawing = page.locator("figure.show-SPEEDUP svg.chart").first
    drawing.hover(position={"x": 3, "y": 60})
    assert page.locator("figure.show-SPEEDUP output").first.inner_text().startswith("2025-12-03 · b11000 · ")


def test_another_quantity_is_chosen_without_a_script(browser: "Browser", folder: Path, complaints: list[str]) -> None:
    page = opened(browser, folder / "night.html", complaints, java_script_enabled=False)
    shown = page.locator("figure.drawing:visible .newest")
    assert {one.split()[0] for one in shown.all_inner_texts()} == {"speedup"}
    page.locator(".metrics label", has_text="step cost").click()
    assert {" ".join(one.split()[:2]) for one in shown.all_inner_texts()} == {"step cost"}
    assert page.locator("button:visible").count() == 0


def test_all_runs_of_a_class_can_be_unfolded(browser: "Browser", folder: Path, complaints: list[str]) -> None:
    page = opened(browser, folder / "night.html", complaints)
    runs = page.locator("details.runs").first
    runs.locator("summary").click()
    assert runs.locator("tbody tr").count() == 30
    runs.get_by_role("button", name="Show all 365").click()
    assert runs.locator("tbody tr").count() == 365
    assert runs.locator("tbody tr").last.inner_text().split()[:3] == ["night-0000", "2025-12-03", "b11000"]


def test_a_command_is_copied(browser: "Browser", folder: Path, complaints: list[str]) -> None:
    page = opened(browser, folder / "night.html", complaints, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the command of the mtp arm").click()
    page.get_by_role("button", name="Copied the command of the mtp arm").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("pre").last.inner_text()


def test_the_data_is_saved_as_a_report(browser: "Browser", folder: Path, complaints: list[str], tmp_path: Path) -> None:
    from pytest_mtp.runtime.store import load_report

    page = opened(browser, folder / "night.html", complaints)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a file").click()
    saved.value.save_as(tmp_path / "report.json")
    assert load_report(tmp_path / "report.json") == pages.report()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(
    browser: "Browser", folder: Path, complaints: list[str], kind: str, scheme: Any
) -> None:
    axe = CHECKS / "axe-core" / "axe.min.js"
    if not axe.exists():
        pytest.skip(f"no axe-core: {_NO_CHECKS}")
    page = opened(
        browser,
        folder / f"{kind}.html",
        complaints,
        color_scheme=scheme,
        viewport={"width": 390, "height": 844},
        bypass_csp=True,
    )
    page.evaluate(axe.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    told = [(one["id"], one["help"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found["violations"]]
    assert told == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_valid(folder: Path, kind: str, tmp_path: Path) -> None:
    validate = CHECKS / ".bin" / "html-validate"
    if not validate.exists():
        pytest.skip(f"no html-validate: {_NO_CHECKS}")
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(RULES), encoding="utf-8")
    command = [str(validate), "--config", str(settings), "--formatter", "text", str(folder / f"{kind}.html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.splitlines()[:20] == []
    assert done.returncode == 0, done.stderr


RULES = {
    "extends": ["html-validate:recommended"],
    "root": True,
    "rules": {
        "doctype-style": ["error", {"style": "lowercase"}],
        # Sentences of reasons are long, and so is a title of them.
        "long-title": "off",
    },
}
