"""What a run was measured with, and the commands that start its servers by hand."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pytest_mtp.core.amount import memory_amount
from pytest_mtp.core.energy import energy_per_token
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.sample import Campaign, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.stability import working_share
from pytest_mtp.reports.html.numeral import NONE, share

_KEY_FILE = "--api-key-file"
_WIDEST = 78
_ALONE = 2


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of the table: one value, or head's and base's."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether head and base differ in it."""
        return len(set(self.values)) > 1


@dataclass(frozen=True, slots=True)
class Facts:
    """One table."""

    title: str
    columns: tuple[str, ...]
    """Empty, or head and base."""
    rows: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """How one server was started."""

    title: str
    text: str


def facts(judged: Judged) -> tuple[Facts, ...]:
    """Of one campaign, and of its base beside it: circumstances, flags, request, prompts, environment; the gate."""
    sides = [judged.campaign, *([judged.compared.base] if judged.compared else [])]
    columns = ("head", "base") if len(sides) > 1 else ()
    tables = [_joined(title, columns, [told(side) for side in sides]) for title, told in _TABLES.items()]
    return (*(one for one in tables if one.rows), Facts("Gate", (), tuple(_gate(judged.gate))))


def commands(judged: Judged) -> tuple[Command, ...]:
    """The last command of each arm that was started, of head and base alike."""
    sides = [("", judged.campaign)]
    if judged.compared is not None:
        sides = [("head, ", judged.campaign), ("base, ", judged.compared.base)]
    return tuple(one for side, campaign in sides for one in _commands(side, campaign))


def by_hand(command: str) -> str:
    """A command over several lines, without the key file, which went with the run."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if _KEY_FILE in words:
        at = words.index(_KEY_FILE)
        del words[at : at + 2]
    options: list[str] = [""]
    for word in words:
        if word.startswith("-") and not word.removeprefix("-").replace(".", "", 1).isdigit():
            options.append("")
        options[-1] = f"{options[-1]} {shlex.quote(word)}".strip()
    return " \\\n  ".join(_filled([one for one in options if one]))


def _filled(options: list[str]) -> Iterator[str]:
    """The options on as few lines as hold them, the program and its model each on one of its own."""
    line = ""
    for place, option in enumerate(options):
        if line and (place <= _ALONE or len(line) + len(option) > _WIDEST):
            yield line
            line = ""
        line = f"{line} {option}".strip()
    yield line


def _commands(side: str, campaign: Campaign) -> Iterator[Command]:
    last = {start.arm: start for block in campaign.blocks for start in block.starts}
    for arm in Arm:
        if arm in last and last[arm].command:
            yield Command(f"{side}{arm.value} arm", by_hand(last[arm].command))


def _joined(title: str, columns: tuple[str, ...], sides: list[dict[str, str]]) -> Facts:
    names = dict.fromkeys(name for side in sides for name in side)
    return Facts(title, columns, tuple(Fact(name, tuple(side.get(name, NONE) for side in sides)) for name in names))


def _measured(campaign: Campaign) -> dict[str, str]:
    around = campaign.circumstances
    told = {
        "build": around.build_label,
        "build identity": around.build,
        "model": around.model_label,
        "model identity": around.model,
        "machine": around.fingerprint,
        "servers": around.isolation,
        "started": campaign.started_at,
        "blocks that count": str(len(campaign.valid)),
        "blocks that do not": str(len(campaign.invalid)),
        "blocks from before an interruption": str(campaign.resumed) if campaign.resumed else None,
        "weights read per token": _bytes(around.bytes_per_token),
        "memory of the cards": _bytes(around.card_memory_bytes),
        "bandwidth of the memory": f"{around.memory_bandwidth / 1e9:.1f} GB/s" if around.memory_bandwidth else None,
        "servers busy": share(working_share(campaign)) if campaign.valid else None,
        "ended early": campaign.stopped,
        **{f"{arm.value} arm": said for arm in Arm if (said := _server(campaign, arm))},
    }
    return {name: value for name, value in told.items() if value}


def _server(campaign: Campaign, arm: Arm) -> str:
    """What the servers of an arm said of themselves."""
    starts = [start for block in campaign.valid for start in block.starts if start.arm is arm]
    if not starts:
        return ""
    said = [f"{len(starts)} starts, loaded in {sum(one.load_s for one in starts) / len(starts):.1f} s each"]
    said += _said(starts[-1])
    joules = energy_per_token(campaign, arm)
    return "; ".join([*said, f"{joules:.2f} J per token"] if joules else said)


def _said(start: Start) -> Iterator[str]:
    if start.offloaded is not None:
        yield f"{start.offloaded[0]} of {start.offloaded[1]} layers on the card"
    if start.device_bytes is not None:
        yield f"{memory_amount(start.device_bytes)} of the card's memory"
    if start.debug_build:
        yield "compiled without optimization"
    throttle = start.telemetry.throttle if start.telemetry else {}
    yield from (f"{reason} in {part:.0%} of the last start's readings" for reason, part in throttle.items())


def _bytes(size: int | None) -> str | None:
    return memory_amount(size) if size else None


_TABLES: dict[str, Callable[[Campaign], dict[str, str]]] = {
    "Measured": _measured,
    "Server flags": lambda campaign: campaign.circumstances.flags,
    "Request": lambda campaign: campaign.circumstances.request,
    "Prompts, by digest": lambda campaign: campaign.circumstances.prompts,
    "Environment": lambda campaign: campaign.circumstances.environment,
}


def _gate(gate: Gate) -> Iterator[Fact]:
    told = {
        "speedup may fall by": f"{gate.tolerance:.1%}",
        "tokens per step may fall by": f"{gate.tau_tolerance:.1%}",
        "tok/s may fall by": f"{gate.tps_tolerance:.1%}",
        "chance of error": f"{gate.alpha:.1%}",
        "looks, in blocks": ", ".join(map(str, gate.looks)),
        "blocks replaced at most": str(gate.replacements),
    }
    yield from (Fact(name, (value,)) for name, value in told.items())
