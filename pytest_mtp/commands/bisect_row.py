"""What ``pytest-mtp bisect`` searches: the commits between two of a repository, or the versions between two."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_mtp.commands.bisect_trial import Trial, answered
from pytest_mtp.core.bisection import Answer, Effect, Found, next_step
from pytest_mtp.core.source import UPSTREAM, SourceSpec
from pytest_mtp.errors import MeasureError, SettingsError
from pytest_mtp.reports.bisect import Measured, told

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_mtp.runtime.git_bisect import History
    from pytest_mtp.runtime.progress import Progress

_SHORT = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The candidates between two ends, whatever they are."""

    good: str
    """Source text of the good end."""
    names: tuple[str, ...]
    """Of the candidates, oldest first; the last is the bad end. Empty where the ends are the same server."""
    intro: str
    """How many they are, as the beginning of a sentence."""
    source: Callable[[str], str]
    """The source text of a candidate."""
    describe: Callable[[str, Effect | str, Answer], Measured]
    search: Callable[[Trial, Effect], Found]
    """Find the first bad one, given the bad end's effect."""
    advice: Callable[[Found], tuple[str, ...]]
    """What to do with what was found."""


def described(repository: "Path", name: str, found: Effect | str, answer: Answer) -> Measured:
    """A commit that was asked about."""
    from pytest_mtp.runtime.git_bisect import commit

    facts = commit(repository, name)
    return Measured(
        name=name, label=name[:_SHORT], found=found, answer=answer, subject=facts.subject, date=facts.author_date
    )


def commits(past: "History", step: Sequence[str]) -> Row:
    """The commits of a history; ``step`` is how git asks about one."""
    return Row(
        good=past.source(past.good),
        names=past.commits,
        intro=f"{len(past.commits) or 'None'} of the {past.behind} commits after GOOD {past.good[:_SHORT]} up to BAD "
        f"{'touches' if len(past.commits) < 2 else 'touch'} what is built",  # noqa: PLR2004 - grammar
        source=past.source,
        describe=lambda name, found, answer: described(past.repository, name, found, answer),
        search=lambda trial, bad_effect: _searched(past, step, trial, bad_effect),
        advice=lambda _found: (),
    )


def _searched(past: "History", step: Sequence[str], trial: Trial, bad_effect: Effect) -> Found:
    """What git finds; MeasureError where a step could not go on."""
    from pytest_mtp.runtime.git_bisect import run_steps, started, suspects

    state = trial.state
    with started(past, state.worktree):
        if len(past.commits) > 1:
            run_steps(state.worktree, (*step, str(state.folder)), state.log)
        left = suspects(past, state.worktree)
    told_of = {name: trial.known(name) for name in past.commits}
    answers = {name: answered(found, bad_effect) for name, found in told_of.items() if found is not None}
    if any(answers.get(one) is not Answer.SKIP for one in left[:-1]) or answers.get(left[-1]) is not Answer.BAD:
        why = state.why_stopped() or f"git could not go on; {state.log} says why."
        raise MeasureError(f"{why}\nThe measurements are kept: the same command line goes on from here.")
    before = past.commits[: past.commits.index(left[0])]
    last_good = next((one for one in reversed(before) if answers.get(one) is Answer.GOOD), past.good)
    return Found(left[-1], last_good, left)


def versions(good: SourceSpec, bad: SourceSpec, progress: "Progress") -> Row:
    """The published versions from one to another; SettingsError where they are in no order."""
    from pytest_mtp.runtime.sources.versions import numbers, pinned, versions_between

    if numbers(good.location) >= numbers(bad.location):
        raise SettingsError(
            f"GOOD {good.location} is not older than BAD {bad.location}: it must be, also with --find faster."
        )
    names = versions_between(good.location, bad.location)
    given = {one.location: str(one) for one in (good, bad) if one.sha256 is not None}

    def source(name: str) -> str:
        return given.get(name) or pinned(name, progress)

    return Row(
        good=source(names[0]),
        names=names[1:],
        intro=f"{len(names) - 1} versions are published after GOOD {_label(names[0])} up to BAD {_label(names[-1])}",
        source=source,
        describe=lambda name, found, answer: Measured(name=name, label=_label(name), found=found, answer=answer),
        search=lambda trial, bad_effect: _halved(names, source, trial, bad_effect),
        advice=lambda found: (
            "The commits in between are bisected alike, of "
            f"git:{UPSTREAM}@{_label(found.last_good)} and git:{UPSTREAM}@{_label(found.first_bad)}.",
        ),
    )


def _label(version: str) -> str:
    """The tag of llama.cpp that a version is made of."""
    return f"b{version.removesuffix('.0.0')}"


def _halved(names: tuple[str, ...], source: Callable[[str], str], trial: Trial, bad_effect: Effect) -> Found:
    answers: dict[str, Answer] = {}
    while not isinstance(step := next_step(names, answers), Found):
        found = trial.found(step, lambda: source(step))
        answers[step] = answered(found, bad_effect)
        one = Measured(name=step, label=_label(step), found=found, answer=answers[step])
        sys.stderr.write(f"{told(trial.wanted, one)}\n")
    return step
