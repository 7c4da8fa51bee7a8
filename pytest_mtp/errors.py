"""What can go wrong, as one tree; every message names the cause and the mend.

MtpError
├── SettingsError       what the user typed: options, ini values, profile files
├── InputError          a file that was given cannot be read as what it should be
├── CacheError          the cache folder cannot be used
├── SourceError         a llama.cpp tree cannot be had
├── BuildError          configuring or compiling failed
├── ModelError          a model cannot be had or is not what was asked for
├── FlagError           the build does not know a flag that is needed
├── ServerError         a llama-server process misbehaved
│   ├── ServerDied      it ended by itself
│   ├── ServerLate      it was not ready in time, or did not answer in time
│   └── ServerImposter  what answers is not the arm that was started
├── MeasureError        an answer cannot be used as a measurement
├── FleetError          the machines of a fleet cannot be reached
└── RentalError         a rented machine cannot be had, reached or used
    ├── PodLost         it ended, or fell silent, while it was used
    ├── PodLeft         it could not be deleted, and costs money
    └── Refused         the API refused a request (core/runpod/refusal.py)
"""


class MtpError(Exception):
    """Anything this package reports to its user; ``str()`` is one or more plain sentences."""


class SettingsError(MtpError):
    """An option, ini value or profile says something that cannot be used."""


class InputError(MtpError):
    """A given file (baseline, report, model header, help text) is not what it should be."""


class CacheError(MtpError):
    """The cache folder cannot be created, locked or written."""


class SourceError(MtpError):
    """The llama.cpp tree or binary asked for cannot be had."""


class BuildError(MtpError):
    """CMake or the compiler failed; the message ends with their last lines."""


class ModelError(MtpError):
    """The model cannot be had, or lacks what the measurement needs."""


class FlagError(MtpError):
    """The build of llama-server does not offer a flag that the profile needs."""


class ServerError(MtpError):
    """A llama-server process did not do what it was started for.

    ``command`` is the exact argv as one line; ``log_tail`` the last lines of its log.
    """

    def __init__(self, message: str, *, command: str = "", log_tail: str = "") -> None:
        parts = [message]
        if command:
            parts.append(f"Command: {command}")
        if log_tail:
            parts.append(f"Last lines of its log:\n{log_tail}")
        super().__init__("\n".join(parts))
        self.message = message
        self.command = command
        self.log_tail = log_tail

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.command, self.log_tail)


def _rebuild(kind: type[ServerError], message: str, command: str, log_tail: str) -> ServerError:
    """Rebuild a pickled error, whose arguments are by keyword."""
    return kind(message, command=command, log_tail=log_tail)


class ServerDied(ServerError):
    """The process ended by itself; the message names its exit status or signal."""


class ServerLate(ServerError):
    """The process did not become ready, or did not answer, before its deadline."""


class ServerImposter(ServerError):
    """Something answers, but it is not the arm that was started (other process, model or speculation)."""


class MeasureError(MtpError):
    """An answer breaks a precondition (tokens, cache, draft counts), so its block is INVALID."""


class FleetError(MtpError):
    """The scheduler of a fleet cannot be reached, or went away while its cells ran."""


class RentalError(MtpError):
    """A pod cannot be had, reached or used; the message says whether one is left."""


class PodLost(RentalError):
    """The pod ended or fell silent while it was used: nothing is known of the speed it would have shown."""


class PodLeft(RentalError):
    """A pod could not be deleted and costs money; the message has the commands that delete it."""
