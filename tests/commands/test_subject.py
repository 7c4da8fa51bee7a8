"""Which commands take which profile."""

import pytest

from pytest_mtp.cli import main


@pytest.mark.parametrize("command", ["serve", "curve", "calibrate", "tune"])
@pytest.mark.parametrize(
    ("profile", "sentence"),
    [
        ("vllm-qwen3.5-9b", "measures vLLM: use pytest --mtp-gpu --mtp-profile vllm-qwen3.5-9b."),
        (
            "running-servers",
            "measures servers that run already: use pytest --mtp --mtp-profile running-servers",
        ),
    ],
)
def test_a_command_that_starts_llama_cpp_refuses_other_servers(
    command: str, profile: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--profile", profile]) == 2
    assert f"pytest-mtp {command} starts llama.cpp, and profile {profile} {sentence}" in capsys.readouterr().err


def test_the_doctor_has_nothing_to_look_at_for_servers_that_run_already(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--profile", "running-servers"]) == 2
    assert "needs nothing of this machine: ask them with pytest --mtp --mtp-endpoint" in capsys.readouterr().err


def test_the_doctor_looks_for_vllm(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["doctor", "--profile", "vllm-qwen3.5-9b"]) == 1
    assert "There is no command vllm here" in capsys.readouterr().out
