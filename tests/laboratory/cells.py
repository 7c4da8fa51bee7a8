"""The decision, simulated: how often it is wrong, what it finds, how many blocks it takes, beside what others do.

``python -m tests.laboratory.cells`` prints the tables of docs/decision.md: 2,000 campaigns per cell, seeded, some
minutes on two cores; ``--campaigns 200`` is enough to look around.
"""

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pytest_mtp.core.cause import LEVEL
from pytest_mtp.core.change import Change
from pytest_mtp.core.decision import settled, weigh
from pytest_mtp.core.profile import Gate
from tests.laboratory.rules import bootstrap, mann_whitney, mean_five_percent
from tests.laboratory.simulation import Decision, Noise, World, estimates, gate, limits_of

GATE = Gate()
LAST = GATE.looks[-1]
_SEED = 20261202
_LOST = 3
"""The class that loses where one does."""
_MOOD = 0.02
"""Standard deviation of a session's speed, which clocks, heat and neighbours set; a ratio of two arms forgets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One world and the sessions that its baseline was recorded in."""

    name: str
    world: World
    sessions: int = 3
    blocks: int = 8


def _losing(share: float, *classes: int) -> tuple[float, ...]:
    return tuple(share if one in classes else 0.0 for one in range(6))


def _world(block_sd: float, losses: tuple[float, ...] = (0.0,) * 6, **noise: float) -> World:
    return World(losses=losses, noise=replace(Noise().scaled(block_sd), **noise))


_ALL = (0, 1, 2, 3, 4, 5)
CELLS = (
    *(Cell(name=f"unchanged, sd {sd:.1%}", world=_world(sd)) for sd in (0.014, 0.02, 0.04)),
    Cell(name="every class at the limit, sd 2.0%", world=_world(0.02, _losing(GATE.tolerance, *_ALL))),
    Cell(name="every class at the limit, sd 4.0%", world=_world(0.04, _losing(GATE.tolerance, *_ALL))),
    Cell(name="one class -8%, sd 2.0%", world=_world(0.02, _losing(0.08, _LOST))),
    Cell(name="one class -8%, sd 2.0%, one session on record", world=_world(0.02, _losing(0.08, _LOST)), sessions=1),
    Cell(name="one class -8%, sd 4.0%", world=_world(0.04, _losing(0.08, _LOST))),
    Cell(name="one class -12%, sd 2.0%", world=_world(0.02, _losing(0.12, _LOST))),
    Cell(name="all classes -8%, sd 2.0%", world=_world(0.02, _losing(0.08, *_ALL))),
    Cell(name="unchanged, sd 2.0%, drift 5% in a session", world=_world(0.02, drift=0.05)),
    Cell(name="unchanged, sd 2.0%, sessions differ by 1%", world=_world(0.02, session=0.01)),
    Cell(name="unchanged, sd 2.0%, one start in three sessions bad", world=_world(0.02, bad_start=0.33)),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What one rule made of a cell, as shares of its campaigns."""

    red: float
    wrong: float
    """Red for a class that lost nothing beyond the tolerance."""
    found: float
    """Every class that lost more is red."""
    green: float
    blocks: float


def decisions(cell: Cell, campaign: int) -> dict[str, Decision]:
    """What every rule says of one campaign of a cell; each gets the same numbers."""
    rng = np.random.default_rng([_SEED, CELLS.index(cell), campaign])
    baseline = [cell.world.session(rng, cell.blocks, lost=False) for _ in range(cell.sessions)]
    now, again = cell.world.session(rng, LAST), cell.world.session(rng, LAST)
    # The others compare speeds, not ratios of two arms, so the machine's own mood of a session counts for them.
    then = (np.concatenate(baseline)[:LAST] + rng.normal(0, _MOOD)).astype(np.float64)
    now_tps = (now + rng.normal(0, _MOOD)).astype(np.float64)
    return {
        "this gate": gate(now, again, limits_of(baseline, GATE), GATE),
        "mean:5%": mean_five_percent(now_tps, then),
        "Mann-Whitney": mann_whitney(now_tps, then),
        "bootstrap": bootstrap(now_tps, then, rng),
    }


def tallies(cell: Cell, campaigns: int, pool: ProcessPoolExecutor) -> dict[str, Tally]:
    """All campaigns of a cell, counted rule by rule."""
    made = list(pool.map(partial(decisions, cell), range(campaigns), chunksize=50))
    return {rule: _tally(cell, [one[rule] for one in made]) for rule in made[0]}


def _tally(cell: Cell, made: list[Decision]) -> Tally:
    lost = frozenset(f"class{one}" for one, loss in enumerate(cell.world.losses) if loss > GATE.tolerance)
    return Tally(
        red=_share(bool(one.red) for one in made),
        wrong=_share(bool(one.red - lost) for one in made),
        found=_share(bool(lost) and lost <= one.red for one in made),
        green=_share(one.green for one in made),
        blocks=sum(one.blocks for one in made) / len(made),
    )


def _share(found: Iterable[bool]) -> float:
    seen = list(found)
    return sum(seen) / len(seen)


def covered(block_sd: float, campaign: int) -> dict[str, bool]:
    """Whether the printed intervals of a class hold the truth: at fixed numbers of blocks, and where a look ends it."""
    rng = np.random.default_rng([_SEED, 999, campaign])
    world = _world(block_sd)
    pairs, truth = world.session(rng, LAST), world.speedups[_LOST]
    level = 1 - 2 * GATE.alpha_look
    found = {}
    for blocks in GATE.looks:
        low, high = estimates(pairs[:blocks])[f"class{_LOST}"].interval(level)
        found[f"{blocks} blocks"] = low <= truth <= high
    then = np.concatenate([world.session(rng, 8, lost=False) for _ in range(3)])
    change = Change(*(estimates(one)[f"class{_LOST}"] for one in (then, pairs[:8])))
    low, high = change.interval(LEVEL)
    found[f"change of 8 blocks against 24 ({LEVEL:.0%})"] = low <= 1 <= high
    # A limit just below the truth: most campaigns end at their first or second look.
    limits = {name: one * (1 - GATE.tolerance) for name, one in _truths(world).items()}
    for blocks in GATE.looks:
        evidence = weigh(estimates(pairs[:blocks]), limits, GATE)
        if settled(evidence) or blocks == LAST:
            shown = evidence[f"class{_LOST}"]
            found["under the looks"] = shown.low <= truth <= shown.high
            break
    return found


def _truths(world: World) -> dict[str, float]:
    return {f"class{index}": speedup for index, speedup in enumerate(world.speedups)}


def coverages(campaigns: int, pool: ProcessPoolExecutor) -> dict[str, float]:
    """The share of campaigns whose interval held the truth, by when it was read."""
    made = list(pool.map(partial(covered, 0.02), range(campaigns), chunksize=50))
    return {name: _share(one[name] for one in made) for name in made[0]}


def lines(campaigns: int, say: Callable[[str], None]) -> None:
    """Both tables as Markdown, line by line as they come."""
    with ProcessPoolExecutor() as pool:
        say("| world | rule | any red | red wrongly | found | green | blocks |")
        say("| --- | --- | --- | --- | --- | --- | --- |")
        for cell in CELLS:
            for line in _rows(cell, tallies(cell, campaigns, pool)):
                say(line)
        say("")
        say(f"| interval ({1 - 2 * GATE.alpha_look:.1%}) | holds the truth |")
        say("| --- | --- |")
        for name, share in coverages(campaigns, pool).items():
            say(f"| {name} | {share:.1%} |")
    error = 1.96 * math.sqrt(0.05 * 0.95 / campaigns)
    say(f"\n{campaigns} campaigns per cell; a share near 5% is known to within {error:.1%}.")


def _rows(cell: Cell, found: dict[str, Tally]) -> Iterator[str]:
    beyond = any(loss > GATE.tolerance for loss in cell.world.losses)
    for place, (rule, one) in enumerate(found.items()):
        hit = f"{one.found:.1%}" if beyond else "-"
        name = cell.name if place == 0 else ""
        yield f"| {name} | {rule} | {one.red:.1%} | {one.wrong:.1%} | {hit} | {one.green:.1%} | {one.blocks:.1f} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=2000)
    lines(parser.parse_args().campaigns, lambda line: print(line, flush=True))  # noqa: T201 - what it is for


if __name__ == "__main__":
    main()
