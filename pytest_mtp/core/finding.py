"""One thing that was found out about a machine, and what it means."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """What a finding means for a measurement."""

    HAVE = "ok"
    NOTE = "note"
    LACK = "lacks"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's page; a lack says its mend."""

    state: State
    subject: str
    said: str


def ready(findings: Iterable[Finding]) -> bool:
    """Whether nothing is lacking."""
    return all(finding.state is not State.LACK for finding in findings)
