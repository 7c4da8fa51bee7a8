"""Cells on a Dask cluster of real processes: what boxes do that die, hang or lie, and who is let in."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from pytest_mtp.core.fleet.cell import Cell, CellResult, State
from pytest_mtp.errors import FleetError, SettingsError
from pytest_mtp.runtime.fleet import dask_cluster
from pytest_mtp.runtime.fleet.dask_cluster import Certificates, DaskCluster
from pytest_mtp.runtime.fleet.dask_shift import Patience
from tests.laboratory.acts import (
    as_cpu,
    at_once,
    at_the_gate,
    at_the_gate_unless_broken,
    gate_of,
    lacking,
    overlaps,
    raising,
    spans,
)
from tests.laboratory.boxes import ROOT, Cluster, cluster
from tests.runtime.fleet.cells import cell_of, hangs, server_that
from tests.waiting import until

pytest.importorskip("distributed", reason="the extra fleet is not installed")

SOON = Patience(silent_s=30, overdue_s=120, homeless_s=1, turn_s=0.1)

_MOST_S = 60

Told = list[tuple[str, State, str]]


def cells_of(kind: str, count: int) -> list[Cell]:
    return [cell_of("/bin/false", machine=f"{kind} {number}", kind=kind) for number in range(count)]


def box_of(cell: Cell, folder: Path) -> str:
    """Which box began it last."""
    return [one.box for one in spans(folder) if one.cell == cell.id][-1]


class Run:
    """A controller in a thread, so that the test can do something to the boxes meanwhile."""

    def __init__(self, executor: DaskCluster, cells: list[Cell]) -> None:
        self.told: Told = []
        self._results: Future[list[CellResult]] = Future()
        # It may not end, where what is tested is broken, and is not waited for.
        threading.Thread(target=self._run, args=(executor, cells), daemon=True).start()

    def _run(self, executor: DaskCluster, cells: list[Cell]) -> None:
        try:
            self._results.set_result(list(executor.run(cells, self._heard)))
        except BaseException as error:
            self._results.set_exception(error)

    def _heard(self, cell: Cell, state: State, box: str) -> None:
        self.told.append((cell.id, state, box))

    def results(self) -> dict[str, CellResult]:
        return {one.cell: one for one in self._results.result(_MOST_S)}

    def of(self, cell: Cell) -> list[tuple[State, str]]:
        return [(state, box) for one, state, box in self.told if one == cell.id]


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler; each test has boxes of its own kind."""
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        (found.folder / "gates").mkdir()
        yield found


@pytest.fixture
def fleet(boxes: Cluster, request: pytest.FixtureRequest) -> Iterator["Fleet"]:
    """Boxes that go away with the test."""
    found = Fleet(boxes, request.node.name[:40].replace("_", " "))
    yield found
    for name in [one for one in boxes.running if one != "scheduler"]:
        boxes.kill(name)


class Fleet:
    """What a test does with its boxes."""

    def __init__(self, boxes: Cluster, kind: str) -> None:
        self.boxes, self.kind, self.folder = boxes, kind, boxes.folder

    def start(self, *names: str, kind: str = "", cards: int = 1) -> None:
        kind = kind or self.kind
        for name in names:
            self.boxes.start_box(f"{name} {self.kind}", kind, cards=cards)
        wanted = len(names) * cards
        self.boxes.wait(f"{names[-1]} {self.kind}", lambda: self.executor().capacity().get(kind, 0) >= wanted)

    def executor(self, **more: object) -> DaskCluster:
        return DaskCluster(**{"address": self.boxes.address, "run_name": self.kind, "patience": SOON, **more})  # type: ignore[arg-type]

    def gate(self, cell: Cell) -> Path:
        path = gate_of(self.folder, cell)
        os.mkfifo(path)
        return path


@contextmanager
def held(gate: Path) -> Iterator[None]:
    """From when a box has the cell of this gate, until the end of the block."""
    deadline = time.monotonic() + _MOST_S
    while (writing := _opened(gate)) is None:
        assert time.monotonic() < deadline, "no box began the cell"
    try:
        yield
    finally:
        os.close(writing)


def _opened(gate: Path) -> int | None:
    try:
        return os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # nobody reads it yet
        return None


def test_every_cell_comes_back_from_a_box_of_its_kind_one_at_a_time(fleet: Fleet) -> None:
    kinds = [f"{letter} {fleet.kind}" for letter in "abc"]
    for kind in kinds:
        fleet.start(f"box-{kind[0]}", kind=kind)
    cells = [one for kind in kinds for one in cells_of(kind, 4)]
    results = Run(fleet.executor(act=at_once), cells).results()
    assert {one.id: f"box-{one.kind[0]} {fleet.kind}" for one in cells} == {
        cell: result.worker for cell, result in results.items()
    }
    ours = [one for one in spans(fleet.folder) if one.cell in results]
    assert len(ours) == len(cells)
    assert overlaps(ours) == []


def test_a_box_with_two_cards_takes_two_cells_at_once(fleet: Fleet) -> None:
    fleet.start("box", cards=2)
    first, second, third = cells_of(fleet.kind, 3)
    gates = [fleet.gate(first), fleet.gate(second)]
    run = Run(fleet.executor(act=at_the_gate), [first, second, third])
    with held(gates[0]), held(gates[1]):
        assert len(run.of(third)) == 0
    assert len(run.results()) == 3


def test_the_cell_of_a_box_that_dies_is_run_again_on_its_twin(fleet: Fleet) -> None:
    fleet.start("one", "two")
    cell = cells_of(fleet.kind, 1)[0]
    gate = fleet.gate(cell)
    run = Run(fleet.executor(act=at_the_gate), [cell])
    with held(gate):
        first = box_of(cell, fleet.folder)
        gate.unlink()  # nothing holds up its twin
        fleet.boxes.kill(first)
    result = run.results()[cell.id]
    assert result.status == 0
    assert result.worker != first
    assert run.of(cell) == [
        (State.RUNNING, first),
        (State.LOST, first),
        (State.WAITING, ""),
        (State.RUNNING, result.worker),
    ]


def test_a_cell_whose_last_twin_is_gone_is_lost_and_no_regression(fleet: Fleet) -> None:
    fleet.start("only")
    cell = cells_of(fleet.kind, 1)[0]
    gate = fleet.gate(cell)
    run = Run(fleet.executor(act=at_the_gate), [cell])
    with held(gate):
        fleet.boxes.kill(box_of(cell, fleet.folder))
    result = run.results()[cell.id]
    assert (result.status, result.report, result.state) == (17, None, State.LOST)
    assert "no twin took it" in result.said


def test_a_box_that_joins_takes_what_a_lost_one_left(fleet: Fleet) -> None:
    fleet.start("first")
    cell = cells_of(fleet.kind, 1)[0]
    gate = fleet.gate(cell)
    run = Run(fleet.executor(act=at_the_gate, patience=Patience(homeless_s=90, turn_s=0.1)), [cell])
    with held(gate):
        gate.unlink()
        fleet.boxes.kill(box_of(cell, fleet.folder))
        fleet.boxes.start_box(f"second {fleet.kind}", fleet.kind)
    assert run.results()[cell.id].worker == f"second {fleet.kind}"


def test_a_box_that_hangs_is_noticed_and_its_cell_run_on_a_twin(fleet: Fleet) -> None:
    fleet.start("one", "two")
    cell = cells_of(fleet.kind, 1)[0]
    gate = fleet.gate(cell)
    run = Run(fleet.executor(act=at_the_gate, patience=Patience(silent_s=4, homeless_s=60, turn_s=0.1)), [cell])
    with held(gate):
        hung = box_of(cell, fleet.folder)
        gate.unlink()
        fleet.boxes.halt(hung)
    result = run.results()[cell.id]
    assert result.worker not in {"", hung}
    assert result.status == 0
    assert fleet.executor().capacity()[fleet.kind] == 1


def test_a_cell_that_does_not_end_in_time_is_given_to_a_twin(fleet: Fleet) -> None:
    fleet.start("one", "two")
    cell = cell_of("/bin/false", kind=fleet.kind, minutes=0.01)
    gate = fleet.gate(cell)
    patience = Patience(silent_s=60, overdue_s=1, homeless_s=2, turn_s=0.1)
    run = Run(fleet.executor(act=at_the_gate, patience=patience), [cell])
    result = run.results()[cell.id]  # nobody opens the gate
    assert "long after its time it had sent nothing" in result.said
    assert len({box for state, box in run.of(cell) if state is State.RUNNING}) == 2
    assert gate.exists()


def test_a_broken_box_does_not_eat_the_cells_of_its_kind(fleet: Fleet) -> None:
    fleet.start("broken", "sound")
    cells = cells_of(fleet.kind, 6)
    gates = {cell.id: fleet.gate(cell) for cell in cells[:2]}
    run = Run(fleet.executor(act=at_the_gate_unless_broken), cells)

    def given_to(name: str) -> list[str]:
        return [cell for cell, state, box in run.told if (state, box) == (State.RUNNING, f"{name} {fleet.kind}")]

    until(lambda: len(given_to("sound")) == 1 and len(given_to("broken")) == 2, "the broken box had two cells")
    with held(gates[given_to("sound")[0]]):
        pass
    ends = [(one.status, one.worker.partition(" ")[0]) for one in run.results().values()]
    assert sorted(ends) == [(0, "sound")] * 4 + [(1, "broken")] * 2


def test_what_no_box_can_do_is_lost_and_its_words_are_kept(fleet: Fleet) -> None:
    fleet.start("one", "two")
    cell = cells_of(fleet.kind, 1)[0]
    result = Run(fleet.executor(act=raising), [cell]).results()[cell.id]
    assert result.state is State.LOST
    assert result.said.count("RuntimeError: no box can run") == 2


def test_an_absent_kind_is_refused_before_anything_is_sent(fleet: Fleet) -> None:
    fleet.start("box")
    here, absent = cells_of(fleet.kind, 1)[0], cells_of("RTX 9090", 1)[0]
    with pytest.raises(SettingsError, match=r"No box of .* is of kind RTX 9090 .*nothing was run"):
        list(fleet.executor(act=at_once).run([here, absent], lambda *_: None))
    assert here.id not in {one.cell for one in spans(fleet.folder)}


CONTROLLER = """
import sys
import msgspec
from pytest_mtp.core.fleet.cell import Cell
from pytest_mtp.runtime.fleet.dask_cluster import DaskCluster
from tests.laboratory import acts
cells = msgspec.json.decode(sys.stdin.read(), type=list[Cell])
cluster = DaskCluster(address=sys.argv[1], run_name=sys.argv[2], act=getattr(acts, sys.argv[3]))
for result in cluster.run(cells, lambda *_: None):
    pass
"""


def controller(fleet: Fleet, act: str, *cells: Cell) -> "subprocess.Popen[bytes]":
    """A controller that can be killed."""
    import msgspec

    command = [sys.executable, "-c", CONTROLLER, fleet.boxes.address, fleet.kind, act]
    with (fleet.folder / "controller.log").open("ab") as log:
        found = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=ROOT, stdout=log, stderr=log)
    assert found.stdin is not None
    found.stdin.write(msgspec.json.encode(cells))
    found.stdin.close()
    return found


def test_what_a_killed_controller_had_sent_goes_on_and_is_taken_up(fleet: Fleet) -> None:
    fleet.start("box")
    running, waiting = cells_of(fleet.kind, 2)
    gate = fleet.gate(running)
    with controller(fleet, "at_the_gate", running, waiting) as first, held(gate):
        first.kill()
        first.wait()
        run = Run(fleet.executor(act=at_the_gate), [running, waiting])
        fleet.boxes.wait(f"box {fleet.kind}", lambda: bool(run.of(running)))
    results = run.results()
    assert results.keys() == {running.id, waiting.id}
    assert [one.cell for one in spans(fleet.folder) if one.cell in results] == [running.id, waiting.id]


def test_a_second_controller_of_a_run_is_refused_and_ends_nothing(fleet: Fleet) -> None:
    fleet.start("box")
    running, waiting = cells_of(fleet.kind, 2)
    gate = fleet.gate(running)
    first = Run(fleet.executor(act=at_the_gate), [running, waiting])
    with held(gate), pytest.raises(SettingsError, match="Another controller runs this manifest"):
        list(fleet.executor(act=at_the_gate, connect_s=1).run([running, waiting], lambda *_: None))
    results = first.results()
    assert {one.status for one in results.values()} == {0}
    assert [one.cell for one in spans(fleet.folder) if one.cell in results] == [running.id, waiting.id]


def test_a_cell_whose_pytest_is_interrupted_on_its_box_is_run_on_a_twin(fleet: Fleet, tmp_path: Path) -> None:
    """As by a box that is shut down, whose worker ends after the pytest."""
    cell, up = measured(fleet, tmp_path)
    run = Run(fleet.executor(act=as_cpu), [cell])
    fleet.boxes.wait(f"box {fleet.kind}", lambda: up.exists() and bool(up.read_text()))
    worker = psutil.Process(fleet.boxes.running[f"box {fleet.kind}"].pid)
    (pytest_of_it,) = (one for one in worker.children() if "pytest" in one.cmdline())
    pytest_of_it.terminate()
    result = run.results()[cell.id]
    assert (result.state, result.report) == (State.LOST, None)
    assert "interrupted, as by a machine that is shut down" in result.said


def measured(fleet: Fleet, folder: Path) -> tuple[Cell, Path]:
    """A cell whose pytest waits for a server that hangs, and the file with the pid of that server."""
    fleet.start("box")
    return cell_of(server_that(hangs(folder / "up"), folder / "server"), kind=fleet.kind), folder / "up"


def test_what_runs_is_ended_with_a_controller_that_stops(fleet: Fleet, tmp_path: Path) -> None:
    cell, up = measured(fleet, tmp_path)
    with controller(fleet, "as_cpu", cell) as stopped:
        fleet.boxes.wait(f"box {fleet.kind}", lambda: up.exists() and bool(up.read_text()))
        stopped.send_signal(signal.SIGINT)
    assert gone(int(up.read_text()))
    assert fleet.executor().capacity() == {fleet.kind: 1}


def test_the_pytest_of_a_killed_box_ends_by_itself_with_all_it_started(fleet: Fleet, tmp_path: Path) -> None:
    cell, up = measured(fleet, tmp_path)
    run = Run(fleet.executor(act=as_cpu), [cell])
    fleet.boxes.wait(f"box {fleet.kind}", lambda: up.exists() and bool(up.read_text()))
    fleet.boxes.kill(f"box {fleet.kind}")
    assert gone(int(up.read_text()))
    assert run.results()[cell.id].state is State.LOST


def gone(pid: int) -> bool:
    try:
        psutil.Process(pid).wait(20)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def test_a_scheduler_that_goes_away_is_said(tmp_path: Path) -> None:
    with cluster(tmp_path) as found:
        (tmp_path / "gates").mkdir()
        found.start_box("box", "X")
        executor = DaskCluster(address=found.address, act=at_the_gate, patience=SOON, connect_s=3)
        found.wait("box", lambda: executor.capacity() == {"X": 1})
        cell = cell_of("/bin/false", kind="X")
        gate = gate_of(tmp_path, cell)
        os.mkfifo(gate)
        run = Run(executor, [cell])
        with held(gate):
            found.kill("scheduler")
            with pytest.raises(FleetError, match="went away"):
                run.results()


def test_no_scheduler_is_said() -> None:
    with pytest.raises(FleetError, match=r"No scheduler answers at tcp://127\.0\.0\.1:9"):
        DaskCluster(address="tcp://127.0.0.1:9", connect_s=1).capacity()


def test_a_scheduler_without_this_package_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It cannot import what it is sent by name."""
    with cluster(tmp_path) as found:
        executor = DaskCluster(address=found.address)
        monkeypatch.setattr(dask_cluster, "doors", lacking)
        with pytest.raises(FleetError, match=r"The scheduler at .* lacks .*'nothing_here'.*Install this pytest-mtp"):
            executor.capacity()


def test_without_dask_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SettingsError, match=r"pip install 'pytest-mtp\[fleet\]'"):
        DaskCluster(address="tcp://127.0.0.1:9").capacity()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("tcp://10.0.0.7:8786", "is open: without TLS"),
        ("tcp://controller:8786", "is open: without TLS"),
        ("tcp://[fd00::1]:8786", "is open: without TLS"),
        ("tls://controller:8786", "wants certificates"),
        ("tls://127.0.0.1:8786", "wants certificates"),
        ("controller:8786", "is no scheduler"),
        ("ucx://127.0.0.1:8786", "is no scheduler"),
        ("", "is no scheduler"),
    ],
)
def test_off_loopback_nobody_is_met_without_certificates(address: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        DaskCluster(address=address)


def test_a_box_that_listens_for_others_too_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    """As Dask does by itself, while it says that it is at 127.0.0.1."""
    with cluster(tmp_path) as found:
        executor = DaskCluster(address=found.address, act=at_once)
        assert executor.capacity() == {}
        found.start_box("box", "X", host="")
        log = tmp_path / "box" / "log"
        found.wait("box", lambda: "Registered to" in log.read_text())
        with pytest.raises(SettingsError, match=r"tcp://127\.0\.0\.1:\d+ listens on .* as well.*--host 127\.0\.0\.1"):
            executor.capacity()


def test_certificates_are_not_silently_left_unused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="would not use the certificates"):
        DaskCluster(address="tcp://127.0.0.1:8786", certificates=pair(tmp_path, "ours"))


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no certificate file .*ca\.pem"):
        Certificates(ca=tmp_path / "ca.pem", certificate=tmp_path / "c.pem", key=tmp_path / "k.pem")


def pair(folder: Path, name: str) -> Certificates:
    """A self-signed pair that is its own authority, as the documentation makes it."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "30", "-subj", "/CN=fleet", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return Certificates(ca=certificate, certificate=certificate, key=key)


def test_who_has_no_certificate_of_the_fleet_is_kept_out(tmp_path: Path) -> None:
    ours, theirs = pair(tmp_path, "ours"), pair(tmp_path, "theirs")
    with cluster(tmp_path, ours) as found:
        found.start_box("box", "X")
        executor = DaskCluster(address=found.address, certificates=ours, act=at_once, patience=SOON)
        found.wait("box", lambda: executor.capacity() == {"X": 1})
        assert [one.status for one in executor.run(cells_of("X", 2), lambda *_: None)] == [0, 0]
        with pytest.raises(FleetError, match="certificates of the same authority"):
            DaskCluster(address=found.address, certificates=theirs, connect_s=2).capacity()
        with pytest.raises(FleetError, match="No scheduler answers"):
            DaskCluster(address=found.address.replace("tls", "tcp"), connect_s=2).capacity()
