"""How long a server took to draft, by its own clock: the line ``statistics`` that it logs after every request.

Builds of b9246's age log it at the usual verbosity, those from b9840 on with ``--verbosity 4``. Counts
and times grow over the life of the process, warm-up included; a line can come later than its answer.
Drafting is what the MTP head takes to guess; that it is told which tokens were verified is not in it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_mtp.core.sample import Block, Campaign, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate, middle_mean

_LINE = re.compile(
    r"statistics +(?P<name>\S+): #calls\(b,g,a\) = +\d+ +(?P<calls>\d+) +\d+,"
    r" #gen drafts = +(?P<drafts>\d+), #acc drafts = +\d+,"
    r" #gen tokens = +(?P<tokens>\d+), #acc tokens = +(?P<accepted_tokens>\d+)"
    r".*?dur\(b,g,a\) = [\d.]+, (?P<draft_ms>[\d.]+), [\d.]+ ms"
)
_HEADS = ("draft-mtp", "mtp")
_FEWEST_REQUESTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftStatistics:
    """What the MTP head of one server has done since its start."""

    calls: int
    """Steps in which it was asked for a draft."""
    drafts: int
    """Those in which it gave one."""
    tokens: int
    accepted_tokens: int
    draft_ms: float
    """Time of guessing, all calls together."""

    @property
    def step_ms(self) -> float:
        """Milliseconds of drafting in one step; nan before the first."""
        return self.draft_ms / self.calls if self.calls else math.nan

    def since(self, earlier: "DraftStatistics") -> "DraftStatistics":
        """What was done after an earlier line of the same server."""
        return DraftStatistics(
            calls=self.calls - earlier.calls,
            drafts=self.drafts - earlier.drafts,
            tokens=self.tokens - earlier.tokens,
            accepted_tokens=self.accepted_tokens - earlier.accepted_tokens,
            draft_ms=self.draft_ms - earlier.draft_ms,
        )


def draft_statistics(log_text: str) -> DraftStatistics | None:
    """The last line of the MTP head in a log, or in the end of one; ``None`` where there is none."""
    return next(reversed(_lines(log_text)), None)


def drafting_ms(log_text: str) -> float | None:
    """Milliseconds of drafting in a step: the middle half of the requests that the log tells of; ``None``: of none.

    Of the end of a log, which tells of the last request alone, it is the mean since the server's start.
    """
    lines = _lines(log_text)
    if len(lines) < _FEWEST_REQUESTS:
        times = [one.step_ms for one in lines[-1:]]
    else:
        times = [later.since(earlier).step_ms for earlier, later in pairwise(lines)]
    told = [one for one in times if not math.isnan(one)]
    return middle_mean(told) if told else None


def drafting_cost(campaign: Campaign, told: Sequence[float | None] = ()) -> Estimate:
    """Drafting per step over the time of a plain step, block by block; empty where a block does not tell.

    ``told`` has ``drafting_ms`` of the whole log of every valid block; where it is ``None`` the log's end that a
    start keeps must do. Over all classes of the campaign, as the server counts.
    """
    costs = [
        _block_cost(block, told[place] if place < len(told) else None) for place, block in enumerate(campaign.valid)
    ]
    known = [math.log(cost) for cost in costs if cost is not None and cost > 0]
    return Estimate(tuple(known) if len(known) == len(costs) else ())


def _block_cost(block: Block, told: float | None) -> float | None:
    drafting = drafting_ms(block.start(Arm.MTP).log_tail) if told is None else told
    return None if drafting is None else drafting / plain_step_ms(block.start(Arm.PLAIN))


def _lines(log_text: str) -> list[DraftStatistics]:
    """Every line of the MTP head: one after each request."""
    return [_read(match) for match in _LINE.finditer(log_text) if match["name"] in _HEADS]


def _read(line: re.Match[str]) -> DraftStatistics:
    return DraftStatistics(
        calls=int(line["calls"]),
        drafts=int(line["drafts"]),
        tokens=int(line["tokens"]),
        accepted_tokens=int(line["accepted_tokens"]),
        draft_ms=float(line["draft_ms"]),
    )


def plain_step_ms(start: Start) -> float:
    """Milliseconds of one step of the plain arm: the middle half of its requests."""
    return math.exp(middle_mean([math.log(sample.timings.ms_per_token) for sample in start.samples]))
