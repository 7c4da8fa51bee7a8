"""Looks at the cards again and again while requests run, from a thread of its own.

A look that fails is counted and never ends a measurement.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from pytest_mtp.core.telemetry import Reading, Telemetry, telemetry
from pytest_mtp.runtime.telemetry.absent import Absent
from pytest_mtp.runtime.telemetry.protocol import Watch, Watcher

INTERVAL_S = 0.2


class Sampler:
    """Readings of the requests of each server, by whatever names it; ``sampled`` makes and ends it."""

    def __init__(self, watcher: Watcher, pids: Mapping[Any, int | None], clock: Callable[[], float]) -> None:
        self._watcher = watcher
        self._pids = dict(pids)
        self._own = self._family()
        self._clock = clock
        self._began = clock()
        self._requests: dict[Hashable, list[list[Reading]]] = {server: [] for server in pids}
        self._failed = dict.fromkeys(pids, 0)
        self._asking: Hashable | None = None
        # The thread and the asking code look through the same handle, and a request's list has two writers.
        self._lock = threading.Lock()

    @contextmanager
    def during(self, server: Hashable) -> Iterator[None]:
        """One request of ``server``: a look at its very start, at its very end, and by the thread in between."""
        with self._lock:
            self._requests[server].append([])
            self._asking = server
            self._look(server)
        try:
            yield
        finally:
            with self._lock:
                self._look(server)
                self._asking = None

    def look(self) -> None:
        """One look, if a request runs."""
        with self._lock:
            if self._asking is not None:
                self._look(self._asking)

    def telemetry(self, server: Hashable) -> Telemetry:
        """What was seen during the requests of one server so far."""
        with self._lock:
            return telemetry(self._watcher.source, self._requests[server], failed_reads=self._failed[server])

    def _look(self, server: Hashable) -> None:
        try:
            reading = self._read()
        except Exception:  # a driver can fail in ways of its own, and no measurement is lost for a temperature
            self._failed[server] += 1
            reading = Reading()
        since = self._clock() - self._began
        self._requests[server][-1].append(replace(reading, t_s=since, rss_bytes=_rss_bytes(self._pids[server])))

    def _read(self) -> Reading:
        reading = self._watcher.read(self._own)
        if reading.foreign:
            # Perhaps a server has got a child since.
            self._own = self._family()
            reading = replace(reading, foreign=tuple(one for one in reading.foreign if one.pid not in self._own))
        return reading

    def _family(self) -> frozenset[int]:
        return _family(pid for pid in self._pids.values() if pid is not None)


@contextmanager
def sampled(
    watch: Watch,
    pids: Mapping[Any, int | None],
    interval_s: float = INTERVAL_S,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Sampler]:
    """Look at the cards every ``interval_s`` while a request runs; ``pids`` are the servers, ``None`` if not ours."""
    with _watching(watch) as watcher:
        sampler, ended = Sampler(watcher, pids, clock), threading.Event()
        thread = threading.Thread(target=_keep_looking, args=(sampler, ended, interval_s), daemon=True)
        thread.start()
        try:
            yield sampler
        finally:
            ended.set()
            thread.join()


def _keep_looking(sampler: Sampler, ended: threading.Event, interval_s: float) -> None:
    while not ended.wait(interval_s):
        sampler.look()


@contextmanager
def _watching(watch: Watch) -> Iterator[Watcher]:
    """The watcher, or none that sees anything where it cannot be had: a driver can be lost between two starts."""
    try:
        opened = watch()
        watcher = opened.__enter__()
    except Exception:
        yield Absent()
        return
    try:
        yield watcher
    finally:
        with suppress(Exception):
            opened.__exit__(None, None, None)


def _family(pids: Iterable[int]) -> frozenset[int]:
    """The processes and everything that they have started."""
    import psutil

    members = set(pids)
    for pid in tuple(members):
        with suppress(psutil.Error):
            members.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return frozenset(members)


def _rss_bytes(pid: int | None) -> int | None:
    import psutil

    if pid is None:
        return None
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None
