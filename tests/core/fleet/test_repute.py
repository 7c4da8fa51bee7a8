"""A box is in doubt after two cells in a row that came to nothing, and not after one, nor once it measured again."""

import pytest

from pytest_mtp.core.fleet.repute import Repute


@pytest.mark.parametrize(
    ("ends", "doubted"),
    [
        ("", set()),
        ("x-", set()),
        ("x- x-", {"x"}),
        ("x- y- x+ y-", {"y"}),
        ("x- x+ x-", set()),
        ("x- x- x+", set()),
        ("x- x- x+ x- x-", {"x"}),
        ("x- y-", set()),
    ],
)
def test_a_box_is_in_doubt(ends: str, doubted: set[str]) -> None:
    repute = Repute()
    for end in ends.split():
        repute.note(end[0], in_vain=end[1] == "-")
    assert repute.doubted == doubted
