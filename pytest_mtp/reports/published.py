"""Published tables as text: their figures by their formula, and beside them ours."""

from collections.abc import Iterator

from pytest_mtp.core.published import PublishedRow, PublishedTable

_NAME = 18


def lines(table: PublishedTable) -> Iterator[str]:
    """One table, no line wider than 80 columns: S, then tau and step cost by their formula and by ours."""
    build = f", {table.build}" if table.build else ""
    yield f"{table.device}, {table.model}{build}, n-max {table.n_max}"
    yield f"from {table.source}"
    yield f"{'':{_NAME}} {'':>6} {'':>7}  {'theirs':^13}  {'ours':^13}".rstrip()
    yield f"{'class':{_NAME}} {'S':>6} {'accept':>7}  {'tau':>6} {'cost':>6}  {'tau':>6} {'cost':>6}"
    yield from map(_row, table.rows)
    yield f"Theirs counts the free first token, n / (n - a); ours leaves it out, {_OURS}. S = tau / cost in both."
    yield (
        f"Speedup {table.speedup_of_sums:.3f}: all tokens over all time, with drafts over without. "
        "This is the one that is quoted here: it is what a user waits for."
    )
    yield f"The mean of the classes' ratios is {table.mean_of_speedups:.3f}: it weighs a short request like a long one."


_OURS = "(n - 1) / (n - 1 - a)"


def _row(row: PublishedRow) -> str:
    name = row.name if len(row.name) <= _NAME else f"{row.name[: _NAME - 1]}…"
    theirs = f"{row.mean_length:6.2f} {row.their_cost:6.2f}"
    ours = f"{row.tau:6.2f} {row.step_cost:6.2f}"
    return f"{name:{_NAME}} {row.speedup:6.3f} {row.acceptance:7.3f}  {theirs}  {ours}"
