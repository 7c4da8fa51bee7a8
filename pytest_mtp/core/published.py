"""Tables that others published, taken apart into the same factors as our own measurements.

Their formula counts the free first token: n tokens with a accepted drafts took n - a steps. Ours leaves it out,
(n-1) / (n-1-a). Both are given, each by its name, so that a published figure can be found again and compared.
"""

from dataclasses import dataclass
from statistics import fmean

from pytest_mtp.errors import InputError

_MOST = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedArm:
    """One request as it was published; rates are the server's own."""

    predicted_n: int
    tok_s: float
    draft_n: int = 0
    draft_n_accepted: int = 0

    def __post_init__(self) -> None:
        if not (2 <= self.predicted_n <= _MOST and 1 / _MOST <= self.tok_s <= _MOST):  # noqa: PLR2004 - the first is free
            raise InputError(
                f"An answer has predicted_n {self.predicted_n!r:.30} and tok_s {self.tok_s!r:.30}: write 2 tokens or "
                "more, and the rate that was published."
            )
        if not 0 <= self.draft_n_accepted <= min(self.draft_n, self.predicted_n - 2) or self.draft_n > _MOST:
            raise InputError(
                f"An answer of {self.predicted_n} tokens has draft_n {self.draft_n!r:.30} and draft_n_accepted "
                f"{self.draft_n_accepted!r:.30}: accepted drafts are drafts, and fewer than the tokens after the first."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One prompt class, without and with drafts."""

    name: str
    off: PublishedArm
    on: PublishedArm

    def __post_init__(self) -> None:
        if not self.on.draft_n:
            raise InputError(f"The row {self.name!r:.60} drafted nothing where it was on: write its draft_n.")

    @property
    def speedup(self) -> float:
        """S: rate with drafts over rate without."""
        return self.on.tok_s / self.off.tok_s

    @property
    def mean_length(self) -> float:
        """Tokens per step by their formula, n / (n - a)."""
        return self.on.predicted_n / (self.on.predicted_n - self.on.draft_n_accepted)

    @property
    def their_cost(self) -> float:
        """Step cost by their formula."""
        return self.mean_length / self.speedup

    @property
    def tau(self) -> float:
        """Tokens per step by our formula, the free first token left out."""
        return (self.on.predicted_n - 1) / (self.on.predicted_n - 1 - self.on.draft_n_accepted)

    @property
    def step_cost(self) -> float:
        """Step cost by our formula: c = tau / S."""
        return self.tau / self.speedup

    @property
    def acceptance(self) -> float:
        """Accepted over drafted."""
        return self.on.draft_n_accepted / self.on.draft_n


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTable:
    """One published comparison; ``harness`` tells revisions apart whose numbers must not be mixed."""

    device: str
    model: str
    n_max: int
    source: str
    harness: str
    rows: tuple[PublishedRow, ...]
    build: str | None = None

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError(f"The table of {self.device!r:.60} has no rows; write one for each class.")

    @property
    def speedup_of_sums(self) -> float:
        """All tokens over all time, with drafts over without: the one this project quotes.

        It is what a user waits for. The mean of ratios weighs a request of 22 tokens like one of 192, and short
        requests are the noisy ones.
        """
        return self._rate_of_sums("on") / self._rate_of_sums("off")

    @property
    def mean_of_speedups(self) -> float:
        """The mean over the classes of their speedups: what is often quoted."""
        return fmean(row.speedup for row in self.rows)

    def _rate_of_sums(self, arm: str) -> float:
        answers: list[PublishedArm] = [getattr(row, arm) for row in self.rows]
        return sum(one.predicted_n for one in answers) / sum(one.predicted_n / one.tok_s for one in answers)
