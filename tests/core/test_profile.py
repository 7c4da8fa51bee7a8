import math
from dataclasses import replace

import pytest

from pytest_mtp.core.profile import FlagSet, Gate, MeasureTable, Profile, PromptClass, ServerTable
from pytest_mtp.core.request_table import RequestTable
from pytest_mtp.core.served_tables import ModelTable, Serving
from pytest_mtp.core.suite_table import SuiteTable
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


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"tolerance": -0.01}, r"^gates\.tolerance is -0\.01; it is a share: 0 or more and below 1\.$"),
        ({"tolerance": 1.0}, r"^gates\.tolerance is 1\.0"),
        ({"tau_tolerance": 1.0}, r"^gates\.tau_tolerance is 1\.0"),
        ({"tps_tolerance": math.nan}, r"^gates\.tps_tolerance is nan"),
        ({"alpha": 0.0}, r"^gates\.alpha is a chance between 0 and 0\.5, not 0\.0\.$"),
        ({"alpha": 0.5}, r"^gates\.alpha "),
        ({"looks": ()}, r"^gates\.looks are growing numbers of blocks, the first at least 2"),
        ({"looks": (1, 4)}, r"^gates\.looks "),
        ({"looks": (4, 4)}, r"^gates\.looks "),
        ({"looks": (8, 4)}, r"^gates\.looks "),
        ({"replacements": -1}, r"^gates\.replacements is -1; it must be at least 0\.$"),
    ],
)
def test_a_gate_that_could_not_judge_is_refused(changes: dict[str, object], cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        Gate(**changes)  # type: ignore[arg-type]  # one field of any type


def test_the_least_that_a_gate_may_be_is_taken_and_its_alpha_is_shared_among_looks() -> None:
    gate = Gate(tolerance=0.0, tau_tolerance=0.0, tps_tolerance=0.0, replacements=0, alpha=0.49, looks=(2, 3))
    assert gate.alpha_look == pytest.approx(0.245)


@pytest.mark.parametrize("field", ["pairs", "warmup", "start_timeout_s"])
@pytest.mark.parametrize("value", [-1, math.inf, math.nan])
def test_a_block_that_cannot_be_measured_is_refused(field: str, value: float) -> None:
    with pytest.raises(SettingsError, match=rf"^measure\.{field} is {value}; it must be at least [01]\.$"):
        MeasureTable(**{field: value})  # type: ignore[arg-type]  # one field of any type


def test_an_override_of_no_server_flag_names_those_there_are() -> None:
    profile = of(n=FlagSet(n_max=3, p_min=0.0, server={"contxt": 1}))
    with pytest.raises(SettingsError, match=r"^Flag set n sets server\.contxt, which is none of: ctx, gpu_layers, "):
        profile.server_spec("n", model="m", speculative=True)


@pytest.mark.parametrize("served", [Serving.LLAMA_CPP, Serving.VLLM])
def test_a_profile_that_does_not_say_what_to_serve_is_refused(served: Serving) -> None:
    wanted = {Serving.LLAMA_CPP: "source", Serving.VLLM: "model"}[served]
    with pytest.raises(SettingsError, match=rf"^Profile p has no {wanted}\.spec, which {served.value} needs\.$"):
        replace(of(n3=ALWAYS), serving=served)


def test_a_profile_without_anything_to_measure_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"^Profile p needs a prompt class and a flag set to measure"):
        of()
    with pytest.raises(SettingsError, match=r"^Profile p needs a prompt class and a flag set to measure"):
        replace(of(n3=ALWAYS), classes=())


def test_suites_ask_classes_that_there_are() -> None:
    with pytest.raises(SettingsError, match=r"^suites\.classes has b, and profile p only a\.$"):
        replace(of(n3=ALWAYS), suites=SuiteTable(classes=("b",)))
