"""``--mtp-prompts``: whose prompts are asked; nothing is measured here."""

import json
from fnmatch import fnmatch

import pytest

_SUITE = "def test_speedup(mtp_case): pass"
_REAL = ("--mtp", "--co", "-q", "--mtp-profile", "qwen3.5-0.8b-cpu")


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_mine=_SUITE)
    return pytester


def written(suite: pytest.Pytester, text: str | bytes) -> str:
    path = suite.path / "prompts.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_the_classes_of_the_file_take_the_place_of_the_profiles(suite: pytest.Pytester) -> None:
    rows = [{"question_id": mark, "category": "coding", "turns": ["Sort."]} for mark in (81, 82)]
    path = written(suite, "\n".join(map(json.dumps, [*rows, {"class": "poem", "prompt": "A poem."}])))
    result = suite.runpytest_inprocess(*_REAL, "--mtp-prompts", path, "test_mine.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*[[]n2-coding-81]", "*[[]n2-coding-82]", "*[[]n2-poem]"])
    result.stdout.no_fnmatch_line("*greeting*")


def test_the_ini_file_names_the_prompts_too(suite: pytest.Pytester) -> None:
    written(suite, '{"poem": "A poem."}')
    suite.makeini("[pytest]\nmtp_prompts = prompts.jsonl\n")
    suite.runpytest_inprocess(*_REAL, "test_mine.py").stdout.fnmatch_lines(["*[[]n2-poem]"])


@pytest.mark.parametrize("name", ["coding-81", "v1.2_a+b"])
def test_a_name_that_is_taken_names_a_test_by_its_id(suite: pytest.Pytester, name: str) -> None:
    path = written(suite, json.dumps({name: "A.", "other": "B."}))
    result = suite.runpytest_inprocess(*_REAL, "--mtp-prompts", path, f"test_mine.py::test_speedup[n2-{name}]")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*n2-other*")


def test_the_embedded_model_takes_its_own_prompts(suite: pytest.Pytester) -> None:
    path = written(suite, '{"miss20": "<|miss20|>", "miss00": "<|miss00|>"}')
    result = suite.runpytest_inprocess("--mtp", "--co", "-q", "--mtp-prompts", path, "test_mine.py")
    result.stdout.fnmatch_lines(["*[[]n3-miss20]", "*[[]n3-miss00]"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"class": "a"}', '*--mtp-prompts *prompts.jsonl cannot be used.*Line 1: it has no "prompt"; write rows*'),
        (b"\xff\xfe", "*--mtp-prompts *prompts.jsonl is not UTF-8 from byte 0 on: save it as UTF-8.*"),
        ('{"poem": "A."}', "*the class poem, and the embedded model continues no prompts but its own*--mtp-model*"),
        ('{"miss00": "<|miss05|>"}', "*the class miss00, and the embedded model continues no prompts but its own*"),
    ],
)
def test_a_file_that_cannot_be_asked_ends_the_run_at_once(
    suite: pytest.Pytester, text: str | bytes, sentence: str
) -> None:
    result = suite.runpytest_inprocess("--mtp", "--co", "--mtp-prompts", written(suite, text))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert fnmatch(" ".join(result.errlines), sentence)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("none.jsonl", "*--mtp-prompts none.jsonl cannot be read: No such file*Name another file.*"),
        (".", "*--mtp-prompts: . is a folder; name a file in it.*"),
    ],
)
def test_a_file_that_is_not_there_is_named(suite: pytest.Pytester, name: str, sentence: str) -> None:
    result = suite.runpytest_inprocess("--mtp", "--co", "--mtp-prompts", name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([sentence])


def test_a_baseline_of_other_prompts_needs_a_name_of_its_own(suite: pytest.Pytester) -> None:
    words = (*_REAL, "--mtp-prompts", written(suite, '{"poem": "A poem."}'), "--mtp-update-baselines=all")
    refused = suite.runpytest_inprocess(*words, "test_mine.py")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--mtp-set name=my-prompts*"])
    assert suite.runpytest_inprocess(*words, "--mtp-set=name=mine", "test_mine.py").ret == 0
