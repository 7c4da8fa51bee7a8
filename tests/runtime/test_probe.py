from pathlib import Path

import pytest

from pytest_mtp.core.capabilities import MtpSpelling
from pytest_mtp.errors import InputError, ServerDied, ServerLate
from pytest_mtp.runtime.probe import probe


def script(folder: Path, body: str) -> Path:
    binary = folder / "llama-server"
    binary.write_text(f"#!/bin/sh\n{body}\n")
    binary.chmod(0o755)
    return binary


def test_the_binary_tells_what_it_offers(fake_binary: Path) -> None:
    capabilities = probe(fake_binary)
    assert capabilities.mtp is MtpSpelling.DRAFT_MTP
    assert capabilities.offers("--metrics")
    assert not capabilities.offers("--draft-max")


def test_sigill_is_explained_by_the_instructions_of_the_cpu(tmp_path: Path) -> None:
    with pytest.raises(ServerDied, match=r"SIGILL .*instructions this CPU does not have.*GGML_NATIVE=OFF"):
        probe(script(tmp_path, "kill -ILL $$"))


def test_a_missing_library_is_named(tmp_path: Path) -> None:
    message = "error while loading shared libraries: libcudart.so.12"
    with pytest.raises(ServerDied, match=r"status 127 .*shared library(?s:.*)libcudart\.so\.12"):
        probe(script(tmp_path, f"echo {message} >&2; exit 127"))


def test_a_help_that_never_ends_is_late(tmp_path: Path) -> None:
    with pytest.raises(ServerLate, match=r"did not end within 0\.2 s"):
        probe(script(tmp_path, "exec tail -f /dev/null"), timeout_s=0.2)


def test_another_program_is_no_llama_server(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not the --help of a llama-server"):
        probe(script(tmp_path, "echo usage: something else"))


def test_a_file_that_cannot_run_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    binary.touch(mode=0o644)
    with pytest.raises(ServerDied, match=r"llama-server cannot be started: Permission denied"):
        probe(binary)


def test_the_probe_sees_no_flags_of_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_ARG_SPEC_TYPE", "draft-mtp")
    with pytest.raises(ServerDied, match=r"status 3 (?s:.*)seen: \.$"):
        probe(script(tmp_path, 'echo "seen: $LLAMA_ARG_SPEC_TYPE." >&2; exit 3'))
