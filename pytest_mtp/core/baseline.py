"""Baselines: what was measured on this machine before, as samples with their circumstances."""

from dataclasses import dataclass, replace

from pytest_mtp.core.sample import Campaign, Circumstances
from pytest_mtp.errors import InputError

# 1 - first version
BASELINE_VERSION = 1

_KEY = ("model", "fingerprint", "isolation", "flags", "request")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One campaign on record; conclusions are computed from its samples, never stored."""

    recorded_at: str
    recorder: str
    """Name and version of what wrote it."""
    campaign: Campaign


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineFile:
    """The file ``baselines/<fingerprint>/<profile>.json``."""

    version: int
    profile: str
    fingerprint: dict[str, str]
    """The facts behind the folder's name."""
    recorded: tuple[Recorded, ...] = ()

    def __post_init__(self) -> None:
        if self.version > BASELINE_VERSION:
            raise InputError(
                f"This baseline has format {self.version}, this pytest-mtp reads up to {BASELINE_VERSION}: "
                "update pytest-mtp."
            )

    def matching(self, campaign: Campaign) -> Recorded | None:
        """The record of the same flag set, model, machine and flags; ``None`` when there is none."""
        found = [one for one in self.recorded if comparable(one.campaign, campaign)]
        return found[-1] if found else None

    def mismatch(self, campaign: Campaign) -> str | None:
        """What keeps the nearest record from matching, in words; ``None`` when one matches or none is near."""
        near = [one for one in self.recorded if one.campaign.flag_set == campaign.flag_set]
        if not near or self.matching(campaign):
            return None
        then, now = near[-1].campaign.circumstances, campaign.circumstances
        return " and ".join(_difference(name, then, now) for name in _KEY if _differs(name, then, now))

    def with_record(self, recorded: Recorded) -> "BaselineFile":
        """The file with this record in the place of what it replaces."""
        kept = tuple(one for one in self.recorded if not comparable(one.campaign, recorded.campaign))
        return replace(self, recorded=(*kept, recorded))


def comparable(then: Campaign, now: Campaign) -> bool:
    """Whether two campaigns measured the same thing: flag set, model, machine, isolation, flags and request."""
    return then.flag_set == now.flag_set and not any(
        _differs(name, then.circumstances, now.circumstances) for name in _KEY
    )


def narrowed(then: Campaign, now: Campaign) -> Campaign:
    """The record without the classes whose prompt has changed since."""
    old, new = then.circumstances.prompts, now.circumstances.prompts
    return replace(then, classes=tuple(name for name in then.classes if old.get(name) == new.get(name)))


def _differs(name: str, then: Circumstances, now: Circumstances) -> bool:
    return bool(getattr(then, name) != getattr(now, name))


def _difference(name: str, then: Circumstances, now: Circumstances) -> str:
    old, new = getattr(then, name), getattr(now, name)
    if isinstance(old, dict):
        changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        return ", ".join(f"{key} was {old.get(key, 'unset')}, is {new.get(key, 'unset')}" for key in changed)
    return f"{name} was {old}, is {new}"
