import math

import pytest

from pytest_mtp.core.profile import ModelTable, PromptClass
from pytest_mtp.errors import SettingsError


@pytest.mark.parametrize("wrong", ["", "abc", "A" * 64, "0" * 63, "0" * 65, "0" * 64 + "\n"])
def test_a_hash_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"model\.sha256 is .* 64 lowercase hex digits"):
        ModelTable(spec="a.gguf", sha256=wrong)


def test_a_model_without_bytes_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"model\.size is 0; it must be at least 1"):
        ModelTable(spec="a.gguf", size=0)


@pytest.mark.parametrize("floor", [0.0, -1.0, math.inf, math.nan])
def test_a_floor_that_no_speedup_can_be_compared_with_is_refused(floor: float) -> None:
    with pytest.raises(SettingsError, match="floor of class a is"):
        PromptClass(name="a", prompt="A", floor=floor)
