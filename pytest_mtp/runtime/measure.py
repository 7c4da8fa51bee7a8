"""Measure campaigns: start fresh servers for every block, ask them in balanced order, keep what they say.

When to stop is the caller's to decide; what broke a precondition makes a block INVALID, never a number.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.precondition import complaint, counted
from pytest_mtp.core.profile import MeasureTable, PromptClass, RequestTable
from pytest_mtp.core.request import Request
from pytest_mtp.core.sample import ArmFailure, Block, Campaign, Circumstances, Sample, Stage, Start
from pytest_mtp.core.schedule import Order, block_order, request_order
from pytest_mtp.core.server_log import offloaded_layers
from pytest_mtp.core.server_spec import Arm, ServerSpec
from pytest_mtp.errors import MeasureError, ServerError
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.server import Server, serve


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that one campaign needs; both arms are negotiated already."""

    flag_set: str
    binary: Path
    capabilities: Capabilities
    specs: Mapping[Arm, ServerSpec]
    arguments: Mapping[Arm, tuple[str, ...]]
    classes: tuple[PromptClass, ...]
    request: RequestTable
    measure: MeasureTable
    isolation: Isolation
    """Not AUTO: resolved by the caller."""
    circumstances: Circumstances
    folder: Path
    """Where logs and key files of this campaign's servers go."""
    looks: tuple[int, ...]
    replacements: int
    deadline: float | None = None
    """``time.monotonic()`` after which no further block starts; ``None`` is never."""

    def ask(self, prompt_class: PromptClass) -> Request:
        """The request of one class."""
        return Request(
            prompt=self.request.template.replace("{prompt}", prompt_class.prompt),
            n_predict=self.request.tokens,
            seed=self.request.seed,
            timeout_s=self.request.timeout_s,
        )

    def rounds(self) -> Iterator[tuple[int, PromptClass]]:
        """Every class once, then again: each class's pairs lie over the whole block, so that all meet its weather."""
        return ((pair, one) for pair in range(self.measure.pairs) for one in self.classes)


class _ArmFailed(Exception):
    """An arm did not come up, or did not survive its warm-up."""

    def __init__(self, arm: Arm, stage: Stage, error: ServerError | MeasureError) -> None:
        super().__init__(str(error))
        self.failure = ArmFailure(arm=arm, stage=stage, message=str(error))


def run_campaign(
    plan: Plan, started_at: str, enough: Callable[[Campaign], bool], progress: Progress
) -> Iterator[Campaign]:
    """Yield the campaign after every block until ``enough`` says so, the deadline passes or blocks stay invalid."""
    campaign = Campaign(
        flag_set=plan.flag_set,
        classes=tuple(one.name for one in plan.classes),
        circumstances=plan.circumstances,
        started_at=started_at,
    )
    clock = _Clock(plan)
    while campaign.stopped is None and not enough(campaign):
        campaign = _with_next_block(campaign, plan, clock, progress)
        yield campaign


def _with_next_block(campaign: Campaign, plan: Plan, clock: "_Clock", progress: Progress) -> Campaign:
    """The campaign with one more block, or with the reason why there is none."""
    reason = clock.spent(len(campaign.valid)) or _hopeless(campaign, plan)
    if reason is not None:
        return replace(campaign, stopped=reason)
    index = len(campaign.blocks)
    said = clock.prefix(campaign, progress)
    try:
        block = _measure_block(plan, index, said)
    except _ArmFailed as error:
        failures = _confirm(plan, index, error.failure, said)
        if failures:
            return replace(campaign, failures=failures)
        first = error.failure
        reason = f"the {first.arm.value} arm failed once in {first.stage.value}, not again: {first.message}"
        block = _invalid(index, plan, reason)
    clock.block_done()
    return replace(campaign, blocks=(*campaign.blocks, block))


def _hopeless(campaign: Campaign, plan: Plan) -> str | None:
    if len(campaign.invalid) <= plan.replacements:
        return None
    return f"{len(campaign.invalid)} blocks were invalid, {plan.replacements} may be measured again"


def _invalid(index: int, plan: Plan, reason: str) -> Block:
    return Block(index=index, order=_order(plan, index), starts=(), measuring_s=0.0, invalid=reason)


def _order(plan: Plan, index: int) -> Order:
    return block_order(index, plan.measure.order_seed)


def _confirm(plan: Plan, index: int, first: ArmFailure, progress: Progress) -> tuple[ArmFailure, ...]:
    """Start both arms once more, each alone: which of them cannot be started at all?"""
    failures = []
    for arm in Arm:
        try:
            with _started(plan, arm, f"{index}-again", progress):
                pass
        except _ArmFailed as error:
            failures.append(error.failure)
    # An arm that starts alone but not beside the other is no finding about speculation.
    return tuple(failures) if first.arm in {failure.arm for failure in failures} else ()


def _measure_block(plan: Plan, index: int, progress: Progress) -> Block:
    """One block; whatever goes wrong after warm-up makes it invalid with the reason."""
    order = _order(plan, index)
    by_isolation = {Isolation.SIDE_BY_SIDE: _side_by_side, Isolation.ALTERNATE: _alternate}
    try:
        starts, measuring_s = by_isolation[plan.isolation](plan, index, order, progress)
    except (ServerError, MeasureError) as error:
        return _invalid(index, plan, str(error))
    return Block(index=index, order=order, starts=starts, measuring_s=measuring_s)


def _side_by_side(plan: Plan, index: int, order: Order, progress: Progress) -> tuple[tuple[Start, ...], float]:
    """Both servers up, one asked at a time, the leading arm alternating from pair to pair."""
    with ExitStack() as stack:
        servers = {arm: stack.enter_context(_started(plan, arm, str(index), progress)) for arm in order}
        samples: dict[Arm, list[Sample]] = {arm: [] for arm in order}
        began = time.monotonic()
        for pair, prompt_class in plan.rounds():
            progress(f"{prompt_class.name} {pair + 1}/{plan.measure.pairs}")
            for arm in request_order(order, pair):
                samples[arm].append(_sample(plan, servers[arm], prompt_class, pair))
        measuring_s = time.monotonic() - began
        return tuple(_start(servers[arm], arm, samples[arm]) for arm in order), measuring_s


def _alternate(plan: Plan, index: int, order: Order, progress: Progress) -> tuple[tuple[Start, ...], float]:
    """One server at a time, each asked everything."""
    starts: list[Start] = []
    measuring_s = 0.0
    for arm in order:
        with _started(plan, arm, str(index), progress) as server:
            began = time.monotonic()
            samples = []
            for pair, prompt_class in plan.rounds():
                progress(f"{arm.value} {prompt_class.name} {pair + 1}/{plan.measure.pairs}")
                samples.append(_sample(plan, server, prompt_class, pair))
            measuring_s += time.monotonic() - began
            starts.append(_start(server, arm, samples))
    return tuple(starts), measuring_s


@contextmanager
def _started(plan: Plan, arm: Arm, name: str, progress: Progress) -> Iterator[Server]:
    """A server of one arm, up, proven and warm; ``_ArmFailed`` when it cannot be had."""
    progress(f"{arm.value} starting")
    with ExitStack() as stack:
        try:
            server = stack.enter_context(
                serve(
                    plan.binary,
                    plan.arguments[arm],
                    plan.specs[arm],
                    plan.folder / f"{plan.flag_set}-{name}-{arm.value}",
                    capabilities=plan.capabilities,
                    start_timeout_s=plan.measure.start_timeout_s,
                )
            )
        except ServerError as error:
            raise _ArmFailed(arm, Stage.START, error) from error
        _warm_up(plan, server, arm, progress)
        yield server


def _warm_up(plan: Plan, server: Server, arm: Arm, progress: Progress) -> None:
    progress(f"{arm.value} warming up")
    try:
        for turn in range(plan.measure.warmup):
            server.ask(plan.ask(plan.classes[turn % len(plan.classes)]))
    except (ServerError, MeasureError) as error:
        raise _ArmFailed(arm, Stage.WARM_UP, error) from error


def _sample(plan: Plan, server: Server, prompt_class: PromptClass, pair: int) -> Sample:
    """One measured request, checked; counters are read around the first pair of the mtp arm only."""
    count = server.arm is Arm.MTP and pair == 0
    before = server.client.accepted_per_position() if count else None
    answer = server.ask(plan.ask(prompt_class))
    after = server.client.accepted_per_position() if count else None
    if (broken := complaint(answer, plan.request.tokens, server.arm)) is not None:
        raise MeasureError(f"{server.arm.value} {prompt_class.name}: {broken}")
    return Sample(
        prompt_class=prompt_class.name,
        pair=pair,
        timings=answer.timings,
        wall_ms=answer.wall_ms,
        text_sha256=hashlib.sha256(answer.text.encode()).hexdigest(),
        accepted_per_position=counted(before, after),
    )


def _start(server: Server, arm: Arm, samples: list[Sample]) -> Start:
    return Start(
        arm=arm,
        command=server.command_line,
        load_s=server.load_s,
        samples=tuple(samples),
        offloaded=offloaded_layers(server.log_text()),
        log_tail=server.tail(),
    )


class _Clock:
    """What a campaign has taken so far, and what it may still take."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._began = time.monotonic()
        self._blocks = 0

    def block_done(self) -> None:
        self._blocks += 1

    @property
    def _block_s(self) -> float | None:
        return (time.monotonic() - self._began) / self._blocks if self._blocks else None

    def spent(self, valid: int) -> str | None:
        """Why the next block must not start; ``None`` while there is time for it."""
        if self._plan.deadline is None:
            return None
        if time.monotonic() + (self._block_s or 0.0) <= self._plan.deadline:
            return None
        return f"the time limit ended it after {valid} valid blocks (--mtp-max-time)"

    def prefix(self, campaign: Campaign, progress: Progress) -> Progress:
        """``progress`` with the block and the time left in front."""
        done = len(campaign.valid)
        look = next((look for look in self._plan.looks if look > done), self._plan.looks[-1])
        left = "" if self._block_s is None else f", {_minutes(self._block_s * (look - done))} to the next look"
        said = f"{self._plan.flag_set}: block {done + 1} of {look} (at most {self._plan.looks[-1]}){left}"
        return lambda text: progress(f"{said}: {text}")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"  # noqa: PLR2004 - reads well
