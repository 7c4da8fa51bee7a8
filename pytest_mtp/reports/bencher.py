"""The numbers of a run in Bencher Metric Format, for ``bencher run --adapter json --file``."""

import json

from pytest_mtp.core.run_report import RunReport
from pytest_mtp.reports.measured import Quantity, subjects


def bencher(report: RunReport) -> str:
    """A JSON object: ``flagset/class``, then the measure, then its value and 95 % interval."""
    told = {subject.name: {one.slug: _metric(one) for one in subject.quantities} for subject in subjects(report)}
    return f"{json.dumps(told, indent=1)}\n"


def _metric(one: Quantity) -> dict[str, float]:
    ends = {"lower_value": one.low, "upper_value": one.high}
    return {"value": one.value, **{name: end for name, end in ends.items() if end is not None}}
