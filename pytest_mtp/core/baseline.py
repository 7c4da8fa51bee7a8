"""Baselines: what was measured on this machine before, as samples with their circumstances."""

from collections.abc import Sequence
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

    def sessions(self, campaign: Campaign) -> tuple[Recorded, ...]:
        """The records of the same flag set, model, machine and flags, oldest first: together they are the baseline."""
        return tuple(one for one in self.recorded if comparable(one.campaign, campaign))

    def mismatch(self, campaign: Campaign) -> str | None:
        """What keeps the nearest record from matching, in words; ``None`` when one matches or none is near."""
        near = [one for one in self.recorded if one.campaign.flag_set == campaign.flag_set]
        if not near or self.sessions(campaign):
            return None
        then, now = near[-1].campaign.circumstances, campaign.circumstances
        return " and ".join(_difference(name, then, now) for name in _KEY if _differs(name, then, now))

    def with_record(self, recorded: Recorded) -> "BaselineFile":
        """The file with this record in the place of the sessions that it replaces."""
        kept = tuple(one for one in self.recorded if not comparable(one.campaign, recorded.campaign))
        return replace(self, recorded=(*kept, recorded))

    def with_session(self, recorded: Recorded) -> "BaselineFile":
        """The file with this record as one more session beside those that measured the same."""
        return replace(self, recorded=(*self.recorded, recorded))


def comparable(then: Campaign, now: Campaign) -> bool:
    """Whether two campaigns measured the same thing: flag set, model, machine, isolation, flags and request."""
    return then.flag_set == now.flag_set and not any(
        _differs(name, then.circumstances, now.circumstances) for name in _KEY
    )


def narrowed(then: Campaign, now: Campaign) -> Campaign:
    """The record without the classes whose prompt has changed since."""
    old, new = then.circumstances.prompts, now.circumstances.prompts
    return replace(then, classes=tuple(name for name in then.classes if old.get(name) == new.get(name)))


def merged(sessions: Sequence[Campaign]) -> Campaign | None:
    """All blocks of sessions that measured the same, over the classes that each of them has; ``None`` of none."""
    if not sessions:
        return None
    names = tuple(name for name in sessions[-1].classes if all(name in one.classes for one in sessions))
    return replace(sessions[-1], classes=names, blocks=tuple(block for one in sessions for block in one.blocks))


def _differs(name: str, then: Circumstances, now: Circumstances) -> bool:
    return bool(getattr(then, name) != getattr(now, name))


def _difference(name: str, then: Circumstances, now: Circumstances) -> str:
    old, new = getattr(then, name), getattr(now, name)
    if isinstance(old, dict):
        changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        return ", ".join(f"{key} was {old.get(key, 'unset')}, is {new.get(key, 'unset')}" for key in changed)
    return f"{name} was {old}, is {new}"
