import socket

import pytest

from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.port import available_port


def test_a_free_port_is_what_was_asked_for(unused_port: int) -> None:
    assert available_port("127.0.0.2", unused_port) == unused_port
    assert available_port("127.0.0.1", 0) > 0


def test_a_taken_port_is_one_sentence_with_a_mend() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        taken = holder.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"port {taken} of 127.0.0.1 \(Address already in use\)\. .*--port"):
            available_port("127.0.0.1", taken)


def test_a_port_that_llama_servers_would_share_is_taken_too() -> None:
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        with pytest.raises(SettingsError, match="Address already in use"):
            available_port("127.0.0.1", holder.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "port", "reason"),
    [
        ("127.0.0.1", 70000, "Port 70000 is none; ports are 1 to 65535"),
        ("127.0.0.1", -1, "Port -1 is none"),
        ("192.0.2.1", 0, "Cannot assign requested address"),
        ("no.invalid", 0, "this host has no address here"),
    ],
)
def test_what_cannot_be_listened_on_is_named(host: str, port: int, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        available_port(host, port)
