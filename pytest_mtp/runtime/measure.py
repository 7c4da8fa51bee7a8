"""Measure campaigns: start fresh servers for every block, ask them in balanced order, keep what they say.

When to stop is the caller's to decide; what broke a precondition makes a block INVALID, never a number.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.gguf_header import Header
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.mtp_layer import explained
from pytest_mtp.core.precondition import complaint, counted
from pytest_mtp.core.profile import MeasureTable, PromptClass, RequestTable
from pytest_mtp.core.request import Request
from pytest_mtp.core.sample import ArmFailure, Block, Campaign, Circumstances, Sample, Stage, Start
from pytest_mtp.core.schedule import Order, block_order, request_order
from pytest_mtp.core.server_log import debug_build, logged_memory, offloaded_layers
from pytest_mtp.core.server_spec import Arm, ServerSpec
from pytest_mtp.core.telemetry import Telemetry
from pytest_mtp.core.validity import Conditions, invalid_reason
from pytest_mtp.errors import MeasureError, ServerError
from pytest_mtp.runtime.clock import CampaignClock
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.server import Server, serve
from pytest_mtp.runtime.telemetry.absent import Absent
from pytest_mtp.runtime.telemetry.protocol import Watch
from pytest_mtp.runtime.telemetry.sampler import sampled


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
    conditions: Conditions = field(default_factory=Conditions)
    """What a block must have been measured under to count."""
    watch: Watch = Absent
    """Opens what looks at the cards while requests run."""
    bandwidth: Callable[[], float] | None = None
    """Reads this machine's memory before every block, bytes per second; ``None`` where cards hold the weights."""
    header: Header | None = None
    """The model's, to tell why a server does not load it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the servers see besides those of this process: the cards that they are held to."""

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

    def __init__(self, arm: Arm, stage: Stage, message: str) -> None:
        super().__init__(message)
        self.failure = ArmFailure(arm=arm, stage=stage, message=message)


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
    clock = CampaignClock(flag_set=plan.flag_set, looks=plan.looks, deadline=plan.deadline)
    while campaign.stopped is None and not enough(campaign):
        campaign = _with_next_block(campaign, plan, clock, progress)
        yield campaign


def _with_next_block(campaign: Campaign, plan: Plan, clock: CampaignClock, progress: Progress) -> Campaign:
    """The campaign with one more block, or with the reason why there is none."""
    reason = clock.spent(len(campaign.valid)) or _hopeless(campaign, plan)
    if reason is not None:
        return replace(campaign, stopped=reason)
    index = len(campaign.blocks)
    said = clock.prefix(len(campaign.valid), progress)
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
    able = None if plan.bandwidth is None else plan.bandwidth()
    by_isolation = {Isolation.SIDE_BY_SIDE: _side_by_side, Isolation.ALTERNATE: _alternate}
    try:
        starts, measuring_s = by_isolation[plan.isolation](plan, index, order, progress)
    except (ServerError, MeasureError) as error:
        return _invalid(index, plan, str(error))
    invalid = invalid_reason(starts, plan.conditions)
    return Block(
        index=index, order=order, starts=starts, measuring_s=measuring_s, memory_bandwidth=able, invalid=invalid
    )


def _side_by_side(plan: Plan, index: int, order: Order, progress: Progress) -> tuple[tuple[Start, ...], float]:
    """Both servers up, one asked at a time, the leading arm alternating from pair to pair."""
    with ExitStack() as stack:
        servers = {arm: stack.enter_context(_started(plan, arm, str(index), progress)) for arm in order}
        sampler = stack.enter_context(sampled(plan.watch, {arm: server.pid for arm, server in servers.items()}))
        samples: dict[Arm, list[Sample]] = {arm: [] for arm in order}
        began = time.monotonic()
        for pair, prompt_class in plan.rounds():
            progress(f"{prompt_class.name} {pair + 1}/{plan.measure.pairs}")
            for arm in request_order(order, pair):
                with sampler.during(arm):
                    samples[arm].append(_sample(plan, servers[arm], prompt_class, pair))
        measuring_s = time.monotonic() - began
        return tuple(_start(servers[arm], samples[arm], sampler.telemetry(arm)) for arm in order), measuring_s


def _alternate(plan: Plan, index: int, order: Order, progress: Progress) -> tuple[tuple[Start, ...], float]:
    """One server at a time, each asked everything."""
    starts: list[Start] = []
    measuring_s = 0.0
    for arm in order:
        with _started(plan, arm, str(index), progress) as server, sampled(plan.watch, {arm: server.pid}) as sampler:
            began = time.monotonic()
            samples = []
            for pair, prompt_class in plan.rounds():
                progress(f"{arm.value} {prompt_class.name} {pair + 1}/{plan.measure.pairs}")
                with sampler.during(arm):
                    samples.append(_sample(plan, server, prompt_class, pair))
            measuring_s += time.monotonic() - began
            starts.append(_start(server, samples, sampler.telemetry(arm)))
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
                    environment=plan.environment,
                )
            )
        except ServerError as error:
            raise _ArmFailed(arm, Stage.START, explained(str(error), plan.header, error.log_tail)) from error
        _warm_up(plan, server, arm, progress)
        yield server


def _warm_up(plan: Plan, server: Server, arm: Arm, progress: Progress) -> None:
    progress(f"{arm.value} warming up")
    try:
        for turn in range(plan.measure.warmup):
            server.ask(plan.ask(plan.classes[turn % len(plan.classes)]))
    except (ServerError, MeasureError) as error:
        raise _ArmFailed(arm, Stage.WARM_UP, str(error)) from error


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


def _start(server: Server, samples: Sequence[Sample], telemetry: Telemetry) -> Start:
    log = server.log_text()
    memory = logged_memory(log)
    return Start(
        arm=server.arm,
        command=server.command_line,
        load_s=server.load_s,
        samples=tuple(samples),
        offloaded=offloaded_layers(log),
        debug_build=debug_build(log),
        device_bytes=None if memory is None else memory.whole.device,
        telemetry=telemetry,
        log_tail=server.tail(),
    )
