"""A job in a pod that is up, through a real sshd and a real shell: set up, followed, stopped, lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.runpod.script import NOT_SET_UP, Job
from pytest_mtp.errors import PodLost, RentalError
from pytest_mtp.runtime.runpod.lease import Lease
from pytest_mtp.runtime.runpod.work import Work
from tests.fakes.rented import HF_TOKEN, Machine
from tests.fakes.runpod import Reply, RunPod
from tests.runtime.runpod.conftest import Rent

Begin = Callable[..., Work]
ENDLESS = "import time; open('began', 'w').close(); time.sleep(600)"


@pytest.fixture
def log() -> list[str]:
    """The lines of the pod's log, as they came."""
    return []


@pytest.fixture
def lease(machine: Machine, rent: Rent) -> Iterator[Lease]:
    """A pod that is up, whose sshd is real."""
    assert machine.sshd.door
    with rent() as rented:
        yield rented


@pytest.fixture
def begin(lease: Lease, machine: Machine, log: list[str]) -> Begin:
    """Start some words of Python."""

    def start(*words: str, grace_s: int | None = None, **more: object) -> Work:
        machine.folder.mkdir(exist_ok=True)
        (machine.folder / "words.py").write_text(words[0] if words else "")
        job = Job(
            package="pytest-mtp",
            words=("words", *words[1:]) if words else (),
            api=lease.api.base,
            grace_s=grace_s,
            folder=str(machine.folder),
            environ=str(machine.environ),
        )
        work = Work(lease, job, log.append)
        _beside(machine)
        work.begin(**more)  # type: ignore[arg-type]  # of a test
        return work

    return start


def _beside(machine: Machine) -> None:
    """Have the module lie where it is found: in the folder that the job works in."""
    work = machine.folder / "work"
    work.mkdir(exist_ok=True)
    (work / "words.py").write_text((machine.folder / "words.py").read_text())


def test_the_log_is_followed_to_the_status_of_the_work(begin: Begin, log: list[str]) -> None:
    work = begin("import sys; print('one'); print('two, without an end', end=''); sys.exit(18)")
    assert work.follow() == 18
    assert log[-2:] == ["one", "two, without an end"]


def test_what_lacks_is_installed_and_the_package_is_what_was_asked_for(begin: Begin, machine: Machine) -> None:
    assert begin("pass").follow() == 0
    apt = (machine.sshd.programs / "apt.words").read_text()
    assert apt.splitlines()[-1].split()[-2:] == ["ninja-build", "ccache"]
    assert (machine.folder / "uv.words").read_text().split()[-1] == "pytest-mtp"


def test_a_file_is_sent_to_be_installed(begin: Begin, machine: Machine, tmp_path: Path) -> None:
    wheel = tmp_path / "pytest_mtp-1-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    assert begin("pass", package=wheel).follow() == 0
    assert (machine.folder / wheel.name).read_bytes() == b"wheel"


def test_the_token_reaches_the_work_alone_and_the_pods_key_nobody(
    peer: RunPod, begin: Begin, machine: Machine, log: list[str]
) -> None:
    (pod,) = peer.pods.values()
    with machine.environ.open("a") as file:
        file.write(f"HF_TOKEN={HF_TOKEN}\0CUDA_VERSION=12.8.1\0SECRET_OF_OTHERS={HF_TOKEN}\0")
    assert begin("import os; print(sorted(os.environ.items()))").follow() == 0
    seen = log[-1]
    assert ("HF_TOKEN", HF_TOKEN) in eval(seen)
    assert "('CUDA_VERSION', '12.8.1')" in seen
    assert "SECRET_OF_OTHERS" not in seen
    assert pod.own_key not in seen
    assert HF_TOKEN not in (machine.folder / "uv.env").read_text()
    assert pod.own_key not in (machine.folder / "uv.env").read_text()
    assert pod.own_key not in (machine.folder / "job.sh").read_text()


def test_a_secret_that_runpod_does_not_know_is_no_token(begin: Begin, machine: Machine, log: list[str]) -> None:
    with machine.environ.open("a") as file:
        file.write("HF_TOKEN={{ RUNPOD_SECRET_nobody }}\0")
    assert begin("import os; print(os.environ.get('HF_TOKEN'))").follow() == 0
    assert log[-1] == "None"
    assert "RunPod has no secret of the name given: going on without a token." in log


def test_a_set_up_that_fails_is_no_verdict(begin: Begin, machine: Machine, log: list[str]) -> None:
    machine.sshd.program("uv", "echo no such package; exit 1")
    assert begin("pass").follow() == NOT_SET_UP
    assert log[-1] == "no such package"


def test_results_are_fetched(begin: Begin, tmp_path: Path) -> None:
    work = begin("import pathlib; pathlib.Path('../results/report.json').write_text('{}')")
    assert work.follow() == 0
    work.collect(tmp_path / "out")
    assert (tmp_path / "out" / "report.json").read_text() == "{}"


def test_work_whose_hours_are_over_is_told_to_end_and_leaves_its_results(
    begin: Begin, lease: Lease, machine: Machine, tmp_path: Path
) -> None:
    polite = (
        "import pathlib, signal, sys, time\n"
        "def end(*_):\n    pathlib.Path('../results/kept').write_text('so far'); sys.exit(2)\n"
        "signal.signal(signal.SIGTERM, end); open('began', 'w').close(); time.sleep(600)"
    )
    work = begin(polite)

    def over_once_it_began() -> None:
        if (machine.folder / "work" / "began").exists():
            lease.began -= lease.budget.seconds

    assert work.follow(over_once_it_began) is None
    work.collect(tmp_path / "out")
    assert (tmp_path / "out" / "kept").read_text() == "so far"
    assert (machine.folder / "status").exists()


@pytest.mark.parametrize("status", ["EXITED", "ERROR", "TERMINATED"])
def test_a_pod_that_dies_while_it_works_is_lost_and_deleted(
    begin: Begin, peer: RunPod, machine: Machine, status: str
) -> None:
    work = begin(ENDLESS)

    def die() -> None:
        (pod,) = peer.pods.values()
        pod.statuses[:] = [status]
        machine.sshd.authorized.write_text("")

    with pytest.raises(PodLost, match=f"ended while it was used \\(it is {status}\\)"):
        work.follow(die)


def test_a_pod_that_somebody_deleted_is_lost(begin: Begin, peer: RunPod, machine: Machine) -> None:
    work = begin(ENDLESS)

    def vanish() -> None:
        peer.pods.clear()
        machine.sshd.authorized.write_text("")

    with pytest.raises(PodLost, match="is gone"):
        work.follow(vanish)


def test_a_pod_that_falls_silent_is_lost(begin: Begin, lease: Lease, machine: Machine) -> None:
    work = begin(ENDLESS)
    lease.api.pace = replace(lease.api.pace, silence_s=0.0)
    machine.sshd.authorized.write_text("")
    with pytest.raises(PodLost, match="has not answered for"):
        work.follow()


def test_a_connection_that_breaks_for_a_while_loses_nothing(begin: Begin, machine: Machine, log: list[str]) -> None:
    work = begin("import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)\nprint('gone on')")
    keys = machine.sshd.authorized.read_text()
    looks = 0

    def out_for_two_looks() -> None:
        nonlocal looks
        looks += 1
        machine.sshd.authorized.write_text("" if looks < 3 else keys)
        if looks == 3:
            (machine.folder / "work" / "go").touch()

    assert work.follow(out_for_two_looks) == 0
    assert log[-1] == "gone on"
    assert log.count("gone on") == 1


def test_a_pod_that_lets_nobody_in_is_said(lease: Lease, machine: Machine, log: list[str]) -> None:
    machine.sshd.authorized.write_text("")
    lease.api.pace = replace(lease.api.pace, silence_s=-1.0)
    job = Job(package="x", words=(), api=lease.api.base, grace_s=None, folder=str(machine.folder))
    with pytest.raises(RentalError, match=r"Nobody is let into the pod by SSH .*image one with sshd"):
        Work(lease, job, log.append).begin()


def test_a_pod_that_nobody_comes_back_to_deletes_itself_after_its_work(begin: Begin, peer: RunPod) -> None:
    assert begin("pass", grace_s=0).follow() == 0
    while True:
        with peer.lock:
            if not peer.pods:
                break


def test_a_pod_with_a_refused_question_goes_on(begin: Begin, peer: RunPod, machine: Machine) -> None:
    work = begin("import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)")
    keys = machine.sshd.authorized.read_text()

    def once() -> None:
        if machine.sshd.authorized.read_text():
            machine.sshd.authorized.write_text("")
            peer.replies["GET /v2/pods/*"] = [Reply(401)]
        else:
            machine.sshd.authorized.write_text(keys)
            (machine.folder / "work" / "go").touch()

    assert work.follow(once) == 0
