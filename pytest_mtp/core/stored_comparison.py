"""Two stored reports as a comparison: the later session as head, the earlier as base, where both measured the same."""

from dataclasses import replace

from pytest_mtp.core.comparison import Compared
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.tier import Rule
from pytest_mtp.errors import InputError


def compared_reports(base: RunReport, head: RunReport, rule: Rule, classes: tuple[str, ...] = ()) -> RunReport:
    """``head`` judged against ``base``; InputError names what keeps the two from being compared."""
    if base.machine != head.machine:
        facts = [(name, base.machine.get(name), head.machine.get(name)) for name in {**base.machine, **head.machine}]
        said = ", ".join(f"{name} was {was}, is {now}" for name, was, now in facts if was != now)
        raise InputError(f"The two reports are of different machines ({said}): measure both on one.")
    then = {one.campaign.flag_set: one.campaign for one in base.judged}
    judged = tuple(
        _judged(one, then[one.campaign.flag_set], rule, classes) for one in head.judged if one.campaign.flag_set in then
    )
    if not judged:
        raise InputError(f"The two reports have no flag set in common: {', '.join(then)} was measured first.")
    return replace(head, judged=judged)


def _judged(head: Judged, base: Campaign, rule: Rule, classes: tuple[str, ...]) -> Judged:
    now, then = head.campaign.circumstances, base.circumstances
    for what in ("isolation", "request"):
        if getattr(now, what) != getattr(then, what):
            told = f"{getattr(then, what)} and {getattr(now, what)}"
            raise InputError(f"The two reports were measured with another {what} ({told}): measure one of them anew.")
    wanted = classes or head.campaign.classes
    names = tuple(
        name
        for name in head.campaign.classes
        if name in base.classes and name in wanted and now.prompts.get(name) == then.prompts.get(name)
    )
    if not names:
        raise InputError("The two reports have no class with the same prompt in common: measure one of them anew.")
    campaign = replace(head.campaign, classes=names)
    return Judged(campaign=campaign, gate=head.gate, compared=Compared(base=base, rule=rule)).rejudged()
