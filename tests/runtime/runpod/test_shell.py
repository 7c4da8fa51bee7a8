"""Into a pod and out of it, through a real sshd on loopback."""

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pytest_mtp.core.runpod.ssh_words import Way
from pytest_mtp.errors import RentalError
from pytest_mtp.runtime.port import available_port
from pytest_mtp.runtime.runpod.lease import Lease
from pytest_mtp.runtime.runpod.shell import UNREACHED, Shell
from pytest_mtp.runtime.runpod.web import Tunnel
from pytest_mtp.runtime.runpod.work import way_into
from tests.fakes.rented import Machine
from tests.fakes.runpod import KEY
from tests.runtime.runpod.conftest import Rent


@pytest.fixture
def lease(machine: Machine, rent: Rent) -> Iterator[Lease]:
    """A pod that is up, whose sshd is real."""
    assert machine.sshd.door
    with rent() as rented:
        yield rented


@pytest.fixture
def way(lease: Lease) -> Way:
    """The way into it."""
    return way_into(lease)


def test_a_command_runs_in_the_pod_and_a_failure_is_its_own(way: Way) -> None:
    shell = Shell(way)
    assert shell.run("echo it is; exit 3").returncode == 3
    assert shell.run("echo it is").stdout == "it is\n"


def test_ssh_and_the_pod_see_no_key_and_no_agent(way: Way, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RUNPOD_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", KEY)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    monkeypatch.setenv("LANG", "xx_MARK.UTF-8")  # what may pass does, so that the others are seen not to
    spy = tmp_path / "programs"
    spy.mkdir()
    for name in ("ssh", "rsync"):
        (spy / name).write_text(f'#!/bin/sh\nenv > {tmp_path}/{name}.env\nexec {shutil.which(name)} "$@"\n')
        (spy / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{spy}:{os.environ['PATH']}")
    assert KEY not in Shell(way).run("env").stdout
    Shell(way).send(spy / "ssh", str(tmp_path / "copy"))
    for name in ("ssh", "rsync"):
        seen = (tmp_path / f"{name}.env").read_text()
        assert KEY not in seen
        assert "SSH_AUTH_SOCK" not in seen
        assert "xx_MARK.UTF-8" in seen


def test_a_pod_that_lets_nobody_in_is_unreached(machine: Machine, way: Way) -> None:
    machine.sshd.authorized.write_text("")
    assert Shell(way).run("true").returncode == UNREACHED


def test_another_host_key_at_the_same_address_is_refused(way: Way) -> None:
    assert Shell(way).run("true").returncode == 0
    path = Path(way.known_hosts)
    line = path.read_text().split()
    path.write_text(f"{line[0]} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILXGDN/SclOozk1xsDztpmhGiKkkrfQB9SKoO8dSIQQZ\n")
    assert Shell(way).run("true").returncode == UNREACHED


def test_files_go_in_and_come_out_and_links_do_not(way: Way, tmp_path: Path) -> None:
    shell, there = Shell(way), tmp_path / "a folder" / "there"
    there.mkdir(parents=True)
    (tmp_path / "sent").write_text("text")
    shell.send(tmp_path / "sent", str(there / "it's here"))
    (there / "link").symlink_to("/etc/passwd")
    (there / "deep").mkdir()
    (there / "deep" / "more").write_text("more")
    shell.fetch(str(there), tmp_path / "here")
    assert (tmp_path / "here" / "it's here").read_text() == "text"
    assert (tmp_path / "here" / "deep" / "more").read_text() == "more"
    assert not (tmp_path / "here" / "link").is_symlink()
    assert not (tmp_path / "here" / "link").exists()


def test_what_is_not_there_cannot_be_fetched(way: Way, tmp_path: Path) -> None:
    with pytest.raises(RentalError, match="The results cannot be copied from the pod"):
        Shell(way).fetch("/nowhere", tmp_path / "here")


def test_a_tunnel_reaches_what_listens_on_the_pods_loopback_and_is_opened_again(way: Way, tmp_path: Path) -> None:
    port = available_port("127.0.0.1", 0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = threading.Thread(target=_answer_twice, args=(server,))
        answering.start()
        with Tunnel(port, server.getsockname()[1], tmp_path / "log") as tunnel:
            tunnel.ensure(way)
            _until(tunnel)
            assert tunnel._process is not None
            tunnel._process.kill()
            tunnel._process.wait()
            tunnel.ensure(way)
            _until(tunnel)
        answering.join()
    with pytest.raises(httpx.ConnectError):
        httpx.get(tunnel.url, trust_env=False)


def _until(tunnel: Tunnel) -> None:
    while not tunnel.answers():
        assert tunnel._process is not None
        assert tunnel._process.poll() is None


def _answer_twice(server: socket.socket) -> None:
    for _ in range(2):
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
