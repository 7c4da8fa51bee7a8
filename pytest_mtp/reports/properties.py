"""The numbers of one result for JUnit: passing tests carry them too."""

import math
import re
from collections.abc import Iterator

from pytest_mtp.core.rate import RateResult
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.study import Study
from pytest_mtp.core.verdict import ClassResult

_NUMBERS = (
    "speedup",
    "low",
    "high",
    "level",
    "block_sd",
    "plain_tps",
    "mtp_tps",
    "tau_then",
    "step_cost",
    "detectable",
)


def of(result: ClassResult) -> Iterator[tuple[str, str]]:
    """``mtp_*`` properties: verdicts, and every number that was measured."""
    yield "mtp_verdict", result.speed.outcome.value
    yield "mtp_drafts_verdict", result.drafts.outcome.value
    if result.speed.cause is not None:
        yield "mtp_cause", result.speed.cause.value
    yield "mtp_blocks", str(result.blocks)
    for name in _NUMBERS:
        value = getattr(result, name)
        if value is not None and math.isfinite(value):
            yield f"mtp_{name}", f"{value:.6g}"
    if result.acceptance is not None:
        yield "mtp_tau", f"{result.acceptance.tau:.6g}"
        yield "mtp_draft_n", str(result.acceptance.drafted)
        yield "mtp_draft_n_accepted", str(result.acceptance.accepted)
    if result.limit is not None:
        yield "mtp_limit", f"{result.limit.speedup:.6g}"
        yield "mtp_limit_from", result.limit.yardstick.value


def of_rate(result: RateResult) -> Iterator[tuple[str, str]]:
    """``mtp_*`` properties of one speed."""
    name = result.rate.name.lower()
    yield f"mtp_{name}_verdict", result.verdict.outcome.value
    if result.verdict.cause is not None:
        yield f"mtp_{name}_cause", result.verdict.cause.value
    yield f"mtp_{name}_tps", f"{result.now_tps:.6g}"
    yield f"mtp_{name}_tps_then", f"{result.then_tps:.6g}"


def of_study(study: Study) -> Iterator[tuple[str, str]]:
    """``mtp_*`` properties of a further suite: its verdict, and every ratio with its values."""
    yield "mtp_verdict", study.verdict.outcome.value
    for one in study.results:
        name = re.sub(r"[^a-z0-9]+", "_", one.name.lower()).strip("_")
        for part in ("first", "second", "ratio", "low", "high"):
            value = getattr(one, part)
            if math.isfinite(value):
                yield f"mtp_{name}_{part}", f"{value:.6g}"


def sections(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Command and log tail of the last servers of each arm, for the report of a failing test."""
    last = {start.arm: start for block in campaign.blocks for start in block.starts}
    for arm, start in last.items():
        yield f"{arm.value} server", f"{start.command}\n{start.log_tail}"
