"""From the design of a study to what was measured: its campaigns block by block in turn, a loss in fresh starts."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.settings import Settings
from pytest_mtp.core.side import Side
from pytest_mtp.core.study import Study, Variant
from pytest_mtp.core.study_judge import enough, judged_study
from pytest_mtp.core.suites.protocol import Arrangement, Design
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.equipment import Equipment
from pytest_mtp.planning import campaign_plan
from pytest_mtp.runtime.journal import Journals
from pytest_mtp.runtime.measure import run_in_turn
from pytest_mtp.runtime.plan import Measured, Plan
from pytest_mtp.runtime.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What every study of a run is measured with; the devices are held by whoever made it."""

    settings: Settings
    equipment: Equipment
    locked_mhz: int | None
    deadline: float | None
    started_at: str
    journals: Journals | None
    progress: Progress


def measure_study(design: Design, unmeasured: Study, bench: Bench) -> Study:
    """Measure a study until it is decided, and once more what it lost; FlagError where the build lacks a flag."""
    study = _measured(design, unmeasured, bench, "first")
    # A check has no spread, and an arm that does not start was tried twice already: only ratios can recur.
    if all(one.outcome is not Outcome.REGRESSION for one in study.results):
        return study
    again = _measured(design, unmeasured, bench, "again")
    return judged_study(replace(study, again=again.variants))


def _measured(design: Design, unmeasured: Study, bench: Bench, turn: str) -> Study:
    looks = unmeasured.gate.looks if design.rounds is None else (design.rounds,)
    plans = {one.name: _plan(one, design, bench, turn, looks) for one in design.arrangements}

    def done(so_far: Measured) -> bool:
        campaign = so_far[Side.HEAD]
        return bool(campaign.failures) or len(campaign.valid) >= looks[-1]

    study = unmeasured
    progress = bench.progress if turn == "first" else lambda text: bench.progress(f"again, in fresh starts: {text}")
    for campaigns in run_in_turn(plans, bench.started_at, done, progress):
        study = replace(unmeasured, variants=_variants(campaigns))
        if design.rounds is None and enough(study):
            break
    return judged_study(study)


def _variants(campaigns: Mapping[str, Campaign]) -> tuple[Variant, ...]:
    return tuple(Variant(name=name, campaign=campaign) for name, campaign in campaigns.items())


def _plan(one: Arrangement, design: Design, bench: Bench, turn: str, looks: tuple[int, ...]) -> Plan:
    settings, classes = bench.settings, one.profile.classes
    plan = campaign_plan(settings, one.profile, bench.equipment, one.flag_set, classes, bench.locked_mhz)
    names = (design.suite.value, design.subject, one.name, turn)
    part = re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(filter(None, names)))
    bounds = {kind: str(bound) for kind, bound in design.bounds.items()}
    plan = replace(plan, part=part, looks=looks, rules={"bounds": bounds, "gate": asdict(one.profile.gates)})
    return replace(plan, deadline=bench.deadline, journals=bench.journals)
