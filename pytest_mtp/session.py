"""One run from its settings to its report: what is measured, with what, and what came of it."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from pytest_mtp import __version__
from pytest_mtp.core.baseline import Recorded, narrowed
from pytest_mtp.core.calibration import Calibration, calibration
from pytest_mtp.core.case import Case, cases
from pytest_mtp.core.comparison import Compared, decided
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.judge import enough, flagged
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.settings import Settings, Update, Vary
from pytest_mtp.core.side import Side
from pytest_mtp.core.study import Study
from pytest_mtp.core.study_judge import judged_study
from pytest_mtp.core.suites.protocol import Design, unmeasured
from pytest_mtp.core.verdict import ClassResult, Outcome, Verdict
from pytest_mtp.core.yardsticks import Yardsticks
from pytest_mtp.equipment import Equipment, opposite, to_itself
from pytest_mtp.errors import MtpError, SettingsError
from pytest_mtp.night import Night, night
from pytest_mtp.planning import campaign_plan, comparison_plan, expected_tau
from pytest_mtp.recording import baseline_notices, put_on_record
from pytest_mtp.runtime.journal import Journals
from pytest_mtp.runtime.measure import run_campaign
from pytest_mtp.runtime.plan import Measured, Plan
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.store import Baselines, write_json
from pytest_mtp.studying import Bench, measure_study

TOOL = f"pytest-mtp {__version__}"


@dataclass(slots=True, kw_only=True)
class Run:
    """The state of one run: campaigns are measured when first asked for, and judged once."""

    settings: Settings
    profile: Profile
    selected: tuple[Case, ...] = ()
    """The cases of the collected tests: only these are measured."""
    judged: dict[str, Judged] = field(default_factory=dict)
    unfinished: Campaign | None = None
    """A campaign that was interrupted, for the farewell."""
    settled: list[Verdict] = field(default_factory=list)
    """Verdicts that tests have acted on; they decide the exit status."""
    recorded: set[str] = field(default_factory=set)
    """Flag sets whose campaign was put on record."""
    broken: dict[str, MtpError] = field(default_factory=dict)
    """Flag sets that could not be measured: the error is told to every test, and not provoked again."""
    machine: Fingerprint | None = None
    deadline: float | None = None
    night: Night = field(default_factory=Night)
    """What the history said, once the run is over."""
    opposite: Equipment | None = None
    """That of the base, once a comparison has got it ready."""
    studies: dict[tuple[str, str], Study] = field(default_factory=dict)
    """What the further suites found, by flag set and title."""
    journals: Journals | None = None
    """Where finished blocks are kept until the run is over; ``None`` keeps none."""
    resumable: int = 0
    """Finished blocks of a run that was interrupted, lacked time, or could not write what it found."""

    def result(self, case: Case, equipment: Callable[[], Equipment], progress: Progress) -> ClassResult:
        """The result of one case, measuring its campaign the first time."""
        judged = self.conclusion(case.flag_set, equipment, progress)
        return next(one for one in judged.results if one.prompt_class == case.prompt_class)

    def conclusion(self, flag_set: str, equipment: Callable[[], Equipment], progress: Progress) -> Judged:
        """Everything about one flag set, measuring its campaign the first time."""
        if flag_set in self.broken:
            raise self.broken[flag_set]
        try:
            return self.judged.get(flag_set) or self._measure(flag_set, equipment(), progress)
        except MtpError as error:
            self.broken[flag_set] = error
            raise

    def study(self, design: Design, equipment: Callable[[], Equipment], progress: Progress) -> Study:
        """What one of the further suites found, measuring it the first time."""
        gate = replace(self.profile.gates, looks=self.profile.suites.looks)
        study = unmeasured(design, gate)
        key = design.flag_set, study.title
        if key in self.studies:
            return self.studies[key]
        if design.of_gate:
            found = judged_study(study, self.conclusion(design.flag_set, equipment, progress).campaign)
        else:
            found = self._study(design, study, equipment(), progress)
        self.studies[key] = found
        return found

    def _study(self, design: Design, study: Study, equipment: Equipment, progress: Progress) -> Study:
        self.machine = equipment.machine
        with to_itself(equipment, self.settings, progress) as locked_mhz:
            self._begin()
            bench = Bench(
                settings=self.settings,
                equipment=equipment,
                locked_mhz=locked_mhz,
                deadline=self.deadline,
                started_at=_now(),
                journals=self.journals,
                progress=lambda text: progress(f"{study.title}: {text}"),
            )
            return measure_study(design, study, bench)

    def _begin(self) -> None:
        """The time limit counts from the first measurement."""
        if self.deadline is None and self.settings.max_time_s is not None:
            self.deadline = time.monotonic() + self.settings.max_time_s

    def select(self, selected: tuple[Case, ...]) -> None:
        """Measure these cases; SettingsError where a baseline would be recorded from a part of the classes."""
        missing = {case.prompt_class for case in cases(self.profile, self.settings)} - {
            c.prompt_class for c in selected
        }
        if self.settings.update is not None and selected and missing:
            raise SettingsError(
                f"A baseline is recorded of every class, {sorted(missing)[0]} is not selected: drop -k."
            )
        self.selected = selected

    def report(self) -> RunReport | None:
        """The run so far; ``None`` while nothing was judged."""
        if not (self.judged or self.studies) or self.machine is None:
            return None
        return RunReport(
            version=REPORT_VERSION,
            created_at=_now(),
            tool=TOOL,
            profile=self.profile.name,
            machine=self.machine.facts,
            judged=tuple(self.judged.values()),
            studies=tuple(self.studies.values()),
        )

    def conclude(self, *, over: bool) -> None:
        """Write the report where it was asked for, and hold a run that is over against its history."""
        report = self.report()
        if report is None:
            return
        if self.settings.json is not None:
            write_json(self.settings.json, report)
        if over:
            self.night = night(self.settings, report)

    def let_go(self, *, over: bool) -> None:
        """Forget the finished blocks of a run that is over; else they stay, to be taken up."""
        if self.journals is not None:
            night = self.settings.history is not None and over
            self.resumable = self.journals.close(over=over, whole=night)

    @property
    def lost(self) -> bool:
        """Whether a test was told of a loss."""
        return any(one.outcome.lost for one in self.settled)

    @property
    def undecided(self) -> bool:
        """Whether a test got no answer that it should have had."""
        return any(verdict.outcome.open and not self.excused(verdict) for verdict in self.settled)

    def excused(self, verdict: Verdict) -> bool:
        """Whether the missing baseline is what this run has just recorded."""
        return verdict.outcome is Outcome.NO_BASELINE and self.recorded == set(self.judged)

    def _measure(self, flag_set: str, equipment: Equipment, progress: Progress) -> Judged:
        self.machine = equipment.machine
        if self.settings.compare_to is not None and self.opposite is None:
            # Before the devices are held: a build can take long.
            self.opposite = opposite(self.settings, self.profile, equipment, progress)
        with to_itself(equipment, self.settings, progress) as locked_mhz:
            self._begin()
            plan = self._plan(flag_set, equipment, locked_mhz)
            if self.opposite is None:
                judged = self._against_baseline(plan, equipment, progress)
            else:
                judged = self._against_base(plan, self.opposite, locked_mhz, progress)
        self.judged[flag_set] = judged
        self.unfinished = None
        return judged

    def _against_baseline(self, plan: Plan, equipment: Equipment, progress: Progress) -> Judged:
        baselines = Baselines(self.settings.baselines, equipment.machine, self.profile.name)
        before = self._unjudged(plan, baselines, _now())
        before = replace(before, notices=(*before.notices, *equipment.notices))
        judged = self._concluded(before, plan, progress)
        # Before it is recorded: a folder that cannot be written loses nothing.
        self.judged[plan.flag_set] = judged
        return self._recorded(judged, baselines)

    def _against_base(self, plan: Plan, base: Equipment, locked_mhz: int | None, progress: Progress) -> Judged:
        """Both in the same blocks, until the difference is clear or its last look is over."""
        settings, gate = self.settings, self.profile.gates
        flag_set = str(settings.compare_to) if settings.vary is Vary.FLAG_SET else plan.flag_set
        other = campaign_plan(settings.of_base, self.profile, base, flag_set, plan.classes, locked_mhz)
        rule = settings.tier.rule(equivalence=settings.equivalence)
        both = replace(comparison_plan(settings, self.profile, plan, other), looks=rule.looks, rules=asdict(rule))

        def compared(measured: Measured) -> Compared:
            return Compared(base=measured[Side.BASE], control=measured[Side.CONTROL], rule=rule)

        measured = self._campaign(both, _now(), lambda so: decided(so[Side.HEAD], compared(so), gate), progress)
        return Judged(campaign=measured[Side.HEAD], gate=gate, compared=compared(measured)).rejudged()

    def _concluded(self, before: Judged, plan: Plan, progress: Progress) -> Judged:
        """Measure until the evidence is enough; what is below its limit is measured again in fresh starts."""
        enough = self._enough(before.yardsticks)
        done = self._campaign(plan, before.campaign.started_at, lambda so: enough(so[Side.HEAD]), progress)
        campaign = done[Side.HEAD]
        lost = () if self.settings.update is not None else flagged(campaign, before.yardsticks)
        again = None
        if lost:
            blocks = len(campaign.valid)
            repeated = replace(
                plan,
                classes=tuple(one for one in plan.classes if one.name in lost),
                looks=(blocks,),
                part="again",
            )
            fresh = self._campaign(
                repeated,
                _now(),
                lambda so: bool(so[Side.HEAD].failures) or len(so[Side.HEAD].valid) >= blocks,
                lambda text: progress(f"again, in fresh starts: {text}"),
            )
            again = fresh[Side.HEAD]
        return replace(before, campaign=campaign, again=again).rejudged()

    def _campaign(self, plan: Plan, started_at: str, done: Callable[[Measured], bool], progress: Progress) -> Measured:
        """One campaign as far as it came, also for the farewell of a run that is interrupted."""
        measured = plan.empty(started_at)
        self.unfinished = measured[Side.HEAD]
        for measured in run_campaign(plan, started_at, done, progress):
            self.unfinished = measured[Side.HEAD]
        return measured

    def _plan(self, flag_set: str, equipment: Equipment, locked_mhz: int | None) -> Plan:
        """The campaign of the selected classes of one flag set."""
        wanted = {case.prompt_class for case in self.selected if case.flag_set == flag_set}
        classes = tuple(one for one in self.profile.classes if one.name in wanted)
        plan = campaign_plan(self.settings, self.profile, equipment, flag_set, classes, locked_mhz)
        rules = {"gate": asdict(self.profile.gates), "update": str(self.settings.update)}
        rules["floors"] = {one.name: one.floor for one in classes}
        return replace(plan, deadline=self.deadline, journals=self.journals, rules=rules)

    def _unjudged(self, plan: Plan, baselines: Baselines, started_at: str) -> Judged:
        """What the campaign will be held against, found before it is measured."""
        empty, file = plan.empty(started_at)[Side.HEAD], baselines.load()
        recorded = () if self.settings.update is Update.ALL else file.sessions(empty)
        return Judged(
            campaign=empty,
            gate=self.profile.gates,
            floors={one.name: one.floor for one in plan.classes if one.floor is not None},
            expected_tau=expected_tau(self.settings, self.profile, plan),
            references={one.name: one.reference for one in plan.classes if one.reference is not None},
            sessions=tuple(replace(one, campaign=narrowed(one.campaign, empty)) for one in recorded),
            notices=baseline_notices(file.mismatch(empty), recorded, empty),
        )

    def _enough(self, yardsticks: Yardsticks) -> Callable[[Campaign], bool]:
        """When to stop: as the evidence says; a baseline is recorded from every look's blocks."""
        if self.settings.update is None:
            return lambda campaign: enough(campaign, yardsticks)
        last = self.profile.gates.looks[-1]
        return lambda campaign: bool(campaign.failures) or len(campaign.valid) >= last

    def _recorded(self, judged: Judged, baselines: Baselines) -> Judged:
        """Put the campaign on record if that was asked for and it measured what it should; what was done is said."""
        if self.settings.update is None:
            return judged
        done = put_on_record(judged, baselines, self.settings.update, Recorded(_now(), TOOL, judged.campaign))
        if done.on_record:
            self.recorded.add(judged.campaign.flag_set)
            if self.journals is not None:  # else a later run could put the same blocks on record once more
                self.journals.settle(judged.campaign.flag_set)
        return replace(judged, notices=(*judged.notices, done.said))

    def calibration(self, flag_set: str) -> Calibration:
        """What the sessions on record say about each other, the one of this run included."""
        judged = self.judged[flag_set]
        recorded = [judged.campaign] if flag_set in self.recorded else []
        return calibration([*(one.campaign for one in judged.sessions), *recorded])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
