"""What a machine has and lacks for a profile: facts in, findings out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pytest_mtp.core.amount import amount, memory_amount
from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import Card, CardProcess
from pytest_mtp.core.finding import Finding, State
from pytest_mtp.core.fitting import Room, fits
from pytest_mtp.core.footprint import footprint
from pytest_mtp.core.gguf_header import Header
from pytest_mtp.core.mtp_layer import mtp_complaint
from pytest_mtp.core.server_spec import ServerSpec

_BUILD_BYTES = 2 * 10**9
"""A tree, its objects and the binaries, while they are made; a CUDA build takes about that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """The model of the profile, as far as it is known without starting anything."""

    label: str
    size: int | None = None
    """Bytes; ``None`` where neither file nor profile tells."""
    here: bool = False
    """Whether it is on this disk already."""
    header: Header | None = None
    problem: str | None = None
    """Why there is no header."""
    from_hub: bool = False
    token: bool | None = None
    """Whether huggingface_hub finds one; ``None`` where none is of use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What compiles."""

    words: str
    """The tools with their versions."""
    lacks: tuple[str, ...] = ()
    """Sentences of what a build would be refused for."""
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server that the profile will start."""

    flag_set: str
    spec: ServerSpec

    def __str__(self) -> str:
        return f"{self.flag_set} {self.spec.arm.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was found on a machine for one profile."""

    machine: str
    """System, processor and cores, in words."""
    memory_total_bytes: int
    memory_free_bytes: int
    backend: Backend
    tools: Tools
    cards: tuple[Card, ...] = ()
    """Those that will be measured on."""
    other_cards: int = 0
    card_problem: str | None = None
    processes: tuple[CardProcess, ...] | None = ()
    """Others on these cards; ``None``: the driver does not tell."""
    model: ModelFacts
    servers: tuple[Server, ...]
    cache: str
    """The folder of ours, in words."""
    cache_free_bytes: int
    cache_holds: str
    cache_problem: str | None = None
    """Why nothing can be kept there."""
    source_problem: str | None = None
    """Why what lies on this disk is no llama.cpp; what must be fetched is not looked at."""
    hub_cache: str
    hub_free_bytes: int


def examine(facts: Facts) -> tuple[Finding, ...]:
    """Every finding, in the order of the page."""
    return tuple(finding for look in _LOOKS for finding in look(facts))


def _machine(facts: Facts) -> Iterator[Finding]:
    memory = f"{memory_amount(facts.memory_total_bytes)}, {memory_amount(facts.memory_free_bytes)} free"
    yield Finding(State.HAVE, "machine", f"{facts.machine}, {memory}")


def _tools(facts: Facts) -> Iterator[Finding]:
    yield Finding(State.LACK if facts.tools.lacks else State.HAVE, "tools", facts.tools.words)
    yield from (Finding(State.LACK, "tools", lack) for lack in facts.tools.lacks)
    yield from (Finding(State.NOTE, "tools", hint) for hint in facts.tools.hints)


def _source(facts: Facts) -> Iterator[Finding]:
    if facts.source_problem is not None:
        yield Finding(State.LACK, "source", facts.source_problem)


def _backend(facts: Facts) -> Iterator[Finding]:
    yield Finding(State.HAVE, "backend", facts.backend.value)
    if facts.card_problem is not None:
        yield Finding(State.LACK, "card", facts.card_problem)


def _cards(facts: Facts) -> Iterator[Finding]:
    for card in facts.cards:
        told = [
            card.name,
            card.driver and f"driver {card.driver}",
            card.compute_capability and "compute capability {}.{}".format(*card.compute_capability),
            card.memory_total_bytes and f"{memory_amount(card.memory_total_bytes)}",
            card.memory_free_bytes is not None and f"{memory_amount(card.memory_free_bytes)} free",
        ]
        yield Finding(State.HAVE, f"card {card.index}", ", ".join(str(word) for word in told if word))
        yield from _power(card)
    if facts.other_cards:
        yield Finding(State.NOTE, "card", f"{facts.other_cards} more here; choose another with --gpu-id (--mtp-gpu-id)")


def _power(card: Card) -> Iterator[Finding]:
    subject, limit, default = f"card {card.index}", card.power_limit_w, card.default_power_limit_w
    if limit is not None and default is not None and limit < default:
        said = (
            f"power limit {limit:.0f} W of {default:.0f} W: a fair choice, but published figures are not reached, and "
            "a baseline belongs to the limit"
        )
        yield Finding(State.NOTE, subject, said)
    elif limit is not None:
        yield Finding(State.HAVE, subject, f"power limit {limit:.0f} W")
    if card.persistence is False:
        said = "persistence mode is off, so the driver is loaded anew for every run; mend: sudo nvidia-smi -pm 1"
        yield Finding(State.NOTE, subject, said)


def _processes(facts: Facts) -> Iterator[Finding]:
    if facts.processes is None and facts.cards:
        yield Finding(State.NOTE, "in use", "the driver does not tell which processes use the card")
    for process in facts.processes or ():
        said = f"{process} computes on the card, which makes every block INVALID; stop it first"
        yield Finding(State.LACK, "in use", said)


def _model(facts: Facts) -> Iterator[Finding]:
    model = facts.model
    size = "size not told" if model.size is None else amount(model.size)
    place = "on this disk" if model.here else _elsewhere(model)
    yield Finding(State.HAVE, "model", f"{model.label}, {size}, {place}")
    if model.header is not None:
        header = model.header
        said = (
            f"{header.architecture}, {header.quantization}, {header.block_count} blocks, {header.nextn_layers} of MTP"
        )
        yield Finding(State.HAVE, "header", said)
        if (complaint := mtp_complaint(header)) is not None:
            yield Finding(State.LACK, "header", complaint)
    elif model.problem is not None:
        yield Finding(State.LACK, "header", model.problem)
    if model.token is not None:
        token = "a token is there" if model.token else "no token; only gated and private repositories want one"
        yield Finding(State.HAVE, "hub", token)


def _elsewhere(model: ModelFacts) -> str:
    if model.from_hub:
        return "to be downloaded"
    return "to be written" if model.problem is None else "not to be had"


def _memory(facts: Facts) -> Iterator[Finding]:
    header, size = facts.model.header, facts.model.size
    if header is None and size is not None:
        said = f"{memory_amount(size)} of weights; caches cannot be computed without the file's header"
        yield Finding(State.NOTE, "memory", said)
    if header is None:
        return
    for server in facts.servers:
        yield fits(str(server), header, server.spec, _room(facts))
    assumed = {said for server in facts.servers for said in footprint(header, server.spec).assumed}
    yield from (Finding(State.NOTE, "memory", said) for said in sorted(assumed))


def _room(facts: Facts) -> Room:
    """Where the model computes; a card that is not here has no size."""
    if facts.backend is Backend.CPU:
        total, free = facts.memory_total_bytes, facts.memory_free_bytes
        return Room(name="memory", on_card=False, total=total, free=free)
    totals = [card.memory_total_bytes for card in facts.cards]
    frees = [card.memory_free_bytes for card in facts.cards]
    name = "the cards" if len(facts.cards) > 1 else "the card"
    return Room(name=name, on_card=True, total=_sum(totals), free=_sum(frees))


def _sum(told: list[int | None]) -> int | None:
    """The sum of what all cards tell; ``None`` where one does not, and of no card."""
    known = [one for one in told if one is not None]
    return sum(known) if known and len(known) == len(told) else None


def _disk(facts: Facts) -> Iterator[Finding]:
    state = State.HAVE if facts.cache_free_bytes >= _BUILD_BYTES else State.LACK
    mend = "" if state is State.HAVE else f"; a build takes {amount(_BUILD_BYTES)} while it is made: free space"
    yield Finding(state, "disk", f"{facts.cache}: {amount(facts.cache_free_bytes)} free{mend}")
    model = facts.model
    if model.from_hub and not model.here and model.size is not None and model.size > facts.hub_free_bytes:
        said = f"{facts.hub_cache}: {amount(facts.hub_free_bytes)} free, the model takes {amount(model.size)}"
        yield Finding(State.LACK, "disk", f"{said}; free space, or move the cache with HF_HUB_CACHE")
    if facts.cache_problem is None:
        yield Finding(State.HAVE, "cache", facts.cache_holds)
    else:
        yield Finding(State.LACK, "cache", facts.cache_problem)


_LOOKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _machine,
    _source,
    _tools,
    _backend,
    _cards,
    _processes,
    _model,
    _memory,
    _disk,
)
