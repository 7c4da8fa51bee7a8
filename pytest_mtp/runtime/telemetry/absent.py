"""No source at all (a CPU, macOS, a card without readings): only the server's own memory is known."""

from pytest_mtp.core.telemetry import Reading, TelemetrySource


class Absent:
    """Sees no card."""

    source = TelemetrySource.NONE
    identity = "none"

    def __enter__(self) -> "Absent":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    def read(self, own_pids: frozenset[int]) -> Reading:
        """Nothing."""
        return Reading()
