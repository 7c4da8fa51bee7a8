"""How far sessions of the same thing lie apart, and what tolerance that leaves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.speedup import speedup

FEWEST_SESSIONS = 5
"""Below it the spread of sessions is a guess."""
_SDS = 3
"""A tolerance of three standard deviations is left by one session in a thousand."""
_MOST = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the sessions on record say about each other."""

    sessions: int = 1
    between_sd: float | None = None
    """Standard deviation of a session's ln S, pooled over the classes; ``None`` below five sessions."""

    def tolerance(self, configured: float) -> float:
        """The share of a baseline that may be lost: as configured, more where sessions lie further apart."""
        return configured if self.between_sd is None else min(max(configured, _SDS * self.between_sd), _MOST)

    def __str__(self) -> str:
        if self.between_sd is None:
            return f"tolerance not calibrated ({self.sessions} of {FEWEST_SESSIONS} sessions; pytest-mtp calibrate)"
        return f"tolerance calibrated: {self.sessions} sessions differ by {self.between_sd:.1%} (sd)"


def calibration(sessions: Sequence[Campaign]) -> Calibration:
    """The spread of sessions that measured the same thing, over the classes that all of them have."""
    if len(sessions) < FEWEST_SESSIONS:
        return Calibration(sessions=len(sessions))
    names = [name for name in sessions[-1].classes if all(name in one.classes for one in sessions)]
    spreads = [variance(speedup(one, name).log_mean for one in sessions) for name in names]
    return Calibration(sessions=len(sessions), between_sd=math.sqrt(fmean(spreads)) if spreads else None)
