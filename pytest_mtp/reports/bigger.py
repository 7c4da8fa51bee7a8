"""The numbers of a run as github-action-benchmark takes them with ``tool: customBiggerIsBetter``."""

import json
from collections.abc import Iterator
from typing import Any

from pytest_mtp.core.run_report import RunReport
from pytest_mtp.reports.escaping import one_line
from pytest_mtp.reports.measured import Quantity, Subject, subjects

_PLOTTED = frozenset({"speedup", "mtp-tps"})
"""Of which more is better; the others go along as words."""


def bigger(report: RunReport) -> str:
    """A JSON list, two entries a class: ``flagset/class/speedup`` and ``flagset/class/mtp-tps``."""
    return f"{json.dumps([one for subject in subjects(report) for one in _entries(subject)], indent=1)}\n"


def _entries(subject: Subject) -> Iterator[dict[str, Any]]:
    extra = "\n".join(_extra(subject))
    for one in subject.quantities:
        if one.slug in _PLOTTED and one.low is not None and one.high is not None:
            yield {
                "name": f"{subject.name}/{one.slug}",
                "unit": one.unit,
                "value": one.value,
                "range": f"± {(one.high - one.low) / 2:.3g}",
                "extra": extra,
            }


def _extra(subject: Subject) -> Iterator[str]:
    """What a point says when it is pointed at."""
    around = subject.judged.campaign.circumstances
    yield f"build {one_line(around.build_label, 100)}"
    yield f"model {one_line(around.model_label, 100)}"
    yield f"verdict {subject.outcome.value}, {len(subject.judged.campaign.valid)} blocks"
    yield from map(_told, subject.quantities)


def _told(one: Quantity) -> str:
    interval = "" if one.low is None or one.high is None else f" [{one.low:.4g}, {one.high:.4g}]"
    return f"{one.slug} {one.value:.4g}{interval} {one.unit}"
