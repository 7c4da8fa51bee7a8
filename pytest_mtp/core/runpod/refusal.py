"""What RunPod's refusals mean, and which of them another kind of card or another try may mend."""

import re
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from pytest_mtp.core.secret import masked
from pytest_mtp.errors import RentalError

_LONGEST = 300
_SERVER_ERROR = 500


class Reason(Enum):
    """Why a request was refused."""

    NO_PLACE = "no machine of this kind is free, or the request breaks a rule"
    KEY = "the key is not accepted"
    BALANCE = "the balance is too low"
    FORBIDDEN = "the key or the account may not do this"
    GONE = "there is no such thing"
    REQUEST = "the request is not what the API takes"
    TOO_OFTEN = "too many requests"
    FAULT = "RunPod failed"
    UNREACHABLE = "it cannot be reached"
    CUT = "no whole answer came"


ANOTHER_KIND = frozenset({Reason.NO_PLACE, Reason.FORBIDDEN})
"""The next kind of card may still be had."""
PASSING = frozenset({Reason.TOO_OFTEN, Reason.FAULT, Reason.UNREACHABLE, Reason.CUT})
"""The same question may be answered later."""
UNCERTAIN = frozenset({Reason.FAULT, Reason.CUT})
"""What was asked for may have been done all the same."""

_REASONS: Mapping[int, Reason] = MappingProxyType(
    {
        400: Reason.NO_PLACE,  # both, by RunPod's own words: capacity has no status of its own
        401: Reason.KEY,
        402: Reason.BALANCE,
        403: Reason.FORBIDDEN,
        404: Reason.GONE,
        422: Reason.REQUEST,
        429: Reason.TOO_OFTEN,
    }
)
_MENDS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.NO_PLACE: "Name further kinds with --gpu, another --cloud, or try again later.",
        Reason.KEY: "Check RUNPOD_API_KEY; keys are made in RunPod's console, under Credentials.",
        Reason.BALANCE: "Add credit in RunPod's console; an hour's worth is the least.",
        Reason.FORBIDDEN: "Give the key in RUNPOD_API_KEY read and write access to pods.",
        Reason.GONE: "Look at the console, and check the names that were given.",
        Reason.REQUEST: "RunPod's API has changed: update pytest-mtp.",
        Reason.TOO_OFTEN: "Try again later.",
        Reason.FAULT: "Try again later.",
        Reason.UNREACHABLE: "Check the network and try again.",
        Reason.CUT: "Check the network and try again.",
    }
)


class Refused(RentalError):
    """A request that was not granted.

    ``reason`` says which way, ``detail`` is what RunPod said, ``wait_s`` the pause that it asked for.
    """

    def __init__(self, reason: Reason, what: str, detail: str, wait_s: float | None = None) -> None:
        said = masked(" ".join(detail.split()))[:_LONGEST] or "it does not say why"
        super().__init__(f"{what}: {reason.value} ({said}). {_MENDS[reason]}")
        self.reason = reason
        self.what = what
        self.detail = said
        self.wait_s = wait_s

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, self.what, self.detail, self.wait_s)


def reason_of(status: int) -> Reason:
    """Why an answer with this status is a refusal."""
    return Reason.FAULT if status >= _SERVER_ERROR else _REASONS.get(status, Reason.REQUEST)


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """The pause that an answer asks for, in whole seconds as RunPod writes it; header names lowercase."""
    asked = headers.get("retry-after", "")
    return float(asked) if re.fullmatch(r"\d{1,9}", asked) else None
