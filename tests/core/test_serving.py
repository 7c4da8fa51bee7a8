import shlex

import pytest

from pytest_mtp.core.capabilities import parse_help
from pytest_mtp.core.serving import address, cli_arguments, entrance, exposure, plain_line
from pytest_mtp.errors import FlagError

# Rows of a real llama-cli; it has no --port, --host, --metrics, --slots or --alias.
CLI_HELP = """\
-c,    --ctx-size N                     size of the prompt context
-np,   --parallel N                     number of parallel sequences to decode
-lv,   --verbosity, --log-verbosity N   Set the verbosity threshold. 4: trace
-m,    --model FNAME                    model path to load
-ngl,  --gpu-layers, --n-gpu-layers N   max. number of layers to store in VRAM
--temp, --temperature N                 temperature
"""
SPEC_HELP = "--spec-type none,draft-mtp              types\n--spec-draft-n-max N                    number\n"
SERVER = ("-m", "/m.gguf", "-c", "512", "-ngl", "-1", "-a", "x-mtp", "--slots", "-lv", "4", "--metrics")
MTP = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8910"),
        ("0.0.0.0", "http://127.0.0.1:8910"),  # no address that a browser can ask
        ("::", "http://[::1]:8910"),
        ("::1", "http://[::1]:8910"),
        ("gpu-box", "http://gpu-box:8910"),
    ],
)
def test_the_address_is_one_that_a_browser_takes(host: str, url: str) -> None:
    assert address(host, 8910) == url


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_loopback_is_no_exposure(host: str) -> None:
    assert exposure(host, 8910) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "gpu-box"])
def test_any_other_host_is_warned_of_in_one_sentence(host: str) -> None:
    warning = exposure(host, 8910)
    assert warning is not None
    assert f"Listening on {host}: there is no key, so anyone" in warning
    assert warning.count(". ") == 0


def test_without_a_page_the_reason_is_said() -> None:
    assert entrance("http://127.0.0.1:1", None) == "Web page: http://127.0.0.1:1/"
    said = entrance("http://127.0.0.1:1", "there is no npm")
    assert said == "Only the API is served, at http://127.0.0.1:1 (no web page: there is no npm)."


def test_the_plain_line_reads_back_as_the_command() -> None:
    command = ("/my builds/llama-server", "--chat-template", "it's $HOME")
    assert tuple(shlex.split(plain_line(command, ["PATH", "GGML_X"]))) == command


def test_variables_that_are_flags_are_unset_in_the_plain_line() -> None:
    line = plain_line(("/b/llama-server", "-np", "1"), ["PATH", "LLAMA_ARG_SPEC_TYPE", "LLAMA_ARG_N_PARALLEL"])
    assert line == "env -u LLAMA_ARG_N_PARALLEL -u LLAMA_ARG_SPEC_TYPE /b/llama-server -np 1"


def test_llama_cli_takes_what_is_not_of_a_server_and_stays_quiet() -> None:
    capabilities = parse_help(CLI_HELP + SPEC_HELP, known_by="--model")
    assert cli_arguments((*SERVER, *MTP), capabilities) == ("-m", "/m.gguf", "-c", "512", "-ngl", "-1", *MTP)


def test_a_llama_cli_without_mtp_is_refused_for_that_arm_only() -> None:
    capabilities = parse_help(CLI_HELP, known_by="--model")
    with pytest.raises(FlagError, match="llama-cli has no MTP; give --arm plain"):
        cli_arguments((*SERVER, *MTP), capabilities)
    assert cli_arguments(SERVER, capabilities)[:2] == ("-m", "/m.gguf")


def test_a_flag_that_would_change_the_run_is_not_dropped() -> None:
    with pytest.raises(FlagError, match="llama-cli has no --top-k, which the profile sets"):
        cli_arguments((*SERVER, "--top-k", "20"), parse_help(CLI_HELP, known_by="--model"))
