"""Studies made of numbers, for tests of what is shown of the further suites."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, RunReport
from pytest_mtp.core.sample import Block, Campaign, Sample, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Bound, Study, Suite, Variant
from pytest_mtp.core.study_judge import judged_study
from pytest_mtp.core.suites.draft_depth import setting
from tests.campaigns import around, campaign

GATE = Gate(looks=(4, 8))
_Blocks = Sequence[float] | Mapping[str, Sequence[float]]
_GAP_MS = 2.0


def latency(slower: Sequence[float] = (), most: float = 2.0, flag_set: str = "n3", **changes: object) -> Study:
    """Waiting times of the mtp arm, so many times the plain one's in each block, with bounds but for the median."""
    measured = replace(_streamed(slower or around(1.5, 0.01)), flag_set=flag_set)
    values: dict[str, object] = {
        "suite": Suite.LATENCY,
        "flag_set": flag_set,
        "subject": "",
        "first": "plain",
        "second": "mtp",
        "variants": (Variant(name="streamed", campaign=measured),),
        "bounds": {kind: Bound(limit=most, most=True) for kind in ("first token", "token", "gap")},
        "gate": GATE,
    }
    return judged_study(Study(**(values | changes)))  # type: ignore[arg-type]  # a test may say anything


def draft_depth(speedups: Mapping[tuple[int, float], _Blocks], own: int = 3, **changes: object) -> Study:
    """A sweep with these speedups of the blocks (or of each class) at each n-max and p-min; plain has 100 tok/s."""
    study = Study(
        suite=Suite.DRAFT_DEPTH, flag_set="n3", subject="", first="plain", second="mtp",
        variants=tuple(
            Variant(name=setting(*one), campaign=_commanded(blocks, _spelled(*one)))
            for one, blocks in speedups.items()
        ),
        bounds={"cliff": Bound(limit=0.6)}, demands={"own n-max": own, "own p-min": 0.0}, gate=Gate(looks=(4,)),
    )  # fmt: skip
    return judged_study(replace(study, **changes))  # type: ignore[arg-type]  # a test may say anything


def _spelled(n_max: int, p_min: float) -> str:
    return f"--spec-draft-n-max {n_max} --spec-draft-p-min {p_min:g}"


def _commanded(speedups: _Blocks, drafting: str) -> Campaign:
    """A campaign whose servers were started with commands as a build takes them."""
    shared = "/bin/llama-server -m /m.gguf -c 1024 -ngl 0 -a {0} --metrics --host 127.0.0.1"
    speculation = {Arm.PLAIN: "", Arm.MTP: f" --spec-type draft-mtp {drafting}"}

    def told(start: Start) -> Start:
        return replace(start, command=f"{shared.format(start.arm.value)}{speculation[start.arm]} --port 8001")

    measured = campaign(speedups if isinstance(speedups, Mapping) else {"a": speedups})
    blocks = (replace(block, starts=tuple(map(told, block.starts))) for block in measured.blocks)
    return replace(measured, blocks=tuple(blocks))


def memory(main: Campaign, **changes: object) -> Study:
    """A study without a campaign of its own; nothing was told of memory."""
    study = Study(
        suite=Suite.MEMORY, flag_set=main.flag_set, subject="", first="plain", second="mtp", variants=(), gate=GATE
    )
    return judged_study(replace(study, **changes), main)  # type: ignore[arg-type]  # a test may say anything


def report_of(*studies: Study) -> RunReport:
    """A run of further suites alone."""
    return RunReport(
        version=REPORT_VERSION, created_at="2026-01-01T00:00:00+00:00", tool="t", profile="p",
        machine={"cpu": "Some CPU", "cores": "2"}, judged=(), studies=studies,
    )  # fmt: skip


def _streamed(slower: Sequence[float]) -> Campaign:
    measured = campaign({"a": (1.0,) * len(slower)})
    blocks = (_arriving(block, share) for block, share in zip(measured.blocks, slower, strict=True))
    return replace(measured, blocks=tuple(blocks))


def _arriving(block: Block, slower: float) -> Block:
    def timed(sample: Sample, gap_ms: float) -> Sample:
        return replace(sample, arrivals_ms=tuple(gap_ms * place for place in range(5, 9)))

    def told(start: Start) -> Start:
        gap_ms = _GAP_MS * (slower if start.arm is Arm.MTP else 1)
        return replace(start, samples=tuple(timed(one, gap_ms) for one in start.samples))

    return replace(block, starts=tuple(map(told, block.starts)))
