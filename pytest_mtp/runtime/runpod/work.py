"""What is done in a pod that is up: entered, set up, followed to the end of the work or of the hours."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.runpod.look import Look, parse_look
from pytest_mtp.core.runpod.pod import DEAD
from pytest_mtp.core.runpod.refusal import Reason, Refused
from pytest_mtp.core.runpod.script import (
    RESULTS,
    SCRIPT,
    Job,
    look_words,
    prepare_words,
    script,
    start_words,
    stop_words,
)
from pytest_mtp.core.runpod.ssh_words import Way
from pytest_mtp.errors import PodLost, RentalError
from pytest_mtp.runtime.runpod.lease import Lease
from pytest_mtp.runtime.runpod.shell import Shell
from pytest_mtp.runtime.store import write_text

Said = Callable[[str], None]


def way_into(lease: Lease) -> Way:
    """How the pod of a lease is entered."""
    if lease.pod is None or lease.pod.door is None:
        raise RentalError(f"Pod {lease.record.name} has no address to enter it by.")
    place = lease.records.place(lease.record.name)
    return Way(lease.pod.door, str(place / "key"), str(place / "known_hosts"))


@dataclass(slots=True)
class Work:
    """A job in a pod."""

    lease: Lease
    job: Job
    said: Said
    """Told every line of the job's log."""
    _seen: int = 0
    _last_heard: float = 0.0

    @property
    def shell(self) -> Shell:
        """The way in; made anew, since an address can change."""
        return Shell(way_into(self.lease))

    def begin(self, package: Path | None = None) -> None:
        """Enter the pod, and start the job there; ``package`` is a file that it installs."""
        self._enter()
        shell, folder = self.shell, self.lease.records.place(self.lease.record.name)
        shell.checked(prepare_words(self.job))
        if package is not None:
            shell.send(package, self.job.path(package.name))
        write_text(folder / SCRIPT, script(self.job))
        shell.send(folder / SCRIPT, self.job.path(SCRIPT))
        shell.checked(start_words(self.job))

    def follow(self, meanwhile: Callable[[], None] = lambda: None) -> int | None:
        """The job's exit status; ``None`` where the hours were over first, and it was told to end.

        ``meanwhile`` is called after every look. PodLost where the pod dies or falls silent.
        """
        self._last_heard = time.monotonic()
        while (look := self._look()) is None or look.status is None:
            meanwhile()
            if time.monotonic() > self.lease.paid_until - self.lease.api.pace.reserve_s:
                self.stop()
                return None
            if look is None or not look.lines:
                time.sleep(self.lease.api.pace.poll_s)
        return look.status

    def stop(self) -> None:
        """Tell the job to end, and wait until it has; bounded."""
        self.shell.run(stop_words(self.job))
        end = time.monotonic() + self.lease.api.pace.stop_s
        while time.monotonic() < end:
            look = self._look()
            if look is not None and look.status is not None:
                return
            time.sleep(self.lease.api.pace.poll_s)

    def collect(self, out: Path) -> None:
        """Copy the results here."""
        self.shell.fetch(self.job.path(RESULTS), out)

    def _enter(self) -> None:
        """Wait for its sshd, which comes up after the pod does."""
        pace = self.lease.api.pace
        end = time.monotonic() + pace.silence_s
        while (tried := self.shell.run("true")).returncode != 0:
            self._check_alive()
            if time.monotonic() > end:
                raise RentalError(
                    f"Nobody is let into the pod by SSH ({tried.stderr.strip()[-200:]}). Is its image one with sshd?"
                )
            self.lease.api.say("waiting for the pod's sshd")
            time.sleep(pace.poll_s)

    def _look(self) -> Look | None:
        """New lines and whether it has ended; ``None`` where the pod was not to be entered this time."""
        look = parse_look(self.shell.run(look_words(self.job, self._seen)).stdout)
        if look is None:
            self._check_alive()
            return None
        self._last_heard = time.monotonic()
        self._seen += len(look.lines)
        for line in look.lines:
            self.said(line)
        return look

    def _check_alive(self) -> None:
        """PodLost where RunPod says that it has ended, or nothing was heard of it for long."""
        name, identifier = self.lease.record.name, self.lease.record.ids[0]
        silent_s = time.monotonic() - self._last_heard
        try:
            pod = self.lease.api.pod(identifier)
        except Refused as error:
            if error.reason is Reason.GONE:
                raise PodLost(f"Pod {identifier} ({name}) is gone: somebody or RunPod deleted it.") from error
            pod = None
        if pod is not None and pod.status in DEAD:
            raise PodLost(f"Pod {identifier} ({name}) ended while it was used (it is {pod.status}).")
        if pod is not None and pod.door is not None:
            self.lease.pod = pod
        if self._last_heard and silent_s > self.lease.api.pace.silence_s:
            raise PodLost(f"Pod {identifier} ({name}) has not answered for {silent_s:.0f} s.")
