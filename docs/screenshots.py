"""The pictures of the README: `python -m docs.screenshots REPORT.json`; needs chromium.

The terminal's is the table that docs/verdicts.md explains, so that picture and text are of one run; the page is that of
the stored report.
"""

import argparse
import subprocess
import tempfile
from html import escape
from pathlib import Path

from pytest_mtp.cli import main as run_command
from pytest_mtp.reports.line import Line, Tone

PAGES = Path(__file__).parent
IMAGES = PAGES / "images"

_COLUMNS, _PIXELS_A_COLUMN, _PIXELS_A_LINE, _MARGIN = 80, 8.43, 19, 24
_PAGE = (1320, 1325)
_SHARPNESS = 2
_COLOURS = {
    Tone.PLAIN: "#d6deeb",
    Tone.HEAD: "#ffffff",
    Tone.GOOD: "#7ee787",
    Tone.BAD: "#ff7b72",
    Tone.OPEN: "#e3b341",
}
_TERMINAL = """<!doctype html><meta charset="utf-8"><style>
html { background: #0d1117 } body { margin: %dpx }
pre { margin: 0; font: 14px/%dpx "DejaVu Sans Mono", monospace }
</style><pre>%s</pre>"""


def table() -> list[Line]:
    """The lines of the explained table, in the tones that pytest gives them."""
    text = (PAGES / "verdicts.md").read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    return [Line(line, _tone(line)) for line in text.splitlines()]


def _tone(line: str) -> Tone:
    if line.startswith(("profile ", "flag set ")):
        return Tone.HEAD
    return Tone.GOOD if line.endswith("PASS") else Tone.PLAIN


def terminal(shown: list[Line]) -> str:
    """The lines of a run's summary, as a terminal of 80 columns shows them."""
    return _TERMINAL % (_MARGIN, _PIXELS_A_LINE, "\n".join(map(_coloured, shown)))


def _coloured(line: Line) -> str:
    weight = "bold" if line.tone in (Tone.HEAD, Tone.BAD) else "normal"
    return f'<span style="color: {_COLOURS[line.tone]}; font-weight: {weight}">{escape(line.text)}</span>'


def photograph(page: Path, picture: Path, size: tuple[int, int]) -> None:
    """Have chromium draw a page into a picture of this size."""
    options = ("--headless", "--no-sandbox", "--hide-scrollbars", f"--force-device-scale-factor={_SHARPNESS}")
    where = (f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}", page.as_uri())
    subprocess.run(["chromium", *options, *where], check=True, capture_output=True, timeout=120)


def main() -> None:
    """Make both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, metavar="REPORT.json")
    parsed = parser.parse_args()
    shown = table()
    size = (round(_COLUMNS * _PIXELS_A_COLUMN) + 2 * _MARGIN, len(shown) * _PIXELS_A_LINE + 2 * _MARGIN)
    with tempfile.TemporaryDirectory() as name:
        screen, page = Path(name) / "terminal.html", Path(name) / "report.html"
        screen.write_text(terminal(shown), encoding="utf-8")
        run_command(["report", str(parsed.report), "--html", str(page)])
        photograph(screen, IMAGES / "terminal.png", size)
        photograph(page, IMAGES / "report.png", _PAGE)


if __name__ == "__main__":
    main()
