"""A comparison for a pull request: the verdict in the first line, changed classes in a table, the rest folded."""

from collections.abc import Iterable, Iterator

from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.verdict import ClassResult, Outcome, Verdict
from pytest_mtp.reports.comparison import sides
from pytest_mtp.reports.conclusion import conclusion
from pytest_mtp.reports.escaping import for_markdown, one_line
from pytest_mtp.reports.terminal import lines

MARKER = "<!-- pytest-mtp -->"
"""By this a comment that is already there is found and replaced."""
_MOST_CHARACTERS = 60_000
_CUT = "The rest is too long for a comment: see the stored report."
_WIDTH = 80
_SHOWN_AS_CHANGED = frozenset(Outcome) - {Outcome.PASS}
_HEADER = ("class", "mtp tok/s", "change", "interval", "tokens/step", "step cost", "plain", "verdict")


def comment(report: RunReport) -> str:
    """The whole comment; what would make it longer than a host takes is left out at its end, and that is said."""
    parts = [MARKER, *(part for judged in report.judged for part in _judged(judged))]
    text = "\n".join([*parts, *everything(report)])
    if len(text) <= _MOST_CHARACTERS:
        return f"{text}\n"
    kept = "\n".join(parts)[: _MOST_CHARACTERS - len(_CUT) - 2].rpartition("\n")[0]
    return f"{kept}\n{_CUT}\n"


def headline(judged: Judged) -> str:
    """The verdict in a line: what it is, of how many classes, and why."""
    word, said = conclusion(judged)
    return f"### MTP: {word.name}, {said}, {len(judged.campaign.valid)} blocks"


def compared_classes(judged: Judged) -> Iterator[str]:
    """The changed classes of a comparison as a table; nothing where none changed."""
    changed = [one for one in judged.results if one.speed.outcome in _SHOWN_AS_CHANGED]
    if changed:
        yield from table(_HEADER, map(_cells, changed))
        yield ""


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table; its cells are Markdown already."""
    names = tuple(header)
    yield f"| {' | '.join(names)} |"
    yield f"| {' | '.join('---' for _ in names)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def outcome_and_cause(verdict: Verdict) -> str:
    """``REGRESSION: step cost``."""
    cause = "" if verdict.cause is None else f": {verdict.cause.value}"
    return f"{verdict.outcome.value}{cause}"


def first_line(reason: str) -> str:
    """A reason without the log that may follow it."""
    return reason.partition("\n")[0]


def everything(report: RunReport) -> Iterator[str]:
    """The table of the terminal, folded."""
    texts = (one_line(line.text).replace("```", "'''") for line in lines(report, _WIDTH))
    yield from folded("Everything that was measured", ["```text", *texts, "```"])


def folded(title: str, body: Iterable[str]) -> Iterator[str]:
    """Lines that a reader opens; ``title`` is no Markdown."""
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield from body
    yield ""
    yield "</details>"


def _judged(judged: Judged) -> Iterator[str]:
    yield headline(judged)
    yield ""
    if judged.compared is not None:
        flag_set, margin = for_markdown(judged.campaign.flag_set), judged.compared.rule.margin
        yield f"{for_markdown(sides(judged, judged.compared))}; flag set {flag_set}, margin {margin:.0%}"
        yield ""
    yield from compared_classes(judged)
    said = dict.fromkeys(verdict.reason for verdict in judged.verdicts if not verdict.outcome.blameless)
    yield from (f"- {for_markdown(first_line(reason))}" for reason in said)
    if said:
        yield ""


def _cells(result: ClassResult) -> tuple[str, ...]:
    against, counts = result.against, result.acceptance
    name, why = for_markdown(result.prompt_class), outcome_and_cause(result.speed)
    if against is None or counts is None:
        return (name, *("-",) * (len(_HEADER) - 2), why)
    return (
        name,
        f"{against.mtp_tps:.1f} → {result.mtp_tps:.1f}",
        f"{against.mtp - 1:+.1%}",
        f"{against.low - 1:+.1%} to {against.high - 1:+.1%}",
        f"{result.tau_then:.2f} → {counts.tau:.2f}",
        f"{against.step_cost:.2f} → {result.step_cost:.2f}",
        f"{against.plain - 1:+.1%}",
        why,
    )
