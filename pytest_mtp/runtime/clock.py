"""What a campaign has taken so far, and what it may still take."""

import time
from dataclasses import dataclass, field

from pytest_mtp.core.amount import counted
from pytest_mtp.core.sample import TIME_LIMIT
from pytest_mtp.runtime.progress import Progress

_IN_MINUTES_FROM_S = 90


@dataclass(slots=True)
class CampaignClock:
    """Runs from its making; told of every block."""

    flag_set: str
    looks: tuple[int, ...]
    deadline: float | None
    """``time.monotonic()`` after which no further block starts; ``None`` is never."""
    least_s: float = 0.0
    """What a block takes at least."""
    ended: bool = False
    """Whether there was no time for another block."""
    _began: float = field(default_factory=time.monotonic)
    _blocks: int = 0

    def block_done(self) -> None:
        """Count one more block."""
        self._blocks += 1

    @property
    def _block_s(self) -> float | None:
        return (time.monotonic() - self._began) / self._blocks if self._blocks else None

    def spent(self, valid: int) -> str | None:
        """Why the next block must not start; ``None`` while there is time for it."""
        if self.deadline is None or time.monotonic() + max(self._block_s or 0.0, self.least_s) <= self.deadline:
            return None
        self.ended = True
        return f"the time limit ended it after {counted(valid, 'valid block')} ({TIME_LIMIT})"

    def prefix(self, done: int, progress: Progress) -> Progress:
        """``progress`` with the block and the time left in front; ``done`` is the number of valid blocks."""
        look = next((look for look in self.looks if look > done), self.looks[-1])
        left = "" if self._block_s is None else f", {_duration(self._block_s * (look - done))} to the next look"
        said = f"{self.flag_set}: block {done + 1} of {look} (at most {self.looks[-1]}){left}"
        return lambda text: progress(f"{said}: {text}")


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= _IN_MINUTES_FROM_S else f"{seconds:.0f} s"
