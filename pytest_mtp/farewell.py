"""Print a run's summary through pytest's terminal."""

from typing import TYPE_CHECKING

from pytest_mtp.core.amount import counted
from pytest_mtp.reports.line import Line, Tone
from pytest_mtp.reports.terminal import lines, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.terminal import TerminalReporter

    from pytest_mtp.night import Night
    from pytest_mtp.session import Run

_MARKUP: dict[Tone, dict[str, bool]] = {
    Tone.PLAIN: {},
    Tone.HEAD: {"bold": True},
    Tone.GOOD: {"green": True},
    Tone.BAD: {"red": True, "bold": True},
    Tone.OPEN: {"yellow": True},
}


def write(run: "Run", reporter: "TerminalReporter") -> None:
    """The table of verdicts with what to do next, or what became of an unfinished campaign."""
    report = run.report()
    if report is None and run.unfinished is None and not run.resumable:
        return
    reporter.section("multi-token prediction", sep="=")
    if report is not None:
        for line in lines(report, reporter._tw.fullwidth):
            reporter.write_line(line.text, **_MARKUP[line.tone])
        for line in wrapped(_of_night(run.night), reporter._tw.fullwidth):
            reporter.write_line(line.text, **_MARKUP[line.tone])
    if run.unfinished is not None:
        said = counted(len(run.unfinished.valid), "valid block")
        reporter.write_line(f"{run.unfinished.flag_set}: interrupted after {said}; nothing was judged.")
    if run.resumable:
        said = counted(run.resumable, "finished block")
        reporter.write_line(f"{said} kept: the same command with --mtp-resume goes on.")
    if run.settings.json is not None and report is not None:
        reporter.write_line(f"Report: {run.settings.json} (judge it again with: pytest-mtp report {run.settings.json})")


def _of_night(night: "Night") -> "Iterator[Line]":
    """What the history says of this run, and where things were written."""
    verdict = night.verdict
    if verdict is not None:
        yield from (Line(f"History: {reason}", Tone.BAD) for reason in verdict.reasons)
        if not verdict.red:
            yield Line("History: no loss that nobody acknowledged.", Tone.GOOD)
        yield from (Line(f"History: note: {notice}") for notice in verdict.notices)
    yield from (Line(f"History: {one.name} was left out: {one.why}", Tone.OPEN) for one in night.unreadable)
    yield from (Line(notice) for notice in night.notices)
