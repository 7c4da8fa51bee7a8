"""All that a campaign needs before its first server starts."""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pytest_mtp.core.gguf_header import Header
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.profile import MeasureTable, PromptClass
from pytest_mtp.core.request import Request
from pytest_mtp.core.request_table import RequestTable
from pytest_mtp.core.sample import Campaign, Circumstances
from pytest_mtp.core.schedule import block_order
from pytest_mtp.core.server_spec import Arm, ServerSpec
from pytest_mtp.core.side import Side
from pytest_mtp.core.validity import Conditions
from pytest_mtp.runtime.filler import Filler
from pytest_mtp.runtime.journal import BLOCK_FORM, Journal, Journals
from pytest_mtp.runtime.launch import Launch
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.telemetry.absent import Absent
from pytest_mtp.runtime.telemetry.protocol import Watch

Measured = Mapping[Side, Campaign]
"""What was measured so far: a campaign per side, the n-th blocks of all being one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seat:
    """One server of every block, and how it is started; a value of its own, also where two are alike."""

    side: Side = Side.HEAD
    arm: Arm
    spec: ServerSpec
    launch: Launch
    header: Header | None = None
    """The model's, to tell why a server does not load it."""

    def __str__(self) -> str:
        return self.arm.value if self.side is Side.HEAD else f"{self.side.value}-{self.arm.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that one campaign needs; every arm is negotiated already."""

    flag_set: str
    seats: tuple[Seat, ...]
    circumstances: Mapping[Side, Circumstances]
    classes: tuple[PromptClass, ...]
    request: RequestTable
    measure: MeasureTable
    isolation: Isolation
    """Not AUTO: resolved by the caller."""
    logs: Path
    """Where the run's servers have their logs and key files."""
    part: str = ""
    """What tells the campaign from the run's others of this flag set; empty for the gate's own."""
    looks: tuple[int, ...]
    replacements: int
    deadline: float | None = None
    """``time.monotonic()`` after which no further block starts; ``None`` is never."""
    conditions: Conditions = field(default_factory=Conditions)
    """What a block must have been measured under to count."""
    watch: Watch = Absent
    """Opens what looks at the cards while requests run."""
    bandwidth: Callable[[], float] | None = None
    """Reads this machine's memory before every block, bytes per second; ``None`` where cards hold the weights."""
    filler: Filler = field(default_factory=Filler)
    """Running text for prompts of a given length."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the servers see besides those of this process: the cards that they are held to."""
    rules: Mapping[str, object] = field(default_factory=dict)
    """What its blocks will be judged by, as JSON values."""
    journals: Journals | None = None
    """Where finished blocks are kept until the run is over; ``None`` keeps none."""

    @property
    def folder(self) -> Path:
        """Where logs and key files of this campaign's servers go."""
        return self.logs / self.part

    @property
    def least_s(self) -> float:
        """What a block takes at least, where it goes by time."""
        lives = len(self.seats) if self.isolation is Isolation.ALTERNATE else 1
        return (self.measure.for_s or 0.0) * lives

    @property
    def recipe(self) -> dict[str, object]:
        """All that a block depends on, as JSON values: blocks of equal recipes belong to one campaign."""
        return {
            "name": "-".join(filter(None, (self.flag_set, self.part))),
            "flag_set": self.flag_set,
            "part": self.part,
            "seats": {str(seat): seat.launch.identity for seat in self.seats},
            "circumstances": {side.value: asdict(one) for side, one in self.circumstances.items()},
            "classes": [one.name for one in self.classes],
            "measure": {name: str(value) for name, value in asdict(self.measure).items()},
            "looks": list(self.looks),
            "replacements": self.replacements,
            "request": {name: str(value) for name, value in asdict(self.request).items()},
            "rules": dict(self.rules),
            "libraries": os.environ.get("LD_LIBRARY_PATH", ""),
            "form": BLOCK_FORM,
            "locked_mhz": self.conditions.locked_mhz,
        }

    def journal(self, progress: Progress) -> Journal | None:
        """What keeps this campaign's blocks; ``None`` where they are not kept."""
        return None if self.journals is None else self.journals.of(self.recipe, progress)

    def seat(self, arm: Arm, side: Side = Side.HEAD) -> Seat:
        """The server of one arm."""
        return next(one for one in self.seats if (one.side, one.arm) == (side, arm))

    def order(self, index: int) -> tuple[Seat, ...]:
        """In which order the servers of a block start."""
        return block_order(self.seats, index, self.measure.order_seed)

    def ask(self, prompt_class: PromptClass) -> Request:
        """The request of one class."""
        return Request(
            prompt=self.request.template.replace("{prompt}", prompt_class.prompt),
            n_predict=self.request.tokens,
            seed=self.request.seed,
            timeout_s=self.request.timeout_s,
            temperature=None if self.seats[0].spec.sampled else 0.0,
            stream=self.request.stream,
            chat=self.request.chat,
        )

    @property
    def turns(self) -> tuple[tuple[PromptClass, ...], ...]:
        """What is asked one after the other: each class, or all of them at once."""
        return (self.classes,) if self.measure.at_once else tuple((one,) for one in self.classes)

    def empty(self, started_at: str) -> Measured:
        """The campaigns before their first block."""
        return {
            side: Campaign(
                flag_set=self.flag_set,
                classes=tuple(one.name for one in self.classes),
                circumstances=told,
                started_at=started_at,
            )
            for side, told in self.circumstances.items()
        }


def against(head: Plan, base: Plan, isolation: Isolation) -> Plan:
    """Both plans in the same blocks: four arms and, as control, the base's mtp arm once more."""
    of_base = tuple(replace(seat, side=Side.BASE) for seat in base.seats)
    control = replace(base.seat(Arm.MTP), side=Side.CONTROL)
    told = base.circumstances[Side.HEAD]
    sides = {Side.HEAD: head.circumstances[Side.HEAD], Side.BASE: told, Side.CONTROL: told}
    return replace(
        head,
        seats=(*head.seats, *of_base, control),
        circumstances={side: replace(one, isolation=isolation.value) for side, one in sides.items()},
        isolation=isolation,
        conditions=replace(head.conditions, isolation=isolation),
    )
