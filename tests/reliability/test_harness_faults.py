"""What ends or disturbs a run from outside: no process, no lock and no half-made entry outlives it."""

import json
import os
import pty
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_mtp.runtime.cache import STAMP
from tests.reliability.harness_runs import Rig, Started, laid_out
from tests.waiting import until

_ONE = ("-k", "speedup and n3-a")
_ENDS = [(signal.SIGINT, 2), (signal.SIGTERM, 2), (signal.SIGHUP, 2), (signal.SIGKILL, -signal.SIGKILL)]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with laid_out(tmp_path / "rig") as rig:
        yield rig


def in_its_second_block(rig: Rig, name: str = "run") -> Started:
    """A run whose third server does not answer."""
    rig.faults("honest", "honest", "hangs", "honest")
    started = rig.start(*_ONE, name=name)
    rig.await_server(3)
    return started


@pytest.mark.parametrize(("number", "status"), _ENDS)
def test_a_signal_while_a_server_answers_leaves_no_process_and_no_lock(
    number: signal.Signals, status: int, rig: Rig
) -> None:
    run = in_its_second_block(rig)
    run.process.send_signal(number)
    assert run.ended() == status
    rig.assert_nothing_is_left()
    assert list(rig.cache.glob("unfinished/*/block-*.json")), "its finished block is kept"
    if number != signal.SIGKILL:
        assert "n3: interrupted after 1 valid block" in run.said


@pytest.mark.parametrize(("number", "status"), _ENDS)
def test_a_signal_while_it_compiles_leaves_no_compiler_and_no_entry(
    number: signal.Signals, status: int, rig: Rig
) -> None:
    run = rig.start(*_ONE, f"--mtp-source={rig.quick_source()}")
    until(rig.build_steps, "the compiler was started")
    run.process.send_signal(number)
    assert run.ended() == status
    rig.assert_nothing_is_left()
    assert not list(rig.cache.glob(f"build/*/{STAMP}"))


def hang_up(terminal: int, _run: Started) -> None:
    """The window is closed: the kernel sends SIGHUP, and nothing can be written any more."""
    os.close(terminal)


def hang_up_and_interrupt(terminal: int, run: Started) -> None:
    """Of a run that is deaf to SIGHUP, as below nohup or disown: it is ended later, and still has no terminal."""
    os.close(terminal)
    run.process.terminate()


@pytest.mark.parametrize(("deaf", "close"), [(False, hang_up), (True, hang_up_and_interrupt)])
def test_a_closed_terminal_leaves_no_process_and_no_lock(
    deaf: bool,  # noqa: FBT001 - a value of the table
    close: Callable[[int, Started], None],
    rig: Rig,
) -> None:
    terminal, end = pty.openpty()
    rig.faults("honest", "honest", "hangs")
    run = rig.start(*_ONE, terminal=end, before=("sh", "-c", "trap '' HUP; exec \"$@\"", "deaf") if deaf else ())
    os.close(end)
    rig.await_server(3)
    close(terminal, run)
    assert run.ended() != 0
    rig.assert_nothing_is_left()
    assert list(rig.cache.glob("unfinished/*/block-*.json")), "its finished block is kept"


def test_a_run_whose_terminal_is_gone_writes_its_report_and_is_not_green(rig: Rig) -> None:
    terminal, end = pty.openpty()
    run = rig.start(*_ONE, "--mtp-json=r.json", terminal=end, before=("sh", "-c", "trap '' HUP; exec \"$@\"", "deaf"))
    os.close(end)
    until(rig.starts, "a server was started")
    os.close(terminal)
    run.ended()
    rig.assert_nothing_is_left()
    assert [one["outcome"] for one in speeds(rig)] == ["PASS"]


def speeds(rig: Rig) -> list[dict[str, object]]:
    report = json.loads((rig.work / "r.json").read_text())
    return [result["speed"] for judged in report["judged"] for result in judged["results"]]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_second_run_waits_for_the_device_and_goes_on_when_the_first_is_gone(number: signal.Signals, rig: Rig) -> None:
    first = in_its_second_block(rig, "first")
    second = rig.start(*_ONE, name="second")
    until(lambda: "another run measures on cpu; waiting for it to end" in second.said, "the second run said it waits")
    assert len(rig.starts()) == 3, "it measures nothing meanwhile"
    first.process.send_signal(number)
    first.ended()
    assert second.ended() == 0, second.said
    rig.assert_nothing_is_left()


@pytest.mark.parametrize(("kill_the_first", "steps"), [(False, 1), (True, 2)])
def test_two_runs_build_a_commit_once_unless_the_first_is_killed(
    kill_the_first: bool,  # noqa: FBT001 - a value of the table
    steps: int,
    rig: Rig,
) -> None:
    source = f"--mtp-source={rig.quick_source()}"
    first = rig.start(*_ONE, source, name="first")
    until(rig.build_steps, "the compiler was started")
    second = rig.start(*_ONE, source, name="second")
    until(lambda: "waiting for another process that works on tree" in second.said, "the second run said it waits")
    if kill_the_first:
        first.process.kill()
    rig.let_build()
    assert (first.ended(), second.ended()) == (-signal.SIGKILL if kill_the_first else 0, 0), second.said
    assert len(rig.build_steps()) == steps
    assert len(list(rig.cache.glob(f"build/*/{STAMP}"))) == 1
    rig.assert_nothing_is_left()


_BACKWARDS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static _Atomic long asked;
int clock_gettime(clockid_t clock, struct timespec *told) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, told);
    if (clock == CLOCK_REALTIME) told->tv_sec -= 60 * ++asked;
    return status;
}
int gettimeofday(struct timeval *told, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    told->tv_sec = now.tv_sec;
    told->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *told) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (told) *told = now.tv_sec;
    return now.tv_sec;
}
"""


@pytest.fixture(scope="module")
def backwards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library under which the time of day is a minute earlier whenever it is asked for."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("a clock that steps backwards is compiled: there is no cc")
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(_BACKWARDS)
    library = folder / "clock.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(library), str(folder / "clock.c"), "-ldl"],
        check=True,
    )
    return library


def test_a_clock_that_steps_backwards_changes_no_verdict_and_no_duration(backwards: Path, rig: Rig) -> None:
    words = (*_ONE, "--mtp-json=r.json", "--mtp-max-time=20m", "--mtp-history=history")
    status, said = rig.run(*words, LD_PRELOAD=str(backwards))
    assert status == 0, said
    assert [one["outcome"] for one in speeds(rig)] == ["PASS"]
    assert all(0 < seconds < 60 for seconds in durations(json.loads((rig.work / "r.json").read_text())))
    assert len(list((rig.work / "history").glob("*.json"))) == 1
    # Nor does what was measured later with an earlier date lose anything of what is there.
    assert rig.run(*words)[0] == 0
    assert len(list((rig.work / "history").glob("*.json"))) == 2


def durations(value: object) -> Iterator[float]:
    """Every number of a report whose name says that it is a duration in seconds."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name.endswith("_s") and isinstance(one, float) and "timeout" not in name:
                yield one
            yield from durations(one)
    if isinstance(value, list):
        for one in value:
            yield from durations(one)


def test_paths_names_and_a_locale_that_cannot_say_them_change_nothing(tmp_path: Path) -> None:
    """Blanks, quotes and letters beyond ASCII in every path, and an interpreter that reads and writes ASCII."""
    folder = tmp_path / "mit Leerzeichen & 'größe' 日本"
    ascii_only = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with laid_out(folder) as rig:
        profile = folder / "fake.toml"
        profile.write_text(profile.read_text().replace('name = "a"', 'name = "größe"'), encoding="utf-8")
        (rig.work / "pytest.ini").write_text("[pytest]\n")
        source = f"--mtp-source={rig.quick_source()}"
        rig.let_build()
        words = ("--mtp-json=größe/r 1.json", "--mtp-out=aus gabe", "--mtp-history=die geschichte")
        status, said = rig.run(source, *words, "--mtp-update-baselines=new", **ascii_only)
        assert status == 0, said
        assert "INTERNALERROR" not in said
        for written in ("größe/r 1.json", "aus gabe/report.json"):
            names = {
                one["prompt_class"] for one in json.loads((rig.work / written).read_bytes())["judged"][0]["results"]
            }
            assert names == {"größe", "b"}
        assert "größe" in (rig.work / "aus gabe" / "report.html").read_text(encoding="utf-8")
        # What was recorded under one locale is found under another.
        status, said = rig.run(source, *words, "--mtp-strict")
        assert status == 0, said
        assert len(rig.build_steps()) == 1
        rig.assert_nothing_is_left()
