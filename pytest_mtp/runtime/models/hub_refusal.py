"""The errors of huggingface_hub, its HTTP library and the disk, told apart."""

import errno
from typing import TYPE_CHECKING, Any

from pytest_mtp.core.hub_refusal import Refusal, Refused, asked_wait_s, plain
from pytest_mtp.runtime.certificate import certificate_complaint

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError

_LOWEST_SERVER_ERROR = 500
_BY_STATUS = {403: Refusal.FORBIDDEN, 408: Refusal.SERVER, 429: Refusal.RATE}
_TOKEN_STATUS = 401


class OversizeError(OSError):
    """More of a file came than the hub announced."""


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def http_library() -> Any:
    """The HTTP library of huggingface_hub, whose errors are not its own: httpx before 2.0, httpx2 since."""
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # exported, but lazily

    return httpx


def refused(error: BaseException) -> Refused:
    """Why the hub, the way to it or the disk refused, as data."""
    from huggingface_hub import errors

    if (complaint := certificate_complaint(error)) is not None:
        return Refused(kind=Refusal.CERTIFICATE, detail=complaint)
    hub_http = http_library()
    detail = plain(str(error)) or type(error).__name__
    match error:
        case errors.HfHubHTTPError():
            return _answered(error)
        case errors.OfflineModeIsEnabled():
            return Refused(kind=Refusal.OFFLINE)
        case hub_http.TransportError() | ConnectionError() | TimeoutError():
            return Refused(kind=Refusal.UNREACHABLE, detail=detail)
        # The hub wraps what it met while it looked whether the file is cached.
        case errors.LocalEntryNotFoundError() if error.__cause__ is not None:
            return refused(error.__cause__)
    return Refused(kind=_of_disk(error) if isinstance(error, OSError) else Refusal.OTHER, detail=detail)


def _answered(error: "HfHubHTTPError") -> Refused:
    response = error.response
    # Whether one was sent says the request itself; its value is never looked at.
    kind = _kind(error, response.status_code, token="authorization" in response.request.headers)
    said = plain(response.headers.get("X-Error-Message") or response.reason_phrase)
    detail = f"{response.status_code} {said}".strip()
    return Refused(kind=kind, detail=detail, wait_s=asked_wait_s(response.headers))


def _kind(error: "HfHubHTTPError", status: int, *, token: bool) -> Refusal:
    from huggingface_hub import errors

    match error:
        # A gated repository is a kind of RepositoryNotFoundError.
        case errors.GatedRepoError():
            return Refusal.GATED_TO_TOKEN if token else Refusal.GATED
        case errors.RepositoryNotFoundError():
            return Refusal.NO_REPO_FOR_TOKEN if token else Refusal.NO_REPO
        case errors.RevisionNotFoundError():
            return Refusal.NO_REVISION
        case errors.RemoteEntryNotFoundError():
            return Refusal.NO_FILE
        case errors.DisabledRepoError():
            return Refusal.DISABLED
    return _kind_of_status(status, token=token)


def _kind_of_status(status: int, *, token: bool) -> Refusal:
    if status == _TOKEN_STATUS:
        return Refusal.WRONG_TOKEN if token else Refusal.NO_TOKEN
    if status >= _LOWEST_SERVER_ERROR:
        return Refusal.SERVER
    return _BY_STATUS.get(status, Refusal.OTHER)


def _of_disk(error: OSError) -> Refusal:
    if error.errno in _FULL:
        return Refusal.DISK_FULL
    # The hub has no error of its own for this.
    if isinstance(error, OversizeError) or "Consistency check failed" in str(error):
        return Refusal.SIZE
    return Refusal.OTHER if error.errno is None else Refusal.DISK
