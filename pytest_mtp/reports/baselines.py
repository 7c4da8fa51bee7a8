"""Baselines for a reader: what is on record since when, and what a run would change of it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pytest_mtp.core.baseline import BaselineFile, Recorded, merged
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.speedup import speedup
from pytest_mtp.reports.escaping import for_log
from pytest_mtp.reports.line import NAME, shortened

_LEVEL = 0.95


def on_record(path: str, file: BaselineFile, now: datetime) -> list[str]:
    """One file: a line for each record, and one for each of its classes."""
    lines = [f"{path}: profile {file.profile}"]
    for one in file.recorded:
        lines.append(f"  flag set {one.campaign.flag_set}: {_provenance(one, now)}")
        lines += [f"    {shortened(name):{NAME}} {_speedup(one.campaign, name)}" for name in one.campaign.classes]
    return [for_log(line) for line in lines]


def difference(path: str, sessions: Sequence[Recorded], campaign: Campaign, now: datetime) -> list[str]:
    """What a campaign would change, class by class."""
    if not sessions:
        return [for_log(f"{campaign.flag_set}: {path} has no baseline of this yet.")]
    then = merged([one.campaign for one in sessions])
    assert then is not None
    lines = [f"{campaign.flag_set}: against {path}, {_provenance(sessions[-1], now)}"]
    for name in campaign.classes:
        was, is_ = (_ratio(then, name) if name in then.classes else None), _ratio(campaign, name)
        change = "" if was is None or is_ is None else f"  {is_ / was - 1:+.1%}"
        lines.append(f"  {shortened(name):{NAME}} {_times(was)} -> {_times(is_)}{change}")
    lines += [f"  {name}: would go" for name in then.classes if name not in campaign.classes]
    return [for_log(line) for line in lines]


def _provenance(one: Recorded, now: datetime) -> str:
    around = one.campaign.circumstances
    return (
        f"{around.build_label}, {around.model_label}, {len(one.campaign.valid)} blocks, recorded "
        f"{one.recorded_at[:10]}{_age(one.recorded_at, now)} by {one.recorder}"
    )


def _age(recorded_at: str, now: datetime) -> str:
    """In days; nothing where a file says another thing than a time."""
    try:
        then = datetime.fromisoformat(recorded_at)
    except ValueError:
        return ""
    return f" ({(now - then.replace(tzinfo=then.tzinfo or UTC)).days} days ago)"


def _speedup(campaign: Campaign, name: str) -> str:
    if not campaign.valid:
        return "-"
    found = speedup(campaign, name)
    low, high = found.interval(_LEVEL)
    return f"{found.ratio:.2f}x [{low:.2f}, {high:.2f}]"


def _ratio(campaign: Campaign, name: str) -> float | None:
    return speedup(campaign, name).ratio if campaign.valid else None


def _times(value: float | None) -> str:
    return "    -" if value is None else f"{value:.2f}x"
