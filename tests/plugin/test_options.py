"""What a person types, and what pytest answers; nothing is measured here."""

import pytest

_SUITE = """
    def test_speedup(mtp_case):
        assert mtp_case.flag_set == "n3"
"""
_CHAT = ("--mtp-set", "request.endpoint=chat", "--mtp-set", "request.thinking=false")


def test_without_a_switch_the_suites_are_skipped_with_the_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_SUITE)
    result = pytester.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*give --mtp (CPU) or --mtp-gpu*"])


def test_every_class_of_the_profile_is_a_case(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_SUITE)
    result = pytester.runpytest_inprocess("--mtp", "-v", "test_every_class_of_the_profile_is_a_case.py")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["*test_speedup?n3-miss00?*", "*test_speedup?n3-miss60?*"])


def test_mtp_alone_collects_the_suites_only(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_unrelated(): pass")
    pytester.mkdir("suites").joinpath("test_mine.py").write_text("def test_mine(mtp_case): pass")
    result = pytester.runpytest_inprocess("--mtp", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*test_mine*"])
    result.stdout.no_fnmatch_line("*test_unrelated*")


def test_without_suites_of_ones_own_the_packages_are_taken(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--mtp", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*test_acceptance*", "*test_speedup*"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--mtp", "--mtp-gpu"), "*--mtp and --mtp-gpu exclude each other*"),
        (("--mtp", "--mtp-profile", "phantm"), "*no profile 'phantm'*Did you mean phantom?*"),
        (("--mtp", "--mtp-set", "server.ctxx=1"), "*server has no 'ctxx'; did you mean 'ctx'?*"),
        (("--mtp", "--mtp-max-time", "soon"), "*--mtp-max-time: 'soon' is no duration; write 90s, 20m or 1.5h*"),
        (("--mtp", "--mtp-update-baselines", "some"), "*--mtp-update-baselines: 'some' is none of: new, all, session*"),
        (("--mtp", "--mtp-flag-set", "n9"), "*--mtp-flag-set n9: the profile phantom has n3*"),
        # With --co, so that nothing is built where the refusal is missing.
        (
            ("--mtp", "--mtp-source", "", "--co"),
            "*--mtp-source was given an empty value; give one, or leave the option away*",
        ),
        (("--mtp", "--mtp-cache-dir", "~nobody-of-that-name"), "*--mtp-cache-dir: ~nobody*home folder*is not there*"),
        (("--mtp", "--mtp-json", "/", "--co"), "*--mtp-json: / is a folder; name a file in it*"),
        (
            ("--mtp", "--mtp-gpu-id", "0", "--co"),
            "*--mtp-gpu-id 0 chooses a card, and the backend cpu has none to choose*",
        ),
        (("--mtp", "--mtp-lock-clocks", "--co"), "*--mtp-lock-clocks needs a card*"),
        (("--mtp", "--mtp-set", "request.endpoint=chat", "--co"), "*request.thinking is not said*true or false*"),
        (
            ("--mtp", *_CHAT, "--mtp-set", "classes.miss00.length=64", "--co"),
            "*Class miss00*64 tokens*drop its length, or set request.endpoint to raw*",
        ),
        (("--mtp", *_CHAT, "--co"), "*no words for the marks of a chat*--jinja*--chat-template*"),
        (
            ("--mtp", *_CHAT, "--mtp-set", "serving=vllm", "--co"),
            "*Of the chat endpoint only llama-server's is asked*",
        ),
        (
            ("--mtp", "--mtp-set", "flag_sets.n3.draft_model=gone.gguf", "--co"),
            "*The draft model of flag set n3, gone.gguf, is no file*",
        ),
        (("--mtp", "-n2"), "*give -n0 with --mtp*"),
    ],
)
def test_bad_wishes_are_usage_errors(pytester: pytest.Pytester, arguments: tuple[str, ...], sentence: str) -> None:
    pytester.makepyfile(_SUITE)
    result = pytester.runpytest_inprocess(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([sentence])


def test_mtp_gpu_on_a_machine_without_one_ends_at_once(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A library folder without libnvidia-ml: the machine of most contributors, wherever this runs.
    monkeypatch.setenv("LD_LIBRARY_PATH", str(pytester.path))
    result = pytester.runpytest_inprocess("--mtp-gpu")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*No usable NVIDIA GPU on this machine*or use --mtp*"])


def test_the_ini_file_sets_what_the_command_line_does_not(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_SUITE)
    pytester.makeini("[pytest]\nmtp_max_time = never\n")
    result = pytester.runpytest_inprocess("--mtp")
    result.stderr.fnmatch_lines(["*--mtp-max-time: 'never' is no duration*"])
    assert pytester.runpytest_inprocess("--mtp", "--mtp-max-time=20m", "--collect-only").ret == 0


def test_help_groups_the_options_as_a_reader_looks_for_them(pytester: pytest.Pytester) -> None:
    told = pytester.runpytest_inprocess("--help").stdout
    told.fnmatch_lines(
        [
            "multi-token prediction (pytest-mtp):",
            "  --mtp-gpu *",
            "mtp: what is measured:",
            "  --mtp-profile=*",
            "mtp: how it is measured:",
            "  --mtp-max-time=*",
            "mtp: what it is judged by:",
            "  --mtp-baselines=*",
            "mtp: what is written:",
            "  --mtp-json=*",
        ]
    )
