"""From verdicts to the exit status, against the fake llama-server: its times are exact, so verdicts are too."""

from pathlib import Path

import pytest

from tests.plugin.gates import Gate, fake_server


# Four drafts of nine tokens make two steps of eight: the fake's mtp arm is four times as fast.
@pytest.mark.parametrize(
    ("floor", "more", "status"),
    [
        (None, (), 17),
        (None, ("--mtp-strict",), 1),
        (3.9, (), 0),
        (4.1, (), 1),
        (4.0, (), 17),
        (None, ("-k", "throughput"), 0),
    ],
)
def test_the_exit_status_follows_the_verdicts(
    floor: float | None, more: tuple[str, ...], status: int, gate: Gate
) -> None:
    if floor is not None:
        classes = f'[{{ name = "a", prompt = "A", floor = {floor} }}]'
        more = (*more, f"--mtp-set=classes={classes}")
    assert gate(*more).ret == status


# What git takes: 0 good, 1 bad, 125 skip; from 128 on it stops.
@pytest.mark.parametrize(
    ("floor", "more", "status"),
    [
        (None, (), 125),
        (None, ("--mtp-strict",), 125),
        (3.9, (), 0),
        (4.1, (), 1),
        (4.1, ("--mtp-source=bin:nowhere",), 125),
        (3.9, ("-k", "nothing"), 125),
        (3.9, ("--mtp-set=nonsense=1",), 128),
    ],
)
def test_git_bisect_gets_no_answer_but_a_verdict(
    floor: float | None, more: tuple[str, ...], status: int, gate: Gate
) -> None:
    if floor is not None:
        classes = f'[{{ name = "a", prompt = "A", floor = {floor} }}]'
        more = (f"--mtp-set=classes={classes}", *more)
    assert gate("--mtp-bisect", *more).ret == status


def test_git_bisect_is_not_told_that_a_commit_is_good_when_nothing_was_measured(pytester: pytest.Pytester) -> None:
    assert pytester.runpytest_inprocess("--mtp-bisect").ret == 128


def test_a_recorded_baseline_judges_the_next_run(gate: Gate) -> None:
    recorded = gate("--mtp-update-baselines=new", "--mtp-strict")
    assert recorded.ret == 0
    recorded.stdout.fnmatch_lines(["note: recorded to*", "*NO_BASELINE*"])
    again = gate("--mtp-update-baselines=new")
    assert again.ret == 0
    again.stdout.fnmatch_lines(["note: nothing was recorded:*"])
    assert gate("--mtp-strict").ret == 0


def test_other_flags_than_the_baselines_are_named(gate: Gate) -> None:
    gate("--mtp-update-baselines=new")
    other = gate("--mtp-set=server.ctx=1024")
    assert other.ret == 17
    other.stdout.fnmatch_lines(["note: a baseline exists for other circumstances: ctx was 512, is 1024"])


def test_a_changed_prompt_has_no_baseline(gate: Gate) -> None:
    gate("--mtp-update-baselines=new")
    changed = gate('--mtp-set=classes=[{ name = "a", prompt = "A" }, { name = "b", prompt = "changed" }]')
    assert changed.ret == 17
    changed.stdout.fnmatch_lines(["note: the baseline has not these classes, or with other prompts: b"])


def test_a_part_of_the_classes_is_not_recorded(gate: Gate) -> None:
    result = gate("--mtp-update-baselines=all", "-k", "n3-a")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*A baseline is recorded of every class, b is not selected: drop -k*"])


def test_only_selected_classes_are_measured(gate: Gate, pytester: pytest.Pytester) -> None:
    gate("-k", "n3-a", "--mtp-json=r.json")
    text = (pytester.path / "r.json").read_text()
    assert '"prompt_class": "a"' in text
    assert '"prompt_class": "b"' not in text


def test_a_report_that_cannot_be_written_is_one_sentence(gate: Gate) -> None:
    result = gate("-k", "throughput", "--mtp-json=/proc/nowhere/r.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*/proc/nowhere/r.json cannot be written*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_what_was_typed_wrongly_is_refused_before_anything_is_built(gate: Gate) -> None:
    for wrong in ("--mtp-source=nowhere", "--mtp-model=hf:x", "--mtp-set=flag_sets.n3.n_max=0"):
        assert gate(wrong).ret == pytest.ExitCode.USAGE_ERROR


def test_junit_carries_the_numbers_of_passing_tests(gate: Gate, pytester: pytest.Pytester) -> None:
    gate("-k", "throughput", "--junit-xml=j.xml")
    text = (pytester.path / "j.xml").read_text()
    for name in ("mtp_speedup", "mtp_tau", "mtp_plain_tps", "mtp_verdict"):
        assert f'<property name="{name}"' in text


def other(folder: Path, fault: str) -> str:
    """A second build, whose servers have the fault."""
    return fake_server(folder / f"llama-server-{fault}", fault)


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        # Its times are the same: nothing is lost, whatever baseline there is or is not.
        ("honest", 0, "*Control: base's mtp arm against itself +0.0%*it held.*"),
        # Without a base there is nothing to compare with, which is no verdict about the head.
        ("dies-loading", 1, "*there is nothing to compare with*"),
    ],
)
def test_a_base_is_compared_in_the_same_run(fault: str, status: int, said: str, gate: Gate, tmp_path: Path) -> None:
    done = gate(f"--mtp-compare-to={other(tmp_path, fault)}")
    assert done.ret == status
    done.stdout.fnmatch_lines([said])


def test_a_head_that_does_not_start_where_its_base_does_is_red(gate: Gate, tmp_path: Path) -> None:
    broken, sound = other(tmp_path, "dies-loading"), other(tmp_path, "honest")
    done = gate(f"--mtp-source={broken}", f"--mtp-compare-to={sound}", "-k", "speedup")
    assert (done.ret, done.parseoutcomes()["failed"]) == (1, 2)
    done.stdout.fnmatch_lines(["*REGRESSION: head's plain arm failed in start*"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mtp-compare-to=nonsense",), "*nonsense*is of no known form*"),
        (("--mtp-compare-to=bin:x", "--mtp-update-baselines=new"), "*A comparison records no baseline*"),
        (("--mtp-compare-to=n9", "--mtp-vary=flag-set"), "*has no flag set n9; it has n3*"),
        (("--mtp-compare-to=n3", "--mtp-vary=flag-set"), "*name the head's with --mtp-flag-set*"),
    ],
)
def test_a_comparison_that_cannot_be_is_said_at_once(words: tuple[str, ...], said: str, gate: Gate) -> None:
    done = gate(*words)
    assert done.ret == 4
    done.stderr.fnmatch_lines([said])
