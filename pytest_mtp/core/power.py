"""How small a loss a campaign can find: what "no regression" is worth."""

import math

from pytest_mtp.core.speedup import FEWEST_BLOCKS


def power(effect: float, sd: float, blocks: int, alpha: float) -> float:
    """The chance that a one-sided t test at ``alpha`` finds a shift of ``effect`` (logs, as is ``sd``)."""
    from scipy.stats import nct, t

    if sd == 0:
        return 1.0 if effect > 0 else 0.0
    critical = float(t.ppf(1 - alpha, blocks - 1))
    return float(nct.sf(critical, blocks - 1, effect * math.sqrt(blocks) / sd))


def detectable(sd: float, blocks: int, alpha: float, chance: float = 0.8) -> float | None:
    """The smallest loss, as a share, that is found with ``chance``; ``None`` below two blocks or beyond all bounds.

    ``sd`` is that of the logs of blocks, ``alpha`` the level at which the class would be tested.
    """
    from scipy.optimize import brentq

    if blocks < FEWEST_BLOCKS or not math.isfinite(sd):
        return None
    if sd == 0:
        return 0.0
    largest = 50 * sd  # beyond it a loss is found for certain, or the test is hopeless
    if power(largest, sd, blocks, alpha) < chance:
        return None
    effect = float(brentq(lambda shift: power(shift, sd, blocks, alpha) - chance, 0.0, largest, xtol=1e-6))
    return 1 - math.exp(-effect)
