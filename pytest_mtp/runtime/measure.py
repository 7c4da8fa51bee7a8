"""Measure campaigns: start fresh servers for every block, ask them in balanced order, keep what they say.

When to stop is the caller's to decide; what broke a precondition makes a block INVALID, never a number.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.mtp_layer import explained
from pytest_mtp.core.sample import ArmFailure, Block, Campaign, Sample, Stage, Start
from pytest_mtp.core.schedule import request_order
from pytest_mtp.core.server_log import debug_build, logged_memory, offloaded_layers
from pytest_mtp.core.side import Side
from pytest_mtp.core.telemetry import Telemetry
from pytest_mtp.core.validity import invalid_reason
from pytest_mtp.errors import MeasureError, ServerError
from pytest_mtp.runtime.asking import Asking, request_of
from pytest_mtp.runtime.clock import CampaignClock
from pytest_mtp.runtime.engines.protocol import Running
from pytest_mtp.runtime.plan import Measured, Plan, Seat
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.telemetry.sampler import sampled

Order = tuple[Seat, ...]


class _ArmFailed(Exception):
    """An arm did not come up, or did not survive its warm-up."""

    def __init__(self, seat: Seat, stage: Stage, message: str) -> None:
        super().__init__(message)
        self.seat = seat
        self.failure = ArmFailure(arm=seat.arm, stage=stage, message=message)


def run_campaign(
    plan: Plan, started_at: str, enough: Callable[[Measured], bool], progress: Progress
) -> Iterator[Measured]:
    """Yield what was measured, before the first block and after every one.

    It ends when that is ``enough``, at the deadline, or when hope is gone of valid blocks. Before the first block there
    is what an interrupted run left, where that is taken up.
    """
    measured, journal = plan.empty(started_at), plan.journal(progress)
    if journal is not None:
        measured = journal.taken_up(measured)
    yield measured
    clock = CampaignClock(plan.flag_set, plan.looks, plan.deadline, plan.least_s)
    while measured[Side.HEAD].stopped is None and not enough(measured):
        measured = _with_next_block(measured, plan, clock, progress)
        if journal is not None:
            journal.keep(measured)
            journal.out_of_time = clock.ended
        yield measured


def run_in_turn(
    plans: Mapping[str, Plan], started_at: str, done: Callable[[Measured], bool], progress: Progress
) -> Iterator[dict[str, Campaign]]:
    """A block of every plan, then again, until all are done: the n-th blocks of all meet the same weather.

    Yields the campaigns, by the names of their plans, after every round; of an interrupted run also before the first.
    """
    running = {name: run_campaign(plan, started_at, done, progress) for name, plan in plans.items()}
    campaigns = {name: next(one)[Side.HEAD] for name, one in running.items()}
    if any(one.blocks for one in campaigns.values()) and _level(campaigns.values()):
        yield dict(campaigns)
    while running:
        # An interrupted round goes on where it was.
        fewest = min(len(campaigns[name].blocks) for name in running)
        for name in [one for one in running if len(campaigns[one].blocks) == fewest]:
            measured = next(running[name], None)
            if measured is None:
                del running[name]
            else:
                campaigns[name] = measured[Side.HEAD]
        yield dict(campaigns)


def _level(campaigns: Iterable[Campaign]) -> bool:
    return len({len(one.blocks) for one in campaigns}) == 1


def _with_next_block(measured: Measured, plan: Plan, clock: CampaignClock, progress: Progress) -> Measured:
    """What was measured with one more block, or with the reason why there is none."""
    head = measured[Side.HEAD]
    reason = clock.spent(len(head.valid)) or _hopeless(len(head.invalid), plan)
    if reason is not None:
        return {side: replace(one, stopped=reason) for side, one in measured.items()}
    index = len(head.blocks)
    said = clock.prefix(len(head.valid), progress)
    try:
        blocks = _measure_block(plan, index, said)
    except _ArmFailed as error:
        failures = _confirm(plan, index, error.seat, said)
        if failures:
            return {side: replace(one, failures=failures.get(side, ())) for side, one in measured.items()}
        reason = f"the {error.seat} arm failed once in {error.failure.stage.value}, not again: {error.failure.message}"
        blocks = _invalid(index, plan, reason)
    clock.block_done()
    return {side: replace(one, blocks=(*one.blocks, blocks[side])) for side, one in measured.items()}


def _hopeless(invalid: int, plan: Plan) -> str | None:
    if invalid <= plan.replacements:
        return None
    return f"{invalid} blocks were invalid, {plan.replacements} may be measured again"


def _invalid(index: int, plan: Plan, reason: str) -> Mapping[Side, Block]:
    order = plan.order(index)
    return _sides(plan, order, {}, Block(index=index, order=(), starts=(), measuring_s=0.0, invalid=reason))


def _confirm(plan: Plan, index: int, first: Seat, progress: Progress) -> Mapping[Side, tuple[ArmFailure, ...]]:
    """Start every arm once more, each alone: which of them cannot be started at all?"""
    failures: dict[Side, tuple[ArmFailure, ...]] = {}
    failed = []
    # The control is the base's mtp arm again.
    for seat in (one for one in plan.seats if one.side is not Side.CONTROL):
        try:
            with _started(plan, seat, f"{index}-again", progress):
                pass
        except _ArmFailed as error:
            failed.append(seat)
            failures[seat.side] = (*failures.get(seat.side, ()), error.failure)
    # An arm that starts alone but not beside the others is no finding about speculation.
    return failures if first in failed else {}


def _measure_block(plan: Plan, index: int, progress: Progress) -> Mapping[Side, Block]:
    """One block; whatever goes wrong after warm-up makes it invalid with the reason."""
    order = plan.order(index)
    able = None if plan.bandwidth is None else plan.bandwidth()
    by_isolation = {Isolation.SIDE_BY_SIDE: _side_by_side, Isolation.ALTERNATE: _alternate}
    try:
        starts, measuring_s = by_isolation[plan.isolation](plan, index, order, progress)
    except (ServerError, MeasureError) as error:
        return _invalid(index, plan, str(error))
    invalid = invalid_reason(tuple(starts.values()), plan.conditions)
    whole = Block(index=index, order=(), starts=(), measuring_s=measuring_s, memory_bandwidth=able, invalid=invalid)
    return _sides(plan, order, starts, whole)


def _sides(plan: Plan, order: Order, starts: Mapping[Seat, Start], whole: Block) -> Mapping[Side, Block]:
    """What each side has of a block: the same circumstances, and its own starts."""
    found = {}
    for side in plan.circumstances:
        own = tuple(seat for seat in order if seat.side is side)
        mine = tuple(replace(starts[seat], place=order.index(seat)) for seat in own if seat in starts)
        found[side] = replace(whole, order=tuple(seat.arm for seat in own), starts=mine)
    return found


def _side_by_side(plan: Plan, index: int, order: Order, progress: Progress) -> tuple[Mapping[Seat, Start], float]:
    """All servers up, one asked at a time, the order turned around from pair to pair."""
    with ExitStack() as stack:
        servers = {seat: stack.enter_context(_started(plan, seat, str(index), progress)) for seat in order}
        sampler = stack.enter_context(sampled(plan.watch, {seat: server.pid for seat, server in servers.items()}))
        asking = Asking(plan, index)
        samples: dict[Seat, list[Sample]] = {seat: [] for seat in order}
        for pair, classes in asking.turns():
            progress(asking.said(pair, classes))
            for seat in request_order(order, pair):
                with sampler.during(seat):
                    samples[seat] += asking.samples(servers[seat], classes, pair)
        starts = {seat: _start(servers[seat], samples[seat], sampler.telemetry(seat)) for seat in order}
        return starts, asking.elapsed_s


def _alternate(plan: Plan, index: int, order: Order, progress: Progress) -> tuple[Mapping[Seat, Start], float]:
    """One server at a time, each asked everything."""
    starts: dict[Seat, Start] = {}
    measuring_s = 0.0
    pairs = None
    for seat in order:
        with _started(plan, seat, str(index), progress) as server, sampled(plan.watch, {seat: server.pid}) as sampler:
            asking = Asking(plan, index, pairs)
            samples: list[Sample] = []
            for pair, classes in asking.turns():
                progress(f"{seat} {asking.said(pair, classes)}")
                with sampler.during(seat):
                    samples += asking.samples(server, classes, pair)
            measuring_s += asking.elapsed_s
            starts[seat] = _start(server, samples, sampler.telemetry(seat))
            # Of a campaign that goes by time: each arm answers as many as the first one did.
            pairs = samples[-1].pair + 1
    return starts, measuring_s


@contextmanager
def _started(plan: Plan, seat: Seat, name: str, progress: Progress) -> Iterator[Running]:
    """A server, up, proven to be its arm and warm; ``_ArmFailed`` or MeasureError when it cannot be had."""
    progress(f"{seat} starting")
    with ExitStack() as stack:
        try:
            folder = plan.folder / f"{plan.flag_set}-{name}-{seat}"
            way = seat.launch.run(folder, plan.measure.start_timeout_s, plan.environment)
            server = stack.enter_context(way)
        except ServerError as error:
            raise _arm_failed(seat, Stage.START, explained(str(error), seat.header, error.log_tail)) from error
        _warm_up(plan, server, seat, progress)
        yield server


def _warm_up(plan: Plan, server: Running, seat: Seat, progress: Progress) -> None:
    progress(f"{seat} warming up")
    try:
        for turn in range(plan.measure.warmup):
            server.ask(request_of(plan, plan.classes[turn % len(plan.classes)], server))
    except (ServerError, MeasureError) as error:
        raise _arm_failed(seat, Stage.WARM_UP, str(error)) from error


def _arm_failed(seat: Seat, stage: Stage, message: str) -> Exception:
    """A finding about a server of ours; one that others started, use and may end only spoils its block."""
    if seat.launch.ours:
        return _ArmFailed(seat, stage, message)
    return MeasureError(
        f"the {seat} server, which was started elsewhere, failed in {stage.value}, which says nothing about MTP: "
        f"{message}"
    )


def _start(server: Running, samples: Sequence[Sample], telemetry: Telemetry) -> Start:
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
