"""What a campaign is held against: a baseline, else floors, and for a phantom its arithmetic."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_mtp.core.calibration import Calibration
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.speedup import FEWEST_BLOCKS, Estimate, speedup
from pytest_mtp.core.tau import acceptance
from pytest_mtp.core.verdict import Limit, Yardstick

# A baseline of so many blocks and sessions is taken for the truth (docs/decision.md shows what that gives).
_SURE_BLOCKS, _SURE_SESSIONS = 8, 3
_MOST = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardsticks:
    """The limits of every class, and where they come from."""

    gate: Gate
    floors: Mapping[str, float] = field(default_factory=dict)
    """Smallest speedup per class on any machine."""
    baseline: Campaign | None = None
    """The blocks of all sessions on record."""
    calibration: Calibration = field(default_factory=Calibration)
    """What these sessions say about each other."""
    expected_tau: Mapping[str, float] = field(default_factory=dict)
    """Tokens per step by a phantom's arithmetic; used where no baseline is."""

    def limit(self, prompt_class: str) -> Limit | None:
        """The baseline's limit, else the floor, else nothing."""
        then = self._recorded(prompt_class)
        if then is not None:
            tolerance = min(self.calibration.tolerance(self.gate.tolerance) + self._own_error(then), _MOST)
            return Limit(
                speedup=then.ratio * (1 - tolerance),
                yardstick=Yardstick.BASELINE,
                baseline=then.ratio,
                tolerance=tolerance,
            )
        floor = self.floors.get(prompt_class)
        return None if floor is None else Limit(speedup=floor, yardstick=Yardstick.FLOOR)

    def tau_then(self, prompt_class: str) -> float | None:
        """Tokens per step as recorded, else by arithmetic, else ``None``."""
        if self.baseline is None or prompt_class not in self.baseline.classes:
            return self.expected_tau.get(prompt_class)
        recorded = acceptance(self.baseline, prompt_class)
        return recorded.tau if recorded else None

    def _recorded(self, prompt_class: str) -> Estimate | None:
        if self.baseline is None or prompt_class not in self.baseline.classes:
            return None
        then = speedup(self.baseline, prompt_class)
        return then if then.blocks >= FEWEST_BLOCKS else None

    def _own_error(self, then: Estimate) -> float:
        """Twice the standard error of a baseline that one session recorded: it was measured too."""
        sure = then.blocks >= _SURE_BLOCKS and self.calibration.sessions >= _SURE_SESSIONS
        return 0.0 if sure else 2 * then.log_sd / math.sqrt(then.blocks)
