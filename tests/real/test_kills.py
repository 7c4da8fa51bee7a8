"""A few kills of a run at random moments, on the real server; the laboratory does hundreds."""

import random
from pathlib import Path

from pytest_mtp.core.build_spec import Build
from tests.laboratory.kills import PROFILE, Ground, killed_runs, undisturbed

_KILLS = 4


def test_runs_that_are_killed_and_taken_up_again_lose_nothing(real_build: Build, tmp_path: Path) -> None:
    """Every class is far above its floor, so that the verdicts of all campaigns are the same."""
    ground = Ground(
        folder=tmp_path,
        server=real_build.server,
        profile=PROFILE,
        more=tuple(f"--mtp-set=classes.{name}.floor=0.02" for name in ("miss00", "miss20")),
    )
    expected, whole_s = undisturbed(ground)
    tally = killed_runs(ground, _KILLS, random.Random(7), whole_s, expected)
    assert tally.sound, "\n".join(tally.lines())
    assert tally.kills == _KILLS
