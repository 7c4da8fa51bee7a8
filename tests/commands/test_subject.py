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
