import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.errors import MeasureError, SettingsError
from pytest_mtp.phantom.chains import Chain, break_all, degrade, make_chain, walk

LENGTHS = st.integers(1, 200)
SHARES = st.floats(0, 1)
SEEDS = st.integers(0, 2**32)
TOKENS = st.integers(2, 300)
N_MAX = st.integers(1, 8)
CHAINS = st.lists(st.booleans(), min_size=1, max_size=40).map(lambda wrong: Chain("code", tuple(wrong)))


def chain(text: str) -> Chain:
    """``.`` is a right guess, ``x`` a wrong one."""
    return Chain("code", tuple(letter == "x" for letter in text))


@pytest.mark.parametrize(
    ("text", "tokens", "n_max", "drafted", "steps", "per_position"),
    [
        ("...", 1, 3, 0, 0, (0, 0, 0)),  # the free token alone
        ("...", 2, 3, 0, 1, (0, 0, 0)),  # the last token is the step's own, so nothing is drafted
        ("...", 3, 3, 1, 1, (1, 0, 0)),  # 1, then 1 draft and 1
        ("...", 5, 3, 3, 1, (1, 1, 1)),  # 1, then 3 drafts and 1
        ("...", 6, 3, 3, 2, (1, 1, 1)),  # and a step that drafts nothing
        ("...", 9, 3, 6, 2, (2, 2, 2)),  # the chain goes round
        ("x", 5, 1, 3, 4, (0,)),  # 1 + 1 + 1 + 0 drafts
        ("x", 5, 3, 6, 4, (0, 0, 0)),  # 3 + 2 + 1 + 0 drafts
        (".x", 6, 3, 5, 3, (2, 0, 0)),  # 3 drafts from token 0, 2 drafts from token 2, none
        (".x", 6, 1, 2, 3, (2,)),  # 1 draft from token 0, 1 from token 2, none
        ("..x.", 9, 3, 6, 3, (2, 2, 1)),  # from 0: right, right, wrong; from 3: all right; none
        ("..x.", 9, 2, 5, 4, (2, 2)),  # from 0: 2 right; from 3: 2 right; from 6: 1 wrong; none
    ],
)
def test_the_walk_drafts_up_to_n_max_and_accepts_up_to_the_first_wrong_guess(
    text: str, tokens: int, n_max: int, drafted: int, steps: int, per_position: tuple[int, ...]
) -> None:
    walked = walk(chain(text), tokens, n_max)
    assert (walked.draft_n, walked.steps, walked.accepted_per_position) == (drafted, steps, per_position)
    assert walked.draft_n_accepted == sum(per_position)


def test_a_step_that_drafts_nothing_is_no_draft() -> None:
    walked = walk(chain("..."), 6, 3)
    assert (walked.steps, walked.drafts) == (2, 1)


@given(CHAINS, TOKENS, N_MAX)
def test_the_counts_of_a_walk_agree_with_each_other(known: Chain, tokens: int, n_max: int) -> None:
    walked = walk(known, tokens, n_max)
    assert walked.draft_n_accepted <= walked.draft_n
    assert walked.steps == tokens - 1 - walked.draft_n_accepted
    assert walked.drafts <= walked.steps
    assert walked.drafts <= walked.draft_n <= walked.drafts * n_max
    assert sum(walked.accepted_per_position) == walked.draft_n_accepted
    assert len(walked.accepted_per_position) == n_max


@given(CHAINS, TOKENS, N_MAX)
def test_a_later_draft_is_never_accepted_more_often_than_an_earlier_one(known: Chain, tokens: int, n_max: int) -> None:
    counts = walk(known, tokens, n_max).accepted_per_position
    assert list(counts) == sorted(counts, reverse=True)


@given(LENGTHS, TOKENS, N_MAX)
def test_a_head_that_is_always_right_gives_n_max_and_one_tokens_a_step(length: int, tokens: int, n_max: int) -> None:
    walked = walk(make_chain("code", length, 0, 1), tokens, n_max)
    assert walked.draft_n_accepted == walked.draft_n
    assert walked.steps == -(-(tokens - 1) // (n_max + 1))
    assert walked.tau == (tokens - 1) / walked.steps


@given(CHAINS, TOKENS, N_MAX)
def test_a_head_that_is_always_wrong_gets_nothing_accepted(known: Chain, tokens: int, n_max: int) -> None:
    walked = walk(break_all(known), tokens, n_max)
    assert (walked.draft_n_accepted, walked.steps, walked.tau) == (0, tokens - 1, 1)


def test_tau_leaves_the_free_token_out() -> None:
    assert walk(chain("..x."), 9, 3).tau == 8 / 3


def test_one_token_has_no_tau() -> None:
    with pytest.raises(MeasureError, match="One token takes no step, so it has no tau; ask for at least 2 tokens"):
        _ = walk(chain("."), 1, 3).tau


@pytest.mark.parametrize(("tokens", "n_max"), [(0, 3), (5, 0)])
def test_nothing_can_be_walked_without_tokens_or_drafts(tokens: int, n_max: int) -> None:
    with pytest.raises(SettingsError, match=f"{tokens} tokens with n_max {n_max} cannot be walked; both must be"):
        walk(chain("."), tokens, n_max)


@given(LENGTHS, SHARES, SEEDS)
def test_a_chain_has_the_share_of_wrong_guesses_that_was_asked_for(length: int, share: float, seed: int) -> None:
    made = make_chain("code", length, share, seed)
    assert (len(made.wrong), sum(made.wrong)) == (length, round(length * share))


@given(st.integers(1, 40), SEEDS)
def test_each_stretch_of_a_chain_has_one_wrong_guess(stretches: int, seed: int) -> None:
    wrong = make_chain("code", 20 * stretches, 0.05, seed).wrong
    assert [sum(wrong[start : start + 20]) for start in range(0, len(wrong), 20)] == [1] * stretches


def test_a_chain_depends_on_seed_and_name_and_on_nothing_else() -> None:
    made = make_chain("code", 64, 0.1, 7)
    assert made == make_chain("code", 64, 0.1, 7)
    assert made.wrong != make_chain("code", 64, 0.1, 8).wrong
    assert made.wrong != make_chain("prose", 64, 0.1, 7).wrong


def test_wrong_guesses_lie_where_they_lay_in_every_version() -> None:
    # A baseline holds counts of this chain: another place is another model and needs another WRITER_VERSION.
    wrong = make_chain("code", 40, 0.1, 7).wrong
    assert [place for place, is_wrong in enumerate(wrong) if is_wrong] == [8, 10, 22, 33]


@given(CHAINS, st.floats(0, 1, exclude_min=True), SEEDS)
def test_degrading_turns_a_share_of_the_right_guesses_wrong(known: Chain, share: float, seed: int) -> None:
    right = known.wrong.count(False)
    degraded = degrade(known, share, seed)
    assert degraded.wrong.count(False) == right - (max(1, round(right * share)) if right else 0)
    assert all(after or not before for before, after in zip(known.wrong, degraded.wrong, strict=True))


def test_degrading_by_everything_is_breaking() -> None:
    assert degrade(chain("..x."), 1, 7) == break_all(chain("..x.")) == chain("xxxx")


def test_where_a_chain_is_degraded_depends_on_the_seed() -> None:
    sound = make_chain("code", 64, 0, 7)
    assert degrade(sound, 0.1, 7) == degrade(sound, 0.1, 7) != degrade(sound, 0.1, 8)


def test_the_smallest_degradation_is_still_a_fault() -> None:
    assert sum(degrade(chain("...."), 0.001, 7).wrong) == 1


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_nothing_and_everything(share: float) -> None:
    with pytest.raises(SettingsError, match=f"share of wrong guesses of {share}; give one from 0 to 1"):
        make_chain("code", 10, share, 7)


def test_a_chain_has_a_token() -> None:
    with pytest.raises(SettingsError, match="The chain of class 'code' has no token; give it at least one"):
        make_chain("code", 0, 0.5, 7)
