"""``pytest-mtp bisect`` over real histories with real ``git bisect``; what a build measures is read out of its tree."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_mtp.commands import bisect
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.errors import MeasureError, SettingsError
from tests.fakes import bisecting
from tests.fakes.git_server import git
from tests.real.conftest import SMALL

ROOT = Path(__file__).parents[2]
FAST, SLOW = "1.0", "0.8"


@dataclass
class Place:
    """A repository with its history, and where measurements are noted."""

    repository: Path
    cache: Path
    log: Path
    environment: pytest.MonkeyPatch
    number: int = 0

    def commit(self, speed: str | None, subject: str) -> str:
        """A commit of what is built, or of words only."""
        path = self.repository / ("docs/page.md" if speed is None else bisecting.SPEED)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{subject if speed is None else speed}\n{subject}\n")
        # Whom git asks next to a commit without an answer depends on the shas.
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            self.environment.setenv(name, f"{1_700_000_000 + self.number} +0000")
        self.number += 1
        git(self.repository, "add", ".")
        git(self.repository, "commit", "-q", "-m", subject)
        return git(self.repository, "rev-parse", "HEAD")

    def history(self, speeds: Sequence[str | None]) -> list[str]:
        return [self.commit(speed, f"change {number}") for number, speed in enumerate(speeds)]

    def source(self, sha: str) -> str:
        return f"git:{self.repository}@{sha}"

    def words(self, good: str, bad: str, *more: str) -> list[str]:
        ends = [one if ":" in one else self.source(one) for one in (good, bad)]
        return [*ends, "--class", "right", "--profile", str(SMALL), "--cache-dir", str(self.cache), *more]

    def run(self, good: str, bad: str, *more: str) -> int:
        return bisect.run(bisecting.parsed(*self.words(good, bad, *more)))

    @property
    def measured(self) -> list[str]:
        """The word of every candidate that was measured, in order."""
        return self.log.read_text().split() if self.log.exists() else []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(bisect, "measure", bisecting.measure)
    monkeypatch.setattr(bisect, "STEP", bisecting.STEP)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv(bisecting.LOG, str(tmp_path / "measured.txt"))
    git(tmp_path, "init", "-q", "-b", "master", "llama.cpp")
    return Place(tmp_path / "llama.cpp", tmp_path / "cache", tmp_path / "measured.txt", monkeypatch)


# GOOD, and 16 commits of what is built, each followed by one of words only; the tenth is the first slow one.
BUILT = [FAST] * 8 + ["broken", FAST] + [SLOW] * 3 + ["undecided"] + [SLOW] * 3
MIXED = [word for speed in BUILT for word in (speed, None)]
FEW = [FAST] * 3 + [SLOW] * 2


def built(shas: list[str], number: int) -> str:
    return shas[2 * number]


def test_the_commit_is_found_in_few_measurements_with_all_that_was_measured(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    shas = place.history(MIXED)
    assert place.run(shas[0], shas[-1], "--limit", "mtp-tps") == 0
    out, err = capfd.readouterr()
    first_bad = built(shas, 10)
    assert "16 of the 33 commits after GOOD" in out
    assert "about 4 measurements beside the two ends; each compiles a llama.cpp" in out
    assert re.search(r"about 4 measurements beside the two ends; the first took \d+ s \(compiling and measuring\)", out)
    assert f"The first slower commit is {first_bad}\n  change 20\n  authored 2023-11-14T" in out
    assert re.search(r"mtp tok/s of right against GOOD: -(19\.9|20\.\d)%", out)
    assert len(place.measured) - 1 <= 6
    assert {"undecided", "broken"} < set(place.measured)
    assert re.search(r"skip {2}-\d+\.\d% \[.* change 26\n", err)
    assert re.search(r"skip {2}no answer: The compiler gave up\. {2}change 16\n", err)
    table = out.partition("All measurements, oldest commit first:\n")[2].partition("\n\n")[0].splitlines()
    assert len(table) == len(place.measured)
    subjects = [int(line.rpartition("change ")[2]) for line in table]
    assert subjects == sorted(subjects)
    assert all(number % 2 == 0 for number in subjects)
    sides = out.partition("The two campaigns side by side:\n")[2]
    assert [line.split()[:2] for line in sides.splitlines()[:3]] == [
        ["last", "good"],
        [built(shas, 9)[:7], first_bad[:7]],
        ["mtp", "tok/s"],
    ]
    assert not git(place.repository, "for-each-ref", "refs/bisect")


def test_what_was_measured_is_asked_again_for_nothing(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    shas = place.history(FEW)
    place.run(shas[0], shas[-1])
    before, first = place.measured, capfd.readouterr().out
    assert place.run(shas[0], shas[-1]) == 0
    second = capfd.readouterr().out
    assert place.measured == before
    assert f"of which up to {len(before) - 1} are already there" in second
    assert second.partition("The first slower")[2] == first.partition("The first slower")[2]


@pytest.mark.parametrize(
    ("number", "speeds", "first_bad"), [(signal.SIGKILL, MIXED, 20), (signal.SIGINT, FEW, 3), (signal.SIGTERM, FEW, 3)]
)
def test_a_bisect_that_was_ended_goes_on_with_the_same_command_line(
    number: signal.Signals,
    speeds: Sequence[str | None],
    first_bad: int,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    shas = place.history(speeds)
    command = [sys.executable, "-m", "tests.fakes.bisecting", "drive", *place.words(shas[0], shas[-1])]
    environment = {**os.environ, bisecting.KILLED_AT: f"3 {number.value}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    # Whatever it started held its output too, so all of that has ended by now.
    assert done.returncode == (-number if number == signal.SIGKILL else 130)
    assert len(place.measured) == 3
    monkeypatch.delenv(bisecting.KILLED_AT, raising=False)
    assert place.run(shas[0], shas[-1]) == 0
    assert f"The first slower commit is {shas[first_bad]}" in capfd.readouterr().out
    assert len(place.measured) - 1 <= 6 + 1  # the one that was cut off is begun again


@pytest.mark.parametrize("word", ["refused", "crash"])
def test_a_step_that_cannot_go_on_ends_the_bisect_and_is_no_answer(word: str, place: Place) -> None:
    shas = place.history([FAST, FAST, word, SLOW, SLOW])
    cause = "The profile is wrong for all" if word == "refused" else "git could not go on"
    with pytest.raises(MeasureError, match=rf"{cause}(?s:.*)the same command line goes on"):
        place.run(shas[0], shas[-1])
    assert place.measured == [SLOW, word]
    assert len(list(place.cache.glob("bisect/*/*.txt"))) == (word == "refused")


def test_commits_without_an_answer_beside_the_change_are_all_named(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    shas = place.history([FAST, FAST, FAST, "invalid", "broken", SLOW, SLOW])
    assert place.run(shas[0], shas[-1]) == 1
    out = capfd.readouterr().out
    assert f"The first slower commit is {shas[5]} or one of 2 before it that gave no answer" in out
    assert f"  or {shas[4]}  change 4\n  or {shas[3]}  change 3\n" in out
    assert "gave no answer: the control moved" in out


def test_a_change_of_the_first_commit_is_shown_beside_good_itself(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    shas = place.history([FAST, SLOW, SLOW])
    assert place.run(shas[0], shas[-1]) == 0
    out = capfd.readouterr().out
    assert f"The first slower commit is {shas[1]}" in out
    assert "last good, measured 2026-01-01T00:00:00+00:00, against GOOD in that session: it is GOOD" in out


def test_one_commit_needs_no_bisecting(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    shas = place.history([FAST, SLOW, None])
    assert place.run(shas[0], shas[-1]) == 0
    assert f"The first slower commit is {shas[1]}" in capfd.readouterr().out
    assert place.measured == [SLOW]


@pytest.mark.parametrize(
    ("find", "speeds", "said"),
    [
        ("slower", (FAST, FAST, FAST), "do not differ as sought: mtp tok/s of right of BAD is"),
        ("faster", (FAST, FAST, SLOW), "not clearly faster"),
        ("slower", (FAST, None, None), "None of the 2 commits"),
    ],
)
def test_ends_that_do_not_differ_are_one_sentence(
    find: str, speeds: Sequence[str | None], said: str, place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    shas = place.history(speeds)
    assert place.run(shas[0], shas[-1], "--find", find) == 1
    assert said in capfd.readouterr().out
    assert len(place.measured) <= 1


def test_an_mtp_arm_that_does_not_start_is_slower(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    shas = place.history([FAST, FAST, FAST, "silent", SLOW, SLOW])
    assert place.run(shas[0], shas[-1]) == 0
    out = capfd.readouterr().out
    assert f"The first slower commit is {shas[3]}" in out
    assert "against GOOD: its mtp arm does not start" in out


def test_an_mtp_arm_that_does_not_start_is_no_answer_to_what_is_faster(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    shas = place.history([FAST, FAST, "silent", "1.3", "1.3", "1.3"])
    assert place.run(shas[0], shas[-1], "--find", "faster") == 1
    assert f"The first faster commit is {shas[3]} or one of 1 before it" in capfd.readouterr().out


@pytest.mark.parametrize("word", ["broken", "invalid"])
def test_a_bad_end_without_an_answer_leaves_nothing_to_bisect(word: str, place: Place) -> None:
    shas = place.history([FAST, FAST, word])
    with pytest.raises(MeasureError, match=r"BAD gives no answer(?s:.*)To measure it again, remove .*\.\*"):
        place.run(shas[0], shas[-1])


def test_trees_of_one_repository_are_taken_for_their_commits(
    place: Place, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place.repository.joinpath("CMakeLists.txt").touch()
    shas = place.history([FAST, FAST, SLOW, SLOW])
    git(place.repository, "worktree", "add", "-q", "--detach", str(tmp_path / "old"), shas[0])
    assert place.run(f"dir:{tmp_path / 'old'}", f"dir:{place.repository}") == 0
    assert f"The first slower commit is {shas[2]}" in capfd.readouterr().out
    (place.repository / bisecting.SPEED).write_text("changed")
    with pytest.raises(SettingsError, match=r"is no commit as it lies there: commit its changes"):
        place.run(f"dir:{tmp_path / 'old'}", f"dir:{place.repository}")


def test_what_cannot_be_bisected_is_said_at_once(place: Place, tmp_path: Path) -> None:
    shas = place.history([FAST, SLOW])
    git(tmp_path, "clone", "-q", str(place.repository), "other")
    for good, bad, cause in (
        (shas[1], shas[0], r"GOOD \w{7} is no ancestor of BAD \w{7}: GOOD is the older one"),
        (shas[0], f"git:{tmp_path / 'other'}@master", r"GOOD is of .*llama\.cpp, BAD of .*other: .* one repository"),
        (shas[0], "sdist:11434", r"cannot be bisected: give git:URL@REF"),
        ("release:b9246", "release:b11434", r"cannot be bisected: give git:URL@REF"),
        ("sdist:11434", "sdist:9246", r"GOOD 11434\.0\.0 is not older than BAD 9246\.0\.0"),
    ):
        with pytest.raises(SettingsError, match=cause):
            place.run(good, bad)
    with pytest.raises(SettingsError, match="--class code: the profile small has right, mixed"):
        place.run(shas[0], shas[1], "--class", "code")
    assert not place.measured


def test_measurements_against_another_good_end_are_not_mixed_in(place: Place, tmp_path: Path) -> None:
    shas = place.history([FAST, FAST, SLOW, SLOW])
    state = ("--state", str(tmp_path / "state"))
    assert place.run(shas[0], shas[-1], *state) == 0
    assert place.run(shas[0], shas[-1], *state, "--limit", "step-cost") == 0  # the same measurements serve
    with pytest.raises(SettingsError, match=r"holds measurements against .* give another --state"):
        place.run(shas[1], shas[-1], *state)


VERSIONS = ("9246.0.0", *(f"{number}.0.0" for number in range(9300, 11400, 100)), "11434.0.0")


@pytest.fixture
def published(place: Place, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Publish versions whose words are told."""
    monkeypatch.setattr("pytest_mtp.runtime.sources.versions.versions_between", lambda *_: VERSIONS)
    monkeypatch.setattr("pytest_mtp.runtime.sources.versions.pinned", lambda version, _progress: f"sdist:{version}")

    def publish(words: dict[str, str]) -> None:
        def measure(source: str, _good: str, _parsed: object) -> RunReport:
            word = words[source.removeprefix("sdist:")]
            with place.log.open("a") as log:
                log.write(f"{word}\n")
            return bisecting.report_of(word)

        monkeypatch.setattr(bisect, "measure", measure)

    return publish


@pytest.mark.parametrize(("find", "speed"), [("slower", SLOW), ("faster", "1.3")])
def test_published_versions_are_bisected_in_either_sense(
    find: str, speed: str, place: Place, published: Callable[[dict[str, str]], None], capfd: pytest.CaptureFixture[str]
) -> None:
    words = {one: speed if number >= 14 else FAST for number, one in enumerate(VERSIONS)}
    published({**words, VERSIONS[11]: "broken"})
    assert place.run("sdist:9246", "sdist:11434", "--find", find) == 0
    out = capfd.readouterr().out
    assert "22 versions are published after GOOD b9246 up to BAD b11434: about 5 measurements" in out
    assert f"The first {find} version is {VERSIONS[14]}" in out
    assert "@b10500 and git:https://github.com/ggml-org/llama.cpp@b10600." in out
    before = place.measured
    assert len(before) - 1 <= 5 + before.count("broken")
    assert place.run("sdist:9246", "sdist:11434", "--find", find) == 0
    assert place.measured == before
