"""How long the work with RunPod waits, and for what; one place, so that a test need not wait."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Waits in seconds."""

    waits_s: tuple[float, ...] = (2.0, 5.0, 15.0)
    """Pauses before a request that failed for a passing reason is made again."""
    patience_s: float = 90.0
    """The longest pause that RunPod may ask for."""
    poll_s: float = 5.0
    """Between two looks at a pod."""
    provision_s: float = 900.0
    """For a machine, an image of several GB, and its sshd."""
    silence_s: float = 300.0
    """How long a pod that runs may be unreachable."""
    reserve_s: float = 240.0
    """Kept of the hours, to stop the work, fetch what there is and delete the pod."""
    stop_s: float = 120.0
    """For the work to end when it is told to."""
    settle_s: float = 600.0
    """How long a pod whose making was not confirmed may still turn up."""


PACE = Pace()
