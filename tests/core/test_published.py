"""The published tables, taken apart, against the figures that were printed with them."""

from pathlib import Path

import msgspec
import pytest

from pytest_mtp.core.published import PublishedArm, PublishedRow, PublishedTable
from pytest_mtp.errors import InputError

TABLES = msgspec.json.decode(
    (Path(__file__).parent / "data/published_tables.json").read_bytes(), type=list[PublishedTable]
)
RTX_3090, STRIX_27B_N2, STRIX_27B_N3 = TABLES[:3]

# speedup, acceptance, mean length, step cost, as printed
PRINTED_3090 = {
    "code_python": ("1.621", "0.764", "3.25", "2.01"),
    "code_cpp": ("1.535", "0.705", "3.05", "1.99"),
    "explain_concept": ("1.462", "0.646", "2.91", "1.99"),
    "summarize": ("1.550", "0.725", "3.06", "1.97"),
    "qa_factual": ("1.569", "0.722", "3.10", "1.97"),
    "translation": ("1.304", "0.542", "2.44", "1.87"),
    "creative_short": ("1.348", "0.576", "2.70", "2.01"),
    "stepwise_math": ("1.588", "0.764", "3.25", "2.05"),
    "long_code_review": ("1.490", "0.694", "3.05", "2.04"),
}
PRINTED_STRIX_N2 = {
    "code_python": ("1.99", "0.857", "2.67", "1.34"),
    "code_cpp": ("1.91", "0.796", "2.56", "1.34"),
    "explain_concept": ("1.98", "0.851", "2.67", "1.35"),
    "summarize": ("2.04", "0.891", "2.74", "1.34"),
    "qa_factual": ("1.90", "0.791", "2.56", "1.35"),
    "translation": ("1.83", "0.745", "2.46", "1.35"),
    "creative_short": ("1.74", "0.688", "2.34", "1.34"),
    "stepwise_math": ("2.01", "0.871", "2.70", "1.34"),
    "long_code_review": ("1.79", "0.718", "2.40", "1.34"),
}
PRINTED_STRIX_N3 = {
    "code_python": ("2.24", "0.834", "3.43", "1.53"),
    "code_cpp": ("2.04", "0.718", "3.10", "1.52"),
    "explain_concept": ("2.10", "0.754", "3.20", "1.52"),
    "summarize": ("2.19", "0.798", "3.31", "1.51"),
    "qa_factual": ("2.10", "0.750", "3.20", "1.52"),
    "translation": ("1.97", "0.677", "3.00", "1.52"),
    "creative_short": ("1.97", "0.684", "3.00", "1.52"),
    "stepwise_math": ("2.19", "0.798", "3.31", "1.51"),
    "long_code_review": ("2.01", "0.705", "3.05", "1.52"),
}


def printed(row: PublishedRow, digits: int) -> tuple[str, ...]:
    return (f"{row.speedup:.{digits}f}", f"{row.acceptance:.3f}", f"{row.mean_length:.2f}", f"{row.their_cost:.2f}")


@pytest.mark.parametrize(
    ("table", "figures", "digits"),
    [(RTX_3090, PRINTED_3090, 3), (STRIX_27B_N2, PRINTED_STRIX_N2, 2), (STRIX_27B_N3, PRINTED_STRIX_N3, 2)],
    ids=["3090", "strix-n2", "strix-n3"],
)
def test_every_printed_digit_comes_out_by_their_formula(
    table: PublishedTable, figures: dict[str, tuple[str, ...]], digits: int
) -> None:
    assert {row.name: printed(row, digits) for row in table.rows} == figures


def test_one_run_has_two_headline_speedups() -> None:
    assert f"{RTX_3090.speedup_of_sums:.3f}" == "1.509"
    assert f"{RTX_3090.mean_of_speedups:.3f}" == "1.496"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.device}-{table.model}-n{table.n_max}")
def test_our_formula_gives_the_same_speedup_from_one_token_less(table: PublishedTable) -> None:
    for row in table.rows:
        assert row.tau / row.step_cost == pytest.approx(row.speedup)
        assert row.tau > row.mean_length


@pytest.mark.parametrize(
    ("arm", "cause"),
    [
        ({"predicted_n": 1, "tok_s": 9.0}, "^An answer has predicted_n 1 and tok_s 9.0: write 2 tokens or more"),
        ({"predicted_n": 2, "tok_s": 0.0}, "^An answer has predicted_n 2 and tok_s 0.0"),
        ({"predicted_n": 2, "tok_s": float("nan")}, "tok_s nan"),
        ({"predicted_n": 9, "tok_s": 9.0, "draft_n": 3, "draft_n_accepted": 4}, "^An answer of 9 tokens has draft_n 3"),
        (
            {"predicted_n": 9, "tok_s": 9.0, "draft_n": 9, "draft_n_accepted": 8},
            "fewer than the tokens after the first",
        ),
        ({"predicted_n": 9, "tok_s": 9.0, "draft_n_accepted": -1}, "draft_n_accepted -1"),
    ],
)
def test_an_answer_that_cannot_have_been_is_refused(arm: dict[str, float], cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        PublishedArm(**arm)  # type: ignore[arg-type]  # counts are integers here


def test_every_token_but_one_may_be_an_accepted_draft() -> None:
    most = PublishedArm(predicted_n=9, tok_s=9.0, draft_n=7, draft_n_accepted=7)
    off = PublishedArm(predicted_n=9, tok_s=3.0)
    assert PublishedRow(name="a", off=off, on=most).tau == 8.0
    with pytest.raises(InputError, match=r"^The row 'a' drafted nothing where it was on: write its draft_n"):
        PublishedRow(name="a", off=most, on=off)


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(InputError, match=r"^The table of 'card' has no rows; write one for each class"):
        PublishedTable(device="card", model="m", n_max=3, source="s", harness="h", rows=())
