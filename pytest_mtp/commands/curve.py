"""``pytest-mtp curve``: from how many tokens per step on MTP pays on this machine, and where a step's time goes.

Drafts are taken by chance, at several rates, so that no trained MTP head is needed; what the servers say
is invalid on purpose. Needs a llama.cpp with --spec-synth-rates (b11434 has it).
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.commands.resuming import keeping_blocks
from pytest_mtp.commands.soundness import judging
from pytest_mtp.commands.subject import add_subject, subject
from pytest_mtp.core.cost_curve import rates_of
from pytest_mtp.core.curve_report import CURVE_VERSION, CurveReport, MeasuredPoint
from pytest_mtp.core.draft_statistics import drafting_ms
from pytest_mtp.core.llama_bench import BenchShape, BenchTest, left_out
from pytest_mtp.core.profile import FlagSet, Profile, PromptClass
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.settings import Settings
from pytest_mtp.core.side import Side
from pytest_mtp.core.speedup import throughput
from pytest_mtp.errors import BuildError, FlagError, MeasureError, SettingsError
from pytest_mtp.options import add_plain

if TYPE_CHECKING:
    from pytest_mtp.core.build_spec import Build
    from pytest_mtp.equipment import Equipment
    from pytest_mtp.runtime.journal import Journals
    from pytest_mtp.runtime.plan import Measured, Plan
    from pytest_mtp.runtime.progress import Progress

HELP = "say from how many tokens per step on MTP pays here, and where a step's time goes"

_POINTS, _BLOCKS = 5, 4
_BENCH_TIMEOUT_S = 1800.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take a profile and what overrides it, and how much is measured."""
    add_subject(parser)
    add_plain(parser, "flag-set", "isolation", "max-time", "resume", "json")
    parser.add_argument(
        "--class", dest="prompt_class", metavar="NAME", help="class to ask (default: the profile's first)"
    )
    parser.add_argument(
        "--points", type=int, default=_POINTS, metavar="N", help="acceptances to measure (default: %(default)s)"
    )
    parser.add_argument(
        "--blocks", type=int, default=_BLOCKS, metavar="N", help="blocks of every point (default: %(default)s)"
    )
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="a curve that --json wrote: say which part of a step became dearer"
    )
    parser.add_argument("--read", type=Path, metavar="FILE", help="show a curve that --json wrote, and measure nothing")
    parser.add_argument(
        "--no-bench", action="store_true", help="leave out llama-bench, which is compiled beside the server"
    )


def run(parsed: argparse.Namespace) -> int:
    """Measure the curve, show its page, and write it where --json says."""
    from pytest_mtp.reports.curve import page
    from pytest_mtp.reports.escaping import one_line
    from pytest_mtp.runtime.progress import ProgressLine
    from pytest_mtp.runtime.store import load_curve, write_json

    # Before anything is measured: a file that cannot be read costs nothing then.
    then = load_curve(parsed.against) if parsed.against else None
    if parsed.read:
        report = load_curve(parsed.read)
    else:
        wish = _wish(parsed)
        line = ProgressLine(sys.stderr)
        with keeping_blocks(wish.settings) as journals:
            try:
                report = _measured(wish, line.show, journals)
            finally:
                line.clear()
            if wish.settings.json is not None:
                write_json(wish.settings.json, report)
    with judging(str(parsed.read or "The curve")):
        lines = list(page(report, shutil.get_terminal_size().columns, then))
    sys.stdout.write("".join(f"{one_line(text)}\n" for text in lines))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What is measured."""

    settings: Settings
    profile: Profile
    """With a flag set for every point."""
    flag_set: str
    drafting: FlagSet
    """The profile's own flag set."""
    prompt_class: PromptClass
    blocks: int
    bench: bool


def _wish(parsed: argparse.Namespace) -> _Wish:
    settings, profile = subject(parsed)
    for name, value, least in (("--points", parsed.points, 1), ("--blocks", parsed.blocks, 1)):
        if value < least:
            raise SettingsError(f"{name} is {value}; it must be at least {least}.")
    if len(settings.flag_sets) > 1:
        raise SettingsError(f"A curve is of one flag set, not of {', '.join(settings.flag_sets)}.")
    name = profile.measured(settings.flag_sets)[0]
    chosen = profile.flag_sets[name]
    return _Wish(
        settings=settings,
        profile=replace(profile, flag_sets=_points(chosen, parsed.points)),
        flag_set=name,
        drafting=chosen,
        prompt_class=_class(profile, parsed.prompt_class),
        blocks=parsed.blocks,
        bench=not parsed.no_bench,
    )


def _points(chosen: FlagSet, count: int) -> dict[str, FlagSet]:
    """The flag set at evenly spread acceptances, from none to all; the middle for a single point."""
    shares = [place / (count - 1) for place in range(count)] if count > 1 else [0.5]
    taus = [1 + share * chosen.n_max for share in shares]
    return {f"tau-{tau:.2f}": replace(chosen, synth_rates=rates_of(tau, chosen.n_max)) for tau in taus}


def _class(profile: Profile, name: str | None) -> PromptClass:
    names = [one.name for one in profile.classes]
    if name is not None and name not in names:
        raise SettingsError(f"--class {name}: the profile {profile.name} has {', '.join(names)}.")
    return profile.classes[0] if name is None else profile.prompt_class(name)


def _measured(wish: _Wish, progress: "Progress", journals: "Journals") -> CurveReport:
    from pytest_mtp.session import TOOL

    with tempfile.TemporaryDirectory(prefix="pytest-mtp-curve-") as folder:
        equipment, made, notices = _equipment(wish, Path(folder), progress)
        with _to_itself(equipment, progress):
            plans = _plans(wish, equipment, journals)
            campaigns = _campaigns(plans, wish.blocks, progress)
            points = tuple(_point(wish, plan, one) for plan, one in zip(plans, campaigns, strict=True))
            shape = BenchShape.lasting(wish.drafting.n_max + 1, _plain_tps(wish, campaigns))
            tests, lacking = _bench(wish, made, plans[0], shape, progress)
    return CurveReport(
        version=CURVE_VERSION,
        created_at=_now(),
        tool=TOOL,
        profile=wish.profile.name,
        flag_set=wish.flag_set,
        prompt_class=wish.prompt_class.name,
        n_max=wish.drafting.n_max,
        machine=equipment.machine.facts,
        points=points,
        bench=tests,
        notices=(*notices, *lacking, *_stops(campaigns)),
    )


def _equipment(wish: _Wish, folder: Path, progress: "Progress") -> "tuple[Equipment, Build, list[str]]":
    """As the gate has it, with llama-bench beside the server where that can be; what cannot is said."""
    from pytest_mtp.equipment import build_of, build_spec_of, equipment_of, model_of, source_of
    from pytest_mtp.runtime.cache import Cache
    from pytest_mtp.runtime.llama_bench import build_with_bench
    from pytest_mtp.runtime.probe import probe

    settings, profile, cache = wish.settings, wish.profile, Cache(wish.settings.cache_dir)
    source = source_of(settings, profile, cache, progress)
    notices = []
    try:
        made = build_with_bench(build_spec_of(profile), source, cache, progress) if wish.bench else None
    except BuildError as error:
        made = None
        notices.append(f"the efficiency is not known: {error}")
    made = made or build_of(profile, source, cache, progress)
    model = model_of(settings, profile, cache, progress)
    return equipment_of(settings, profile, made, probe(made.server), model, folder), made, notices


@contextmanager
def _to_itself(equipment: "Equipment", progress: "Progress") -> Iterator[None]:
    """Hold the devices that are measured on."""
    from pytest_mtp.runtime.lock import measuring
    from pytest_mtp.runtime.machine import devices

    with ExitStack() as stack:
        for one in devices(equipment.machine):
            stack.enter_context(measuring(one, progress))
        yield


def _plans(wish: _Wish, equipment: "Equipment", journals: "Journals") -> "tuple[Plan, ...]":
    """A campaign for every point, all with the same deadline."""
    from pytest_mtp.planning import campaign_plan

    limit_s = wish.settings.max_time_s
    deadline = None if limit_s is None else time.monotonic() + limit_s
    plans = (
        campaign_plan(wish.settings, wish.profile, equipment, name, (wish.prompt_class,), None)
        for name in wish.profile.flag_sets
    )
    return tuple(replace(plan, looks=(wish.blocks,), deadline=deadline, journals=journals) for plan in plans)


def _campaigns(plans: "Sequence[Plan]", blocks: int, progress: "Progress") -> tuple[Campaign, ...]:
    """A block of every point, then again: the n-th blocks of all points meet the same weather."""
    from pytest_mtp.runtime.measure import run_in_turn

    def done(measured: "Measured") -> bool:
        campaign = measured[Side.HEAD]
        return bool(campaign.failures) or len(campaign.valid) >= blocks

    campaigns: dict[str, Campaign] = {}
    for campaigns in run_in_turn({plan.flag_set: plan for plan in plans}, _now(), done, progress):
        for one in campaigns.values():
            _usable(one)
    return tuple(_with_blocks(campaigns[plan.flag_set]) for plan in plans)


def _point(wish: _Wish, plan: "Plan", campaign: Campaign) -> MeasuredPoint:
    """The campaign with what its servers' logs, which are about to go, tell of drafting."""
    # As the campaign names the folders of its servers; without a log its last lines, which are kept, must do.
    named = (f"{plan.flag_set}-{block.index}-{Arm.MTP.value}" for block in campaign.valid)
    logs = (plan.folder / name / "server.log" for name in named)
    return MeasuredPoint(
        rates=wish.profile.flag_sets[plan.flag_set].synth_rates,
        campaign=campaign,
        drafting_ms=tuple(drafting_ms(log.read_text(errors="replace")) if log.is_file() else None for log in logs),
    )


def _usable(campaign: Campaign) -> None:
    """MeasureError where an arm of it cannot be had: then the rest need not be measured."""
    for failure in campaign.failures:
        where = f"The {failure.arm.value} arm of {campaign.flag_set} failed in {failure.stage.value}"
        raise MeasureError(f"{where}: {failure.message}")


def _with_blocks(campaign: Campaign) -> Campaign:
    if not campaign.valid:
        reasons = [str(block.invalid) for block in campaign.invalid[-1:]]
        said = ": ".join(filter(None, [f"No block of {campaign.flag_set} counts", campaign.stopped, *reasons]))
        raise MeasureError(f"{said}. Give it more time (--max-time), or mend what made the blocks invalid.")
    return campaign


def _stops(campaigns: Sequence[Campaign]) -> list[str]:
    return [f"{one.flag_set}: {one.stopped}" for one in campaigns if one.stopped]


def _plain_tps(wish: _Wish, campaigns: Sequence[Campaign]) -> float:
    return max(throughput(one, Arm.PLAIN, wish.prompt_class.name).ratio for one in campaigns)


def _bench(
    wish: _Wish, made: "Build", plan: "Plan", shape: BenchShape, progress: "Progress"
) -> tuple[tuple[BenchTest, ...], list[str]]:
    """What llama-bench measured, and what it could not be told; nothing where it is not there or fails."""
    from pytest_mtp.runtime.llama_bench import bench_binary, run_bench

    binary = bench_binary(made)
    if not wish.bench or not binary.is_file():
        return (), []
    progress("llama-bench: batches of drafts against single tokens")
    spec = plan.seat(Arm.PLAIN).spec
    try:
        tests = run_bench(binary, spec, shape, timeout_s=_BENCH_TIMEOUT_S, environment=plan.environment)
    except (MeasureError, FlagError) as error:
        return (), [f"the efficiency is not known: {error}"]
    unknown = left_out(spec)
    return tests, [f"llama-bench was not given {', '.join(unknown)}"] if unknown else []


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
