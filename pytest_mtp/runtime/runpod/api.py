"""RunPod's REST API v2, as far as it is used: the catalog of cards, and pods."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from pytest_mtp.core.runpod.offer import Catalog, Cloud, GpuType
from pytest_mtp.core.runpod.pod import Pod, PodList
from pytest_mtp.core.runpod.refusal import PASSING, Reason, Refused, asked_wait_s, reason_of
from pytest_mtp.core.secret import Secret
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.certificate import certificate_complaint
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.runpod.pace import PACE, Pace

T = TypeVar("T")

BASE = "https://api.runpod.io"
KEY_VARIABLE = "RUNPOD_API_KEY"
_TIMEOUT_S = 30.0
_MOST_S = 90.0
"""For one whole answer, however slowly its bytes come."""
_MOST_BYTES = 16 * 2**20
_GOOD = range(200, 300)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def key_of_environment() -> Secret:
    """The key; SettingsError where there is none. It goes into one header, and nowhere else."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise SettingsError(
            f"Set {KEY_VARIABLE} in the environment to a key of your RunPod account with read and write access to "
            "pods; it is no option, since command lines are seen by others and kept by shells."
        )
    if not key.isascii() or not key.isprintable():
        raise SettingsError(f"{KEY_VARIABLE} holds what no key has; set it to the key alone.")
    return Secret(key)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(slots=True)
class Api:
    """A connection; refusals are ``Refused``. Only what changes nothing is asked again after a failure."""

    key: Secret
    say: Progress
    base: str = field(default_factory=lambda: BASE)
    pace: Pace = field(default_factory=lambda: PACE)
    _http: Any = None

    def __enter__(self) -> Self:
        import httpx

        headers = {
            "Authorization": f"Bearer {self.key}",
            "User-Agent": "pytest-mtp",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        # No redirect is followed: it would carry the key to whoever it names.
        trusted = urlsplit(self.base).hostname not in _LOOPBACK
        self._http = httpx.Client(base_url=self.base, headers=headers, timeout=_TIMEOUT_S, trust_env=trusted)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def gpus(self, cloud: Cloud, min_cuda: str | None) -> tuple[GpuType, ...]:
        """The catalog of cards with prices, and what is free now of machines with that CUDA."""
        query = {"include": "AVAILABILITY", "product": "POD", "count": "1", "cloud": cloud.value}
        newer = {} if min_cuda is None else {"minCudaVersion": min_cuda}
        what = "RunPod does not name its cards and prices"
        return self._patiently(lambda: self._ask("GET", "/v2/catalog/gpus", Catalog, what, query=query | newer)).gpus

    def pods(self) -> tuple[Pod, ...]:
        """All pods of the account."""
        return self._patiently(self.pods_once)

    def pods_once(self) -> tuple[Pod, ...]:
        """The same, asked once: by who asks again anyway."""
        return self._ask("GET", "/v2/pods", PodList, "RunPod does not list the account's pods").pods

    def pod(self, identifier: str) -> Pod:
        """One pod; ``Refused`` with GONE where it is deleted."""
        what = f"RunPod does not tell of pod {identifier}"
        return self._patiently(lambda: self._ask("GET", f"/v2/pods/{identifier}", Pod, what))

    def create(self, body: Mapping[str, Any]) -> Pod:
        """Make a pod, asked once: where the answer is lost, it may be there all the same."""
        what = f"RunPod makes no pod with {body['gpu']['id']}"
        return self._ask("POST", "/v2/pods", Pod, what, body=body)

    def delete(self, identifier: str) -> None:
        """Delete a pod, asked once; one that is gone already is fine."""
        try:
            self._checked("DELETE", f"/v2/pods/{identifier}", f"RunPod does not delete pod {identifier}")
        except Refused as error:
            if error.reason is not Reason.GONE:
                raise

    def _patiently(self, act: Callable[[], T]) -> T:
        """What ``act`` answers, asked again a few times when the reason for a refusal may pass."""
        for usual_s in self.pace.waits_s:
            try:
                return act()
            except Refused as error:
                wait_s = self.wait_of(error, usual_s)
                if wait_s is None:
                    raise
                self.say(f"{error.what}: {error.reason.value}; asking again in {wait_s:.0f} s")
                time.sleep(wait_s)
        return act()

    def wait_of(self, error: Refused, usual_s: float) -> float | None:
        """How long to wait before asking again; ``None`` when that is no use, or RunPod wants too long a pause."""
        if error.reason not in PASSING:
            return None
        wait_s = usual_s if error.wait_s is None else error.wait_s
        return wait_s if wait_s <= self.pace.patience_s else None

    def _ask(self, method: str, path: str, kind: type[T], what: str, **more: Any) -> T:
        import msgspec

        answer = self._checked(method, path, what, **more)
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise Refused(Reason.CUT, what, f"its answer is no {kind.__name__}: {error}") from error

    def _checked(self, method: str, path: str, what: str, **more: Any) -> _Answer:
        answer = self._sent(method, path, what, **more)
        if answer.status in _GOOD:
            return answer
        reason = reason_of(answer.status)
        detail = _detail(answer.content).replace(self.key, "...")
        raise Refused(reason, what, f"HTTP {answer.status}: {detail}", asked_wait_s(answer.headers))

    def _sent(
        self,
        method: str,
        path: str,
        what: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> _Answer:
        import httpx

        try:
            with self._http.stream(method, path, params=query, json=body) as answer:
                return _Answer(answer.status_code, answer.headers, _whole(answer))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            complaint = certificate_complaint(error)
            why = f"its certificate is not accepted ({complaint})" if complaint else str(error) or type(error).__name__
            # Where there was never a connection, nothing was asked for.
            unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol)
            reason = Reason.UNREACHABLE if unsent else Reason.CUT
            raise Refused(reason, what, why.replace(self.key, "...")) from error


def _whole(answer: Any) -> bytes:
    """The content, of bounded size and in bounded time; ``httpx.ReadError`` otherwise."""
    import httpx

    content, end = bytearray(), time.monotonic() + _MOST_S
    for piece in answer.iter_raw():
        content += piece
        if len(content) > _MOST_BYTES or time.monotonic() > end:
            raise httpx.ReadError("the answer does not end")
    return bytes(content)


def _detail(content: bytes) -> str:
    """What a problem document says, with its list of errors; of anything else the beginning."""
    import msgspec

    try:
        told = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return content[:200].decode(errors="replace")
    errors = told.get("errors")
    listed = errors if isinstance(errors, list) else []
    return "; ".join(str(one) for one in (told.get("detail") or told.get("title") or "", *listed) if one)
