"""Which boxes are in doubt: nothing is measured there, and every further cell would be lost on them."""

from collections import Counter
from dataclasses import dataclass, field

MOST_IN_VAIN = 2
"""One cell may have itself to blame; so many in a row are taken for the box's fault."""


@dataclass(slots=True)
class Repute:
    """What became of the cells that each box had last, in one run."""

    _in_vain: Counter[str] = field(default_factory=Counter)
    """By the box's name: such cells since its last good one."""

    def note(self, box: str, *, in_vain: bool) -> None:
        """Remember how a box's cell ended; ``in_vain`` where nothing was measured."""
        if in_vain:
            self._in_vain[box] += 1
        else:
            del self._in_vain[box]

    @property
    def doubted(self) -> frozenset[str]:
        """Names of the boxes that are given no cell which another could take."""
        return frozenset(box for box, count in self._in_vain.items() if count >= MOST_IN_VAIN)
