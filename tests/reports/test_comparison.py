"""What a comparison looks like on a terminal and as a comment of a pull request."""

from dataclasses import replace

import pytest

from pytest_mtp.core.comparison import Compared
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import ArmFailure, Campaign, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.reports.markdown import MARKER, comment
from pytest_mtp.reports.terminal import lines
from tests.comparisons import base, compared, stretched

BASE = base()
SLOWER = stretched(BASE, mtp=1.15, build="b2", build_label="pull/1/head @ abc1234")


def report(head: Campaign, to: Compared | None = None) -> RunReport:
    judged = Judged(campaign=head, gate=Gate(), compared=to or compared(BASE)).rejudged()
    machine = {"cpu": "a processor", "cores": "2"}
    return RunReport(version=REPORT_VERSION, created_at="now", tool="t", profile="p", machine=machine, judged=(judged,))


def shown(head: Campaign, to: Compared | None = None, width: int = 80) -> list[str]:
    return [line.text for line in lines(report(head, to), width)]


def test_the_table_has_both_sides_and_what_moved() -> None:
    text = "\n".join(shown(SLOWER))
    assert "head pull/1/head @ abc1234 against base b1" in text
    assert "flag set n3: 5 blocks, block sd 0.6%; margin 5%" in text
    assert "a                     200.4    174.4   -13.0%" in text
    assert "2.00 -> 1.74x   3.00 -> 3.00   1.50 -> 1.72" in text
    assert "Control: base's mtp arm against itself" in text
    assert "it held." in text


@pytest.mark.parametrize("width", [80, 128])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, shown(SLOWER, width=width))) <= width


def test_a_void_session_says_so() -> None:
    text = " ".join(" ".join(shown(SLOWER, compared(BASE, control=1.06))).split())
    assert "it moved: the session is void" in text
    assert "INVALID: the control moved: base's mtp arm differs from itself by -5.6%" in text


@pytest.mark.parametrize(
    ("head", "to", "first"),
    [
        (SLOWER, None, "### MTP: FAIL, 2 of 2 classes lost (step cost), 5 blocks"),
        (stretched(BASE), None, "### MTP: PASS, no class lost, 5 blocks"),
        (stretched(BASE, mtp=0.8), None, "### MTP: PASS, no class lost, 2 of 2 faster, 5 blocks"),
        (stretched(BASE, plain=1.15), None, "### MTP: FAIL, plain tok/s lost over all classes, 5 blocks"),
        (SLOWER, compared(BASE, control=1.06), "### MTP: UNDECIDED, 2 of 2 classes without an answer, 5 blocks"),
        (
            SLOWER,
            Compared(base=replace(BASE, failures=(ArmFailure(arm=Arm.MTP, stage=Stage.START, message="no"),))),
            "### MTP: ERROR, 2 of 2 classes without a measurement, 5 blocks",
        ),
    ],
)
def test_the_first_line_of_a_comment_is_the_verdict(head: Campaign, to: Compared | None, first: str) -> None:
    assert comment(report(head, to)).splitlines()[:2] == [MARKER, first]


def test_only_changed_classes_are_in_the_table_and_the_rest_is_folded() -> None:
    lost = comment(report(SLOWER))
    assert "| a | 200.4 → 174.4 | -13.0% |" in lost
    assert lost.count("<details>") == lost.count("</details>") == 1
    assert "| class |" not in comment(report(stretched(BASE)))


def test_names_of_branches_are_no_markup() -> None:
    text = comment(report(replace(SLOWER, circumstances=replace(SLOWER.circumstances, build_label="@all <b>|`x`"))))
    head = text.split("<details>")[0]
    assert "@all" not in head
    assert "&lt;b&gt;\\|'x'" in head


def test_a_comment_fits_whatever_was_measured() -> None:
    many = {f"class-{index:04}": 2.0 for index in range(700)}
    blocks = tuple(
        replace(
            block,
            starts=tuple(
                replace(
                    start,
                    samples=tuple(replace(start.samples[0], prompt_class=name) for name in many),
                )
                for start in block.starts
            ),
        )
        for block in BASE.blocks
    )
    wide = replace(BASE, classes=tuple(many), blocks=blocks)
    text = comment(report(stretched(wide, mtp=1.3), compared(wide)))
    assert len(text) <= 60_000
    assert text.startswith(f"{MARKER}\n### MTP: FAIL, 700 of 700 classes lost")
    assert "see the stored report" in text
