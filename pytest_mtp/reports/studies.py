"""What the further suites found, for a terminal: a line for each ratio, and why where it is no pass."""

from collections.abc import Iterator, Sequence

from pytest_mtp.core.study import QuantityResult, Study
from pytest_mtp.reports.line import Line, Tone, shortened, tone_of

_NAME = 28


def study_lines(studies: Sequence[Study]) -> Iterator[Line]:
    """All studies of a run; nothing where there are none."""
    for study in studies:
        yield Line("")
        over = f"{study.second} over {study.first}"
        yield Line(f"{study.title} ({over}), flag set {study.flag_set}: {study.verdict.outcome.value}", Tone.HEAD)
        yield from (_row(one) for one in study.results)
        for check in study.checks:
            yield Line(check.said, Tone.PLAIN if check.outcome.passes else tone_of(check.outcome))
        yield from (Line(f"note: {said}") for said in (*study.notices, *study.left_out))
        if study.results and not study.verdict.outcome.passes:
            yield Line(study.verdict.reason, tone_of(study.verdict.outcome))


def _row(one: QuantityResult) -> Line:
    name = shortened(one.name, _NAME)
    values = f"{one.first:8.4g} {one.second:8.4g}  {one.ratio:.2f}x [{one.low:.2f}, {one.high:.2f}]"
    if one.bound is None or one.outcome is None:
        return Line(f"{name:{_NAME}} {values}")
    sign = "<" if one.bound.most else ">"
    tone = Tone.PLAIN if one.outcome.passes else tone_of(one.outcome)
    return Line(f"{name:{_NAME}} {values} {sign} {one.bound.limit:.2f}", tone)
