"""``pytest-mtp bisect``: which commit, or which published version, changed the speed of a prompt class.

GOOD and BAD are ``git:URL@REF``, ``pr:NUMBER`` or ``dir:PATH`` of one repository, or ``sdist:VERSION``; GOOD is
the older one. Every candidate is compared with GOOD in one session. Interrupted, the same command line goes on.
"""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.commands.bisect_row import Row, commits, described, versions
from pytest_mtp.commands.bisect_trial import Trial, answered
from pytest_mtp.commands.resuming import keeping_blocks
from pytest_mtp.commands.subject import subject
from pytest_mtp.core.bisection import Answer, Effect, Found, Quantity, Sense, differs
from pytest_mtp.core.built_paths import built_paths
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.settings import Settings
from pytest_mtp.core.source import SourceKind, SourceSpec, parse_source
from pytest_mtp.errors import MeasureError, MtpError, SettingsError
from pytest_mtp.options import add_plain
from pytest_mtp.reports.bisect import Wanted, conclusion, cost, of_candidate, of_good, same, side_by_side, told

if TYPE_CHECKING:
    from pytest_mtp.core.run_report import RunReport
    from pytest_mtp.runtime.bisect_state import BisectState
    from pytest_mtp.runtime.progress import Progress

HELP = "find the commit or published version that made a prompt class slower, or faster"

STEP = (sys.executable, "-P", "-c", "import sys; from pytest_mtp.commands.bisect import step; sys.exit(step(sys.argv))")
"""How git asks about a commit; behind it come the state folder and what ``run_steps`` adds."""

_COMMITS = frozenset({SourceKind.GIT, SourceKind.DIR})
_INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take two ends, what is looked at, and what is built and served."""
    parser.add_argument("good", metavar="GOOD", help="the older end: git:URL@REF, dir:PATH or sdist:VERSION")
    parser.add_argument("bad", metavar="BAD", help="the newer end, of the same repository or package")
    parser.add_argument("--class", dest="prompt_class", required=True, metavar="NAME", help="prompt class to look at")
    parser.add_argument(
        "--limit",
        choices=[one.value for one in Quantity],
        default=Quantity.MTP_TPS.value,
        help="what of it: tokens per step, the cost of a step, or the mtp arm's tok/s (default: %(default)s)",
    )
    parser.add_argument(
        "--find",
        choices=[one.value for one in Sense],
        default=Sense.SLOWER.value,
        help="whether BAD is the slower end or the faster one (default: %(default)s)",
    )
    parser.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        help="where measurements are kept (default: bisect in the cache folder, by repository, ends, class and limit)",
    )
    add_plain(parser, "profile", "set", "model", "flag-set", "backend", "gpu-id", "isolation", "tier", "cache-dir")


def run(parsed: argparse.Namespace) -> int:
    """Bisect, and show what was found; 1 where that is not one commit or version."""
    from pytest_mtp.runtime.progress import ProgressLine

    good, bad = (parse_source(one) for one in (parsed.good, parsed.bad))
    wish, line = _wish(parsed, str(good)), ProgressLine(sys.stderr)
    try:
        row = _row(wish, good, bad, line.show)
    finally:
        line.clear()
    if not row.names:
        _say(f"{row.intro}: GOOD and BAD are the same llama-server.")
        return 1
    state = _state(parsed, wish, row)
    with state.held():
        found = _bisected(parsed, wish, row, state)
    return 0 if found is not None and len(found.suspects) == 1 else 1


def measure(source: str, good: str, parsed: argparse.Namespace) -> "RunReport":
    """Compare a candidate with GOOD in one session; minutes, its compiling included."""
    from pytest_mtp.commands.compare import compared_run
    from pytest_mtp.runtime.progress import ProgressLine

    wish = _wish(parsed, good)
    line = ProgressLine(sys.stderr)
    try:
        settings = replace(wish.settings, source=source, compare_to=good, resume=True)
        with keeping_blocks(settings) as journals:
            return compared_run(settings, wish.profile, line.show, journals)
    finally:
        line.clear()


@dataclass(frozen=True, slots=True)
class _Wish:
    """What is measured; the profile has but the class and the flag set that are looked at."""

    settings: Settings
    profile: Profile
    wanted: Wanted


def _wish(parsed: argparse.Namespace, good: str) -> _Wish:
    from pytest_mtp.commands.compare import narrowed

    settings, profile = subject(argparse.Namespace(**{**vars(parsed), "mtp_source": good}))
    names = settings.flag_sets or profile.measured()[:1]
    if len(names) > 1:
        raise SettingsError(f"A bisect is of one flag set, not of {', '.join(names)}.")
    wanted = Wanted(
        quantity=Quantity(parsed.limit),
        sense=Sense(parsed.find),
        prompt_class=parsed.prompt_class,
        kind="version" if parse_source(good).kind is SourceKind.SDIST else "commit",
    )
    return _Wish(replace(settings, flag_sets=names), narrowed(profile, [parsed.prompt_class]), wanted)


def _row(wish: _Wish, good: SourceSpec, bad: SourceSpec, progress: "Progress") -> Row:
    from pytest_mtp.runtime.cache import Cache
    from pytest_mtp.runtime.git_bisect import history

    kinds, table = {good.kind, bad.kind}, wish.profile.build
    if kinds <= _COMMITS:
        paths = built_paths(table.backend, table.options)
        return commits(history(good, bad, paths, Cache(wish.settings.cache_dir), progress), STEP)
    if kinds == {SourceKind.SDIST}:
        return versions(good, bad, progress)
    raise SettingsError(
        f"{good} and {bad} cannot be bisected: give git:URL@REF or dir:PATH of one repository, or twice sdist:VERSION."
    )


def _bisected(parsed: argparse.Namespace, wish: _Wish, row: Row, state: "BisectState") -> Found | None:
    """Measure the bad end, search between, and say what was found; ``None``: the ends do not differ."""
    from pytest_mtp.runtime.bisect_state import Question

    words = {name: value for name, value in vars(parsed).items() if name != "state"}
    bad, digest = row.names[-1], _digest(wish, row)
    state.ask(Question(good=row.good, bad=bad, measured=digest, words=words, folder=str(Path.cwd())))
    trial = _trial(parsed, wish.wanted, row.good, state)
    _say(f"{row.intro}: {_cost(row, state)}.", f"Measurements are kept in {state.folder}.")
    effect = trial.found(bad, lambda: row.source(bad))
    if isinstance(effect, str):
        mend = f"To measure it again, remove {state.folder / bad}.*"
        raise MeasureError(f"BAD gives no answer, so that nothing can be bisected: {effect}\n{mend}")
    if not differs(effect, wish.wanted.quantity, wish.wanted.sense):
        _say(same(wish.wanted, effect))
        return None
    _say(told(wish.wanted, row.describe(bad, effect, Answer.BAD)), f"It takes {_cost(row, state)}.")
    found = row.search(trial, effect)
    _say("", *_page(trial, row, found, effect), "", *row.advice(found), f"The reports are in {state.folder}.")
    return found


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _cost(row: Row, state: "BisectState") -> str:
    took = state.took_s()
    return cost(len(row.names), sum(one in took for one in row.names[:-1]), list(took.values()))


def _state(parsed: argparse.Namespace, wish: _Wish, row: Row) -> "BisectState":
    from pytest_mtp.runtime.bisect_state import BisectState
    from pytest_mtp.runtime.cache import recipe_hash

    if parsed.state is not None:
        return BisectState(parsed.state.expanduser().absolute())
    asked = {"measured": _digest(wish, row), "bad": row.names[-1], "limit": parsed.limit, "find": parsed.find}
    # Not 16 digits, which would make it an entry of the cache without a stamp: a leftover, which is removed.
    name = f"{parsed.prompt_class}-{parsed.limit}-{recipe_hash(asked)[:12]}"
    return BisectState(wish.settings.cache_dir.expanduser().absolute() / "bisect" / name)


def _digest(wish: _Wish, row: Row) -> str:
    """Of all that a measurement depends on beside its candidate."""
    from pytest_mtp.runtime.cache import recipe_hash

    settings = wish.settings
    facts = (
        row.good,
        wish.profile,
        settings.flag_sets,
        settings.model,
        settings.gpu_id,
        settings.isolation,
        settings.tier,
    )
    return recipe_hash({"facts": [repr(one) for one in facts]})


def _trial(parsed: argparse.Namespace, wanted: Wanted, good: str, state: "BisectState") -> Trial:
    return Trial(state=state, wanted=wanted, measure=lambda source: measure(source, good, parsed))


def _page(trial: Trial, row: Row, found: Found, bad_effect: Effect) -> list[str]:
    """The commit or version, all measurements, and the two campaigns."""
    known = [(name, trial.known(name)) for name in row.names]
    measured = [row.describe(name, one, answered(one, bad_effect)) for name, one in known if one is not None]
    by_name = {one.name: one for one in measured}
    at, result = trial.result(found.first_bad)
    bad = of_candidate(by_name[found.first_bad], f"first {trial.wanted.sense.value}", at, result)
    if found.last_good in by_name:
        good = of_candidate(by_name[found.last_good], "last good", *trial.result(found.last_good))
    else:
        good = of_good("GOOD", at, result)
    return [*conclusion(trial.wanted, found, measured), "", *side_by_side(good, bad)]


def step(arguments: list[str]) -> int:
    """Answer git about the commit that it chose, measuring it where that is not on record.

    Its arguments, behind its own name, are the state folder and the two numbers of ``run_steps``. What it returns is
    one of ``SAID``; anything else ends the bisect.
    """
    from pytest_mtp.runtime.bisect_state import BisectState
    from pytest_mtp.runtime.git_bisect import SAID
    from pytest_mtp.runtime.interrupt import sigterm_as_ctrl_c

    state = BisectState(Path(arguments[1]))
    os.dup2(int(arguments[3]), 2)
    try:
        with sigterm_as_ctrl_c(), _ending_with(int(arguments[2])):
            return SAID[_answer(state)]
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (MtpError, OSError) as error:
        state.stopped(str(error))
        return 1


def _answer(state: "BisectState") -> Answer:
    from pytest_mtp.runtime.git_bisect import chosen

    for name in [one for one in os.environ if one in _OF_THE_WORKTREE]:
        del os.environ[name]
    question = state.question()
    sha = chosen(state.worktree)
    os.chdir(question.folder)
    parsed = argparse.Namespace(**question.words)
    trial = _trial(parsed, _wish(parsed, question.good).wanted, question.good, state)
    bad_effect = trial.known(question.bad)
    if not isinstance(bad_effect, Effect):
        raise MeasureError(f"The report of BAD {question.bad} is gone from {state.folder}.")
    found = trial.found(sha, lambda: f"{question.good.rpartition('@')[0]}@{sha}")
    answer = answered(found, bad_effect)
    sys.stderr.write(f"{told(trial.wanted, described(state.worktree, sha, found, answer))}\n")
    return answer


_OF_THE_WORKTREE = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_INDEX_FILE", "GIT_COMMON_DIR"})
"""What git tells its children, and would turn theirs to the worktree that is bisected on."""


@contextmanager
def _ending_with(lifeline: int) -> Iterator[None]:
    """End the block like Ctrl-C once the other end of a pipe is gone, as when who holds it was killed."""

    def watch() -> None:
        if not os.read(lifeline, 1):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    yield
