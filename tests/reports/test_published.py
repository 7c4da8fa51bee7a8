from pathlib import Path

from pytest_mtp.reports.published import lines
from pytest_mtp.runtime.store import load_published

TABLES = load_published(Path(__file__).parents[1] / "core/data/published_tables.json")


def test_both_formulas_stand_side_by_side_and_the_headline_says_which_it_is() -> None:
    said = "\n".join(lines(TABLES[0]))
    # 192 tokens, 133 accepted: theirs 192/59 = 3.25, ours 191/58 = 3.29; S = 1.621.
    assert "code_python         1.621   0.764    3.25   2.01    3.29   2.03" in said
    assert "Speedup 1.509: all tokens over all time" in said
    assert "The mean of the classes' ratios is 1.496" in said


def test_the_rows_keep_to_80_columns() -> None:
    for table in TABLES:
        names = [row.name for row in table.rows]
        rows = [line for line in lines(table) if line.split()[0] in names]
        assert len(rows) == len(names)
        assert max(map(len, rows)) <= 80
