"""The text for an issue: what a maintainer needs is in it, whose machine it was is not, and no word is markup."""

import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_mtp.core.baseline import Recorded
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import ArmFailure, Block, Campaign, Stage, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.reports.upstream import upstream
from tests.campaigns import around, campaign
from tests.comparisons import base, compared, stretched
from tests.hostile import WORDS, hostile_report

FLAGS = {"ctx": "8192", "n_max": "3", "p_min": "0.0", "cache_type_k": "q8_0"}
CARD = {"gpu": "NVIDIA GeForce RTX 3090", "driver": "580", "power_limit_w": "350", "gpu_memory_gib": "24"}
CODE = campaign({"code": around(2.0, 0.01)}, flags=FLAGS, build_label="b11434", model_label="Qwen3.6-27B-Q4_K_M")


def report(measured: Campaign = CODE, machine: dict[str, str] = CARD, **changes: Any) -> RunReport:
    return RunReport(
        version=REPORT_VERSION,
        created_at="2026-12-02T14:10:28+00:00",
        tool="pytest-mtp 0.1.0",
        profile="p",
        machine=machine,
        judged=(Judged(campaign=measured, gate=Gate(), **changes).rejudged(),),
    )


def started_by(command: str) -> Campaign:
    """The campaign with this command of both arms."""

    def start(one: Start) -> Start:
        return replace(one, command=f"{command} --{one.arm.value}")

    def block(one: Block) -> Block:
        return replace(one, starts=tuple(map(start, one.starts)))

    return replace(CODE, blocks=tuple(map(block, CODE.blocks)))


def row(text: str, name: str = "code") -> list[str]:
    """The cells of a class."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {name} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_provenance_is_one_line() -> None:
    assert (
        "NVIDIA GeForce RTX 3090 (driver 580, 350 W, 24 GiB), Qwen3.6-27B-Q4\\_K\\_M, build b11434, n-max 3, "
        "p-min 0.0, KV q8\\_0/default, ctx 8192, "
        "measured by pytest-mtp 0.1.0 (4 blocks of fresh servers, side-by-side) "
        "at 2026-12-02T14:10:28+00:00"
    ) in upstream(report()).splitlines()


def test_without_a_card_the_processor_is_named() -> None:
    assert "\nAMD EPYC, 2 cores, " in upstream(report(machine={"cpu": "AMD EPYC", "cores": "2"}))


def test_a_class_has_its_factors_and_what_it_is_held_against() -> None:
    recorded = (Recorded(recorded_at="2026-01-01T00:00:00+00:00", recorder="t", campaign=CODE),)
    assert row(upstream(report(sessions=recorded))) == [
        "code", "100.0", "200.0", "2.00x", "\\[1.96, 2.04\\]", "3.00", "0.640 (256/400)", "1.50", "2.00x",
    ]  # fmt: skip
    assert row(upstream(report(floors={"code": 1.5})))[-1] == "floor 1.50x"
    assert row(upstream(report()))[-1] == "none"


def test_a_comparison_shows_both_sides_and_why_a_class_lost() -> None:
    lost = stretched(base(), mtp=1.3, build="b2", build_label="b2")
    text = upstream(report(lost, compared=compared(base())))
    assert "Compared: head b2 against base b1." in text
    cells = row(text, "a")
    assert re.fullmatch(r"200\.\d → 15\d\.\d", cells[2])
    assert re.fullmatch(r"mtp -2\d\.\d% \\\[-2\d\.\d%, -2\d\.\d%\\\]", cells[4])
    assert (cells[5], cells[-1]) == ("3.00 → 3.00", "b1")
    assert "\n- a: REGRESSION: step cost: mtp tok/s -2" in text
    assert [line for line in text.splitlines() if line.endswith(":")] == [
        "plain:",
        "mtp:",
        "base, plain:",
        "base, mtp:",
    ]


def test_both_commands_are_there_as_they_were_given() -> None:
    text = upstream(report(started_by("/opt/llama-server -m '/models/a b.gguf' -ot 'blk\\.1=CPU' --port 7")))
    assert "plain:\n```text\n/opt/llama-server -m '/models/a b.gguf' -ot 'blk\\.1=CPU' --port 7 --plain\n```\n" in text
    assert "mtp:\n```text\n/opt/llama-server -m '/models/a b.gguf' -ot 'blk\\.1=CPU' --port 7 --mtp\n```\n" in text


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/ada/m.gguf", "~/m.gguf"),
        ("/Users/ada/m.gguf", "~/m.gguf"),
        ("/root/m.gguf", "~/m.gguf"),
        ("--path=/home/ada", "--path=~"),
        ("'/home/ada/my models/m.gguf'", "'~/my models/m.gguf'"),
        ("/home/ada/a:/home/ada/b", "~/a:~/b"),
        ("/srv/ci/m.gguf", "~/m.gguf"),
        ("/srv/cinema/m.gguf", "/srv/cinema/m.gguf"),
        ("/mnt/home/ada/m.gguf", "/mnt/home/ada/m.gguf"),
        ("/rooted/m.gguf", "/rooted/m.gguf"),
        ("/models/root/m.gguf", "/models/root/m.gguf"),
    ],
)
def test_nothing_is_masked_but_the_home_folder(path: str, shown: str) -> None:
    text = upstream(report(started_by(f"llama-server -m {path}")), home="/srv/ci/")
    assert f"llama-server -m {shown} --mtp" in text


@pytest.mark.parametrize("home", [None, "", "/"])
def test_a_home_that_is_none_masks_nothing(home: str | None) -> None:
    assert "/srv/ci/m.gguf --mtp" in upstream(report(started_by("/srv/ci/m.gguf")), home)


def test_labels_and_messages_do_not_tell_the_home_folder_either() -> None:
    around_it = replace(CODE.circumstances, model_label="/home/ada/m.gguf", build_label="/home/ada/llama.cpp")
    failed = ArmFailure(arm=Arm.MTP, stage=Stage.START, message="It died.\nCommand: /home/ada/llama-server")
    text = upstream(report(replace(CODE, circumstances=around_it, failures=(failed,))))
    assert "ada" not in text
    assert "The mtp arm failed in start:\n```text\nIt died.\nCommand: ~/llama-server\n```" in text


def test_an_arm_that_does_not_start_is_the_result_of_its_classes() -> None:
    failed = ArmFailure(arm=Arm.MTP, stage=Stage.START, message="It died.")
    text = upstream(report(replace(CODE, blocks=(), failures=(failed,))))
    assert row(text) == ["code", "-", "-", "REGRESSION", *["-"] * 5]
    assert "- code: REGRESSION: start failure: the mtp arm failed in start: It died." in text


def test_how_it_was_measured_is_two_sentences() -> None:
    last = upstream(report()).splitlines()[-1]
    assert last.startswith("Every block starts fresh servers of both arms")
    assert "(97 tokens each, temperature 0)" in last
    assert len(re.findall(r"\.(?: |$)", last)) == 2


def test_a_report_without_a_campaign_says_so() -> None:
    assert upstream(replace(report(), judged=())) == "Nothing was measured.\n"


def test_nobodys_words_are_markup() -> None:
    hostile = hostile_report()
    judged = hostile.judged[0]
    failed = ArmFailure(arm=Arm.PLAIN, stage=Stage.MEASURE, message=WORDS)
    broken = replace(judged, campaign=replace(judged.campaign, failures=(failed,))).rejudged()
    text = upstream(replace(hostile, judged=(judged, broken)))
    fences = [line for line in text.splitlines() if line.startswith("```")]
    assert fences == ["```text", "```"] * 2 + ["```text", "```"] * 2 + ["````text", "````"]
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", text)
    for trick in ("<script", "<img", "</details>", "@everyone", "https://", "`", "\x1b", "\u202e", "\u2028", " | cell"):
        assert trick not in outside
    assert "\x1b" not in text
    assert text.encode()
    tables = [line for line in outside.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {10}
