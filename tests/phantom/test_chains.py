import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.errors import MeasureError, SettingsError
from pytest_mtp.phantom.chains import Chain, Walk, break_all, degrade, make_chain, walk

LENGTHS = st.integers(1, 200)
SHARES = st.floats(0, 1)
SEEDS = st.integers(0, 2**32)
CHAINS = st.lists(st.booleans(), min_size=1, max_size=40).map(lambda wrong: Chain("code", tuple(wrong)))


def chain(text: str) -> Chain:
    """``.`` is a right guess, ``x`` a wrong one."""
    return Chain("code", tuple(letter == "x" for letter in text))


@pytest.mark.parametrize(
    ("text", "tokens", "n_max", "drafted", "accepted", "steps", "drafts", "per_position"),
    [
        ("...", 1, 3, 0, 0, 0, 0, (0, 0, 0)),  # the free token alone
        ("...", 2, 3, 0, 0, 1, 0, (0, 0, 0)),  # one token left is the step's own
        ("...", 3, 3, 1, 1, 1, 1, (1, 0, 0)),  # 1, then 1 drafted + 1
        ("...", 5, 3, 3, 3, 1, 1, (1, 1, 1)),  # 1, then 3 drafted + 1
        ("...", 6, 3, 3, 3, 2, 1, (1, 1, 1)),  # and one step that drafts nothing
        ("...", 9, 3, 6, 6, 2, 2, (2, 2, 2)),  # the chain goes round
        ("x", 5, 1, 3, 0, 4, 3, (0,)),
        ("x", 5, 3, 6, 0, 4, 3, (0, 0, 0)),  # 3 + 2 + 1 + 0 drafted
        (
            ".x",
            6,
            3,
            6,
            2,
            3,
            3,
            (2, 0, 0),
        ),  # 1; 3 drafted, 1 right; the same with 2 left; then 1 wrong: 3 + 2 + 1 = 6?
        ("..x.", 8, 2, 6, 4, 3, 3, (2, 2)),
    ],
)
def test_the_walk_is_the_server_s_procedure(  # noqa: PLR0913
    text: str, tokens: int, n_max: int, drafted: int, accepted: int, steps: int, drafts: int, per_position: tuple[int]
) -> None:
    assert walk(chain(text), tokens, n_max) == Walk(
        tokens=tokens,
        n_max=n_max,
        draft_n=drafted,
        draft_n_accepted=accepted,
        steps=steps,
        drafts=drafts,
        accepted_per_position=per_position,
    )
