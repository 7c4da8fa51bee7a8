"""A run as the text of an issue for llama.cpp: what a maintainer needs to believe it, and to run it again."""

import re
from collections.abc import Callable, Iterator, Sequence

from pytest_mtp.core.fingerprint import spoken
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.sample import ArmFailure, Campaign
from pytest_mtp.core.verdict import ClassResult
from pytest_mtp.reports.comparison import sides
from pytest_mtp.reports.escaping import for_markdown, one_line
from pytest_mtp.reports.markdown import first_line, outcome_and_cause, table
from pytest_mtp.reports.reasons import grouped, verdicts

_HEADER = (
    "class", "plain tok/s", "mtp tok/s", "speedup", "interval", "tau", "acceptance", "step cost", "baseline",
)  # fmt: skip
_HOMES = r"/home/[^/\s:'\"]+|/Users/[^/\s:'\"]+|/root"
_ISOLATION = {
    "side-by-side": "both up at once and asked in turn",
    "alternate": "one up at a time",
}
_MOST_LINES = 60

Masked = Callable[[str], str]


def upstream(report: RunReport, home: str | None = None) -> str:
    """Markdown to paste; of the servers' commands nothing is left out but the name of the home folder, which is ``~``.

    ``home`` is one that is not under /home, /Users or /root.
    """
    masked = _mask(home)
    parts = [line for judged in report.judged for line in _campaign(report, judged, masked)]
    return "\n".join(parts or ["Nothing was measured."]).rstrip() + "\n"


def _campaign(report: RunReport, judged: Judged, masked: Masked) -> Iterator[str]:
    campaign, base = judged.campaign, judged.compared.base if judged.compared else None
    yield f"### MTP against plain decoding, flag set {for_markdown(campaign.flag_set)}"
    yield ""
    yield for_markdown(masked(_provenance(report, campaign)), 2000)
    yield ""
    if judged.compared is not None:
        yield for_markdown(masked(f"Compared: {sides(judged, judged.compared)}."))
        yield ""
    yield from _commands(campaign, "", masked)
    if base is not None:
        yield from _commands(base, "base, ", masked)
    for one in (*campaign.failures, *(base.failures if base else ())):
        yield from _failure(one, masked)
    yield from table(_HEADER, (_cells(judged, one, masked) for one in judged.results))
    yield ""
    yield from _losses(judged, masked)
    yield _method(judged)
    yield ""


def _provenance(report: RunReport, campaign: Campaign) -> str:
    """Card, model, build, n-max, KV, context and method: what users of a card ask each other for."""
    machine, around, flags = report.machine, campaign.circumstances, campaign.circumstances.flags
    kv = [flags.get(f"cache_type_{which}") for which in "kv"]
    return ", ".join(
        [
            _card(machine),
            around.model_label,
            f"build {around.build_label}",
            f"n-max {flags.get('n_max', 'unset')}",
            f"p-min {flags.get('p_min', 'unset')}",
            f"KV {kv[0] or 'default'}/{kv[1] or 'default'}" if any(kv) else "KV default",
            f"ctx {flags.get('ctx', 'unset')}",
            f"measured by {report.tool} ({len(campaign.valid)} blocks of fresh servers, {around.isolation}) "
            f"at {report.created_at}",
        ]
    )


def _card(machine: dict[str, str]) -> str:
    if "gpu" not in machine:
        return spoken(machine)
    told = [
        f"{said}{machine[name]}{unit}"
        for name, said, unit in (("driver", "driver ", ""), ("power_limit_w", "", " W"), ("gpu_memory_gib", "", " GiB"))
        if name in machine
    ]
    return f"{machine['gpu']} ({', '.join(told)})" if told else machine["gpu"]


def _commands(campaign: Campaign, side: str, masked: Masked) -> Iterator[str]:
    """One command of each arm; those of other blocks differ in port, alias and key file."""
    blocks = campaign.valid or campaign.blocks
    for start in sorted(blocks[0].starts, key=lambda one: one.arm.value, reverse=True) if blocks else ():
        yield f"{side}{start.arm.value}:"
        yield from _fenced([masked(start.command)])


def _failure(one: ArmFailure, masked: Masked) -> Iterator[str]:
    yield f"The {one.arm.value} arm failed in {one.stage.value}:"
    yield from _fenced(masked(one.message).splitlines()[:_MOST_LINES])


def _fenced(lines: Sequence[str]) -> Iterator[str]:
    """As they are, in a fence that nothing in them can close."""
    shown = [one_line(line) for line in lines]
    longest = max((len(found) for line in shown for found in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from shown
    yield fence
    yield ""


def _cells(judged: Judged, one: ClassResult, masked: Masked) -> tuple[str, ...]:
    name, counts = for_markdown(one.prompt_class), one.acceptance
    if counts is None:
        return (name, "-", "-", one.speed.outcome.value, *("-",) * (len(_HEADER) - 4))
    tau = f"{counts.tau:.2f}"
    return (
        name,
        _moved(one, "plain_tps", 1),
        _moved(one, "mtp_tps", 1),
        _moved(one, "speedup", 2, "x"),
        _interval(one),
        tau if one.against is None else f"{one.tau_then:.2f} → {tau}",
        "-" if counts.share is None else f"{counts.share:.3f} ({counts.accepted}/{counts.drafted})",
        _moved(one, "step_cost", 2),
        _baseline(one) if judged.compared is None else _label(judged.compared.base, masked),
    )


def _moved(one: ClassResult, field: str, digits: int, unit: str = "") -> str:
    """A quantity; of a comparison from what to what."""
    values = [getattr(side, field) for side in (one.against, one) if side is not None]
    return " → ".join("-" if value is None else f"{value:.{digits}f}{unit}" for value in values)


def _label(campaign: Campaign, masked: Masked) -> str:
    return for_markdown(masked(campaign.circumstances.build_label))


def _interval(one: ClassResult) -> str:
    """Of the speedup; of a comparison that of the change of mtp tok/s, which is what is judged there."""
    if one.against is not None:
        return f"mtp {one.against.mtp - 1:+.1%} \\[{one.against.low - 1:+.1%}, {one.against.high - 1:+.1%}\\]"
    return "-" if one.low is None or one.high is None else f"\\[{one.low:.2f}, {one.high:.2f}\\]"


def _baseline(one: ClassResult) -> str:
    if one.limit is None:
        return "none"
    return f"{one.limit.baseline:.2f}x" if one.limit.baseline is not None else f"floor {one.limit.speedup:.2f}x"


def _losses(judged: Judged, masked: Masked) -> Iterator[str]:
    """Why each red verdict is red, the same sentence once."""
    said = grouped((name, verdict) for name, verdict in verdicts(judged) if verdict.outcome.lost)
    for verdict, names in said.items():
        reason = f"{outcome_and_cause(verdict)}: {first_line(masked(verdict.reason))}"
        yield f"- {for_markdown(', '.join(names))}: {for_markdown(reason)}"
    if said:
        yield ""


def _method(judged: Judged) -> str:
    """How it was measured, in two sentences."""
    around = judged.campaign.circumstances
    up = _ISOLATION.get(around.isolation, "started in turn")
    tokens = around.request.get("tokens")
    asked = f"{for_markdown(tokens)} tokens each, temperature 0" if tokens else "temperature 0"
    levels = sorted({one.against.level if one.against else one.level or 0.0 for one in judged.results} - {0.0})
    level = f" at {' and '.join(f'{level:.1%}' for level in levels)}" if levels else ""
    return (
        f"Every block starts fresh servers of both arms in balanced order, {up}, and gives them the same prompts "
        f"({asked}). From the servers' own counts and times, tok/s is (n - 1) / T because the first token is free, "
        "the speedup is the ratio of times per token within a block, tau is (n - 1) / (n - 1 - accepted), step cost is "
        f"tau / speedup, and intervals are two-sided t intervals over the logs of the blocks{level}."
    )


def _mask(home: str | None) -> Masked:
    own = f"{re.escape(home.rstrip('/'))}|" if home and home.rstrip("/") else ""
    under_home = re.compile(rf"(?<![\w./~-])(?:{own}{_HOMES})(?=[/\s:'\",;)]|$)")
    return lambda text: under_home.sub("~", text)
