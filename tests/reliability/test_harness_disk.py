"""Disks that are full, cannot be written, or are not there: one sentence with the mend, and nothing half-written."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from pytest_mtp.core.run_report import REPORT_VERSION, RunReport
from pytest_mtp.errors import CacheError, InputError
from pytest_mtp.runtime import lock as lock_module
from pytest_mtp.runtime.cache import STAMP
from pytest_mtp.runtime.history import History
from pytest_mtp.runtime.lock import measuring
from pytest_mtp.runtime.outputs import write_all
from pytest_mtp.runtime.progress import silent
from pytest_mtp.runtime.store import write_json
from tests.fakes.network_disk import network_disk
from tests.reliability.harness_runs import Rig, laid_out

# Its phantom takes some megabytes.
_SMALL = Path(__file__).parents[1] / "real" / "small.toml"
_ONE = ("-k", "speedup and n3-a")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with laid_out(tmp_path / "rig") as rig:
        yield rig


@contextmanager
def mounted(folder: Path, *words: str) -> Iterator[Path]:
    """Something mounted on a folder; skips where this user may not mount."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *words, str(folder)], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"mounting needs root and CAP_SYS_ADMIN, and here it says: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def small_disk(folder: Path, size: str = "64k") -> Iterator[Path]:
    """A disk of its own."""
    with mounted(folder, "-t", "tmpfs", "-o", f"size={size}", "tmpfs"):
        yield folder


def fill(folder: Path) -> None:
    """Leave no byte on the disk of a folder."""
    with (folder / "ballast").open("ab", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(4096))


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk without a free byte, with a file that somebody needs."""
    with small_disk(tmp_path / "full") as folder:
        (folder / "kept.json").write_text("kept")
        fill(folder)
        yield folder


def report() -> RunReport:
    return RunReport(
        version=REPORT_VERSION, created_at="2026-01-01T00:00:00+00:00", tool="t", profile="p", machine={}, judged=()
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda folder, _cache: write_json(folder / "kept.json", report()),
        lambda folder, _cache: write_all(folder, {"kept.json": "new", "other": "new"}),
        lambda folder, cache: History(folder, cache).add(report()),
    ],
    ids=["--mtp-json", "--mtp-out", "--mtp-history"],
)
def test_what_a_full_disk_does_not_take_is_said_and_leaves_what_was_there(
    write: Callable[[Path, Path], object], full: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"cannot be written: .*No space left on device.*Name a file in a folder"):
        write(full, tmp_path / "cache")
    assert sorted(one.name for one in full.iterdir()) == ["ballast", "kept.json"]
    assert (full / "kept.json").read_text() == "kept"


def test_a_run_whose_results_find_no_room_is_red_and_its_verdict_is_shown(rig: Rig, full: Path) -> None:
    status, said = rig.run(*_ONE, f"--mtp-json={full / 'kept.json'}")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "kept.json cannot be written" in said
    assert "PASS" in said
    assert "Traceback" not in said
    assert (full / "kept.json").read_text() == "kept"


def test_a_baseline_that_finds_no_room_loses_no_measurement(rig: Rig, full: Path) -> None:
    words = (f"--mtp-baselines={full}", "--mtp-update-baselines=new", "--mtp-json=r.json")
    status, said = rig.run("-k", "speedup", *words)
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "cannot be written" in said
    assert "Traceback" not in said
    assert len(json.loads((rig.work / "r.json").read_text())["judged"][0]["campaign"]["blocks"]) == 2
    assert not list(full.rglob("fake.json"))


@pytest.mark.parametrize("wanted", ["build", "phantom"])
def test_an_entry_that_finds_no_room_in_the_cache_is_said_and_is_no_entry(wanted: str, rig: Rig) -> None:
    words = {"build": f"--mtp-source={rig.quick_source()}", "phantom": f"--mtp-profile={_SMALL}"}
    rig.let_build()
    with small_disk(rig.cache, "1m") as disk:
        if wanted == "build":
            fill(disk)
        status, said = rig.run(
            "-k", "speedup", words[wanted], *(["--mtp-model=phantom"] if wanted == "phantom" else [])
        )
        assert status == pytest.ExitCode.TESTS_FAILED, said
        assert re.search(r"Free (some )?space.* --mtp-cache-dir", said)
        assert "During handling of" not in said, "it is said once"
        assert "Traceback" not in said
        assert not list(disk.rglob(STAMP))
        assert rig.starts() == []


def test_a_full_cache_stops_no_run_that_needs_nothing_of_it(rig: Rig) -> None:
    with small_disk(rig.cache) as disk:
        fill(disk)
        status, said = rig.run(*_ONE)
    assert status == 0, said
    assert "PASS" in said


def test_a_temporary_folder_that_is_full_from_the_start_stops_no_run(rig: Rig) -> None:
    with small_disk(rig.temporary, "16k") as disk:
        fill(disk)
        status, said = rig.run(*_ONE)
        assert status == 0, said
        rig.assert_nothing_is_left()


def test_the_device_is_locked_where_others_look_for_it_also_when_that_disk_is_full(
    full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(full))
    with measuring("cpu", silent):
        (lock,) = full.glob("pytest-mtp-*/cpu.lock")
        with pytest.raises(Timeout):
            FileLock(lock).acquire(timeout=0)


def test_a_lock_that_cannot_be_taken_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / f"pytest-mtp-{os.getuid()}").write_text("somebody's file")
    with pytest.raises(CacheError, match=r"cpu.lock cannot be taken: .*set TMPDIR"), measuring("cpu", silent):
        pass


def test_the_lock_of_a_device_is_not_asked_of_a_network_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        with network_disk(tmp_path / "disk", "silence") as folder:
            monkeypatch.setenv("TMPDIR", str(folder))
            monkeypatch.setattr(lock_module, "_USUAL", str(tmp_path))
            with measuring("cpu", silent):
                assert list(tmp_path.glob("pytest-mtp-*/cpu.lock"))
    except OSError as error:
        pytest.skip(f"no network file system can be mounted here: {error}")


def test_a_temporary_folder_that_fills_up_while_it_measures_is_said_and_leaves_no_server(rig: Rig) -> None:
    rig.faults("honest", "honest", "hangs", "honest")
    with small_disk(rig.temporary, "1m") as disk:
        run = rig.start(*_ONE, "--mtp-set=request.timeout_s=5")
        rig.await_server(3)
        fill(disk)
        status = run.ended()
        said = run.said
        rig.assert_nothing_is_left()
    assert status == pytest.ExitCode.TESTS_FAILED, said
    assert re.search(r"no room left for its log\. Free space there, or set TMPDIR", said)
    assert "REGRESSION" not in said
    assert "Traceback" not in said


@pytest.fixture
def read_only(rig: Rig) -> Iterator[Path]:
    """The cache with one build, on a disk that cannot be written: root is stopped by no mode of a folder."""
    rig.let_build()
    status, said = rig.run(*_ONE, f"--mtp-source={rig.quick_source()}")
    assert status == 0, said
    with mounted(rig.cache, "--bind", str(rig.cache)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(rig.cache)], check=True)
        yield rig.cache


def test_a_cache_that_cannot_be_written_serves_what_is_in_it_and_names_what_it_lacks(read_only: Path, rig: Rig) -> None:
    before = sorted(read_only.rglob("*"))
    status, said = rig.run(*_ONE, f"--mtp-source=dir:{rig.folder / 'tree'}")
    assert status == 0, said
    assert len(rig.build_steps()) == 1
    (rig.folder / "tree" / "another").touch()
    status, said = rig.run(*_ONE, f"--mtp-source=dir:{rig.folder / 'tree'}")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "Read-only file system" in said
    assert "--mtp-cache-dir" in said
    assert "Traceback" not in said
    assert sorted(read_only.rglob("*")) == before


@pytest.mark.parametrize("home", [None, "/proc/nowhere"], ids=["unset", "not there"])
def test_without_a_home_a_run_with_a_cache_folder_measures(home: str | None, rig: Rig) -> None:
    assert without_home(rig, home, *_ONE)[0] == 0


def without_home(rig: Rig, home: str | None, *words: str, leave_out: str = "nothing") -> tuple[int, str]:
    environment = {name: value for name, value in rig.environment().items() if name != "HOME"}
    done = subprocess.run(
        [word for word in rig.arguments(*words) if not word.startswith(leave_out)],
        env=environment if home is None else environment | {"HOME": home},
        cwd=rig.work,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_without_a_home_and_a_cache_folder_the_option_is_named(rig: Rig) -> None:
    words = [f"--mtp-source={rig.quick_source()}", *_ONE]
    status, said = without_home(rig, "/proc/nowhere", *words, leave_out="--mtp-cache-dir")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "Use --mtp-cache-dir" in said or "with --mtp-cache-dir" in said
    assert "Traceback" not in said
