"""Campaigns made of numbers, for tests of what is computed from them."""

import math
from collections.abc import Mapping, Sequence

from pytest_mtp.core.sample import ArmFailure, Block, Campaign, Circumstances, Sample, Start
from pytest_mtp.core.schedule import block_order
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.timings import Timings

TOKENS = 97
PLAIN_MS = 960.0


def circumstances(**changes: object) -> Circumstances:
    """Circumstances that differ from the usual ones by ``changes``."""
    values: dict[str, object] = {
        "build": "b1",
        "build_label": "b1",
        "model": "m1",
        "model_label": "m1",
        "fingerprint": "here",
        "isolation": "side-by-side",
        "flags": {"ctx": "1024", "n_max": "3"},
        "request": {"tokens": str(TOKENS)},
        "prompts": {},
    }
    return Circumstances(**(values | changes))  # type: ignore[arg-type]  # a test may say anything


def sample(name: str, arm: Arm, *, ms: float, accepted: int, drafted: int, pair: int = 0) -> Sample:
    """One answer of 97 tokens, that is 96 after the free one."""
    mtp = arm is Arm.MTP
    timings = Timings(
        prompt_n=1,
        prompt_ms=0.0,
        predicted_n=TOKENS,
        predicted_ms=ms,
        draft_n=drafted if mtp else 0,
        draft_n_accepted=accepted if mtp else 0,
    )
    return Sample(prompt_class=name, pair=pair, timings=timings, wall_ms=ms, text_sha256="")


def campaign(
    speedups: Mapping[str, Sequence[float]],
    *,
    accepted: Mapping[str, int] | None = None,
    drafted: int = 100,
    failures: tuple[ArmFailure, ...] = (),
    **changes: object,
) -> Campaign:
    """A campaign whose class ``name`` has the block speedups ``speedups[name]``."""
    accepted = accepted or {}
    count = max((len(values) for values in speedups.values()), default=0)
    return Campaign(
        flag_set="n3",
        classes=tuple(speedups),
        circumstances=circumstances(**changes),
        started_at="2026-01-01T00:00:00+00:00",
        blocks=tuple(_block(index, speedups, accepted, drafted) for index in range(count)),
        failures=failures,
    )


def _block(index: int, speedups: Mapping[str, Sequence[float]], accepted: Mapping[str, int], drafted: int) -> Block:
    order = block_order(tuple(Arm), index, seed=1)
    starts = []
    for arm in order:
        samples = tuple(
            sample(
                name,
                arm,
                ms=PLAIN_MS / values[index] if arm is Arm.MTP else PLAIN_MS,
                accepted=accepted.get(name, min(64, drafted)),
                drafted=drafted,
            )
            for name, values in speedups.items()
        )
        starts.append(Start(arm=arm, command=f"{arm.value} command", load_s=1.0, samples=samples))
    return Block(index=index, order=order, starts=tuple(starts), measuring_s=10.0)


def around(center: float, sd: float, blocks: int = 4) -> tuple[float, ...]:
    """Block speedups whose logs have exactly this mean and about this spread."""
    signs = [(-1) ** index for index in range(blocks)]
    return tuple(center * math.exp(sd * sign) for sign in signs)
