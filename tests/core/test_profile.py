import math

import pytest

from pytest_mtp.core.profile import FlagSet, Profile, PromptClass, ServerTable
from pytest_mtp.core.request_table import RequestTable
from pytest_mtp.core.served_tables import ModelTable, Serving
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


def of(**flag_sets: FlagSet) -> Profile:
    return Profile(
        name="p", description="P.", serving=Serving.RUNNING, server=ServerTable(ctx=512, gpu_layers=0),
        request=RequestTable(tokens=8), flag_sets=flag_sets, classes=(PromptClass(name="a", prompt="A"),),
    )  # fmt: skip


ALWAYS, SAMPLED = FlagSet(n_max=3, p_min=0.0), FlagSet(n_max=3, p_min=0.0, sampled=True, on_request=True)


def test_a_flag_set_on_request_is_measured_only_where_it_is_named() -> None:
    profile = of(n3=ALWAYS, warm=SAMPLED)
    assert profile.measured() == ("n3",)
    assert profile.measured(("warm",)) == ("warm",)
    assert of(warm=SAMPLED).measured() == ("warm",)


def test_what_a_flag_set_says_reaches_the_arm_that_speculates() -> None:
    chosen = FlagSet(n_max=3, p_min=0.0, kinds=("ngram-mod", "mtp"), draft_model="d", extra=("--x", "1"))
    spec = of(n=chosen).server_spec("n", model="m", speculative=True)
    assert spec.speculation is not None
    said = spec.speculation
    assert (said.kinds, said.draft_model, said.extra) == (("ngram-mod", "mtp"), "d", ("--x", "1"))
    assert of(n=chosen).server_spec("n", model="m", speculative=False).speculation is None


def test_both_arms_of_a_sampled_flag_set_are_sampled() -> None:
    profile = of(warm=FlagSet(n_max=3, p_min=0.0, sampled=True, server={"temp": 0.7}))
    assert [profile.server_spec("warm", model="m", speculative=one).sampled for one in (False, True)] == [True, True]
