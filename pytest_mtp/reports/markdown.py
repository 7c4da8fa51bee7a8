"""A comparison for a pull request: the verdict in the first line, changed classes in a table, the rest folded."""

from collections.abc import Iterator

from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.verdict import ClassResult, Outcome
from pytest_mtp.reports.comparison import sides
from pytest_mtp.reports.terminal import lines

MARKER = "<!-- pytest-mtp -->"
"""By this a comment that is already there is found and replaced."""
_MOST_CHARACTERS = 60_000
_CUT = "The rest is too long for a comment: see the stored report."
_WIDTH = 80
_SHOWN_AS_CHANGED = frozenset(Outcome) - {Outcome.PASS}
_CELL_CHARACTERS = 400


def comment(report: RunReport) -> str:
    """The whole comment; what would make it longer than a host takes is left out at its end, and that is said."""
    parts = [MARKER, *(part for judged in report.judged for part in _judged(judged))]
    text = "\n".join([*parts, *_folded("Everything that was measured", _table_of_all(report))])
    if len(text) <= _MOST_CHARACTERS:
        return f"{text}\n"
    kept = "\n".join(parts)[: _MOST_CHARACTERS - len(_CUT) - 2].rpartition("\n")[0]
    return f"{kept}\n{_CUT}\n"


def headline(judged: Judged) -> str:
    """The verdict in a line: what it is, of how many classes, and why."""
    return f"### MTP: {_verdict(judged)}, {len(judged.campaign.valid)} blocks"


def _verdict(judged: Judged) -> str:
    outcomes = [one.speed.outcome for one in judged.results]
    classes = f"of {len(outcomes)} classes"
    if Outcome.ERROR in outcomes:
        return f"ERROR, {outcomes.count(Outcome.ERROR)} {classes} without a measurement"
    lost = [one.speed for one in judged.results if not one.speed.outcome.passes and not one.speed.outcome.open]
    if lost:
        causes = dict.fromkeys(one.cause.value for one in lost if one.cause is not None)
        why = f" ({', '.join(causes)})" if causes else ""
        return f"FAIL, {len(lost)} {classes} lost{why}"
    slower = [one.rate.value for one in judged.rates if one.verdict.outcome is Outcome.REGRESSION]
    if slower:
        return f"FAIL, {' and '.join(slower)} lost over all classes"
    waiting = sum(outcome.open for outcome in outcomes)
    if waiting:
        return f"UNDECIDED, {waiting} {classes} without an answer"
    open_rates = [one.rate.value for one in judged.rates if one.verdict.outcome.open]
    if open_rates:
        return f"UNDECIDED, {' and '.join(open_rates)} over all classes without an answer"
    gained = outcomes.count(Outcome.IMPROVED)
    return f"PASS, no class lost, {gained} of {len(outcomes)} faster" if gained else "PASS, no class lost"


def _judged(judged: Judged) -> Iterator[str]:
    yield headline(judged)
    yield ""
    if judged.compared is not None:
        margin = judged.compared.rule.margin
        yield f"{_escaped(sides(judged, judged.compared))}; flag set {judged.campaign.flag_set}, margin {margin:.0%}"
        yield ""
    changed = [one for one in judged.results if one.speed.outcome in _SHOWN_AS_CHANGED]
    if changed:
        yield "| class | mtp tok/s | change | interval | tokens/step | step cost | plain | verdict |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
        yield from map(_row, changed)
        yield ""
    said = dict.fromkeys(verdict.reason for verdict in judged.verdicts if not verdict.outcome.passes)
    yield from (f"- {_escaped(reason.splitlines()[0])[:_CELL_CHARACTERS]}" for reason in said)
    if said:
        yield ""


def _row(result: ClassResult) -> str:
    against, counts, verdict = result.against, result.acceptance, result.speed
    why = verdict.outcome.value if verdict.cause is None else f"{verdict.outcome.value}: {verdict.cause.value}"
    name = _escaped(result.prompt_class)
    if against is None or counts is None:
        return f"| {name} | - | - | - | - | - | - | {why} |"
    cells = (
        f"{against.mtp_tps:.1f} → {result.mtp_tps:.1f}",
        f"{against.mtp - 1:+.1%}",
        f"{against.low - 1:+.1%} to {against.high - 1:+.1%}",
        f"{result.tau_then:.2f} → {counts.tau:.2f}",
        f"{against.step_cost:.2f} → {result.step_cost:.2f}",
        f"{against.plain - 1:+.1%}",
    )
    return f"| {name} | {' | '.join(cells)} | {why} |"


def _table_of_all(report: RunReport) -> Iterator[str]:
    yield "```text"
    yield from (line.text.replace("```", "'''") for line in lines(report, _WIDTH))
    yield "```"


def _folded(title: str, body: Iterator[str]) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield from body
    yield ""
    yield "</details>"


def _escaped(text: str) -> str:
    """Names of branches and classes are somebody's words: no markup, no mention, no cell of a table."""
    for special in "\\|*_[]":
        text = text.replace(special, f"\\{special}")
    for special, harmless in (("<", "&lt;"), (">", "&gt;"), ("`", "'"), ("@", "@\u200b")):
        text = text.replace(special, harmless)
    return text
