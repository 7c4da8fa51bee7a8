from dataclasses import replace

import pytest

from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.server_spec import Arm, ServerSpec, Speculation
from pytest_mtp.errors import FlagError, SettingsError
from tests.helps import DATA, FULL, MTP, NUMBERS, PLAIN, captured, of_kinds, offering

SHARED = "-m model.gguf -c 4096 -ngl 99 -np 1 -fit off -fa on --cache-ram 0 --slots -lv 4 --metrics --host 127.0.0.1"

# The words that the mtp arm adds, for each captured help.
SPECULATIVE = {
    "b11434": "--spec-type draft-mtp --spec-draft-n-max 3 --spec-draft-p-min 0",
    "b10405": "--spec-type draft-mtp --spec-draft-n-max 3 --spec-draft-p-min 0",
    "b9246": "--spec-type draft-mtp --spec-draft-n-max 3 --spec-draft-p-min 0",
}
BUILDS = sorted(path.stem.removeprefix("help-") for path in DATA.glob("help-*.txt"))


@pytest.mark.parametrize("build", BUILDS)
def test_the_arms_differ_in_nothing_but_the_speculation(build: str) -> None:
    plain, mtp = negotiate(PLAIN, captured(build)), negotiate(MTP, captured(build))
    assert " ".join(plain) == SHARED
    assert " ".join(mtp) == f"{SHARED} {SPECULATIVE[build]}"


def test_what_a_spec_sets_is_spelled_out() -> None:
    spec = replace(FULL, flash_attn="auto", repeat_penalty=1.0, speculation=PLAIN.speculation)
    line = " ".join(negotiate(spec, captured("b11434")))
    for words in ("-a a", "-t 2", "-b 512", "-ub 256", "-ctk q8_0", "-ctv q4_0", "-fa auto"):
        assert f" {words} " in line
    assert "--temp 0.8 --top-k 20 --top-p 0.95 --repeat-penalty 1 " in line


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (("--spec-type [none|mtp]                  type", *NUMBERS), "--spec-type mtp --draft-max 3 --draft-p-min 0"),
        (("--spec-type SPEC[:k=v,...]              --spec-type mtp:n_max=1",), "--spec-type mtp:n_max=3,p_min=0"),
        (("-mtp, --multi-token-prediction          MTP", *NUMBERS), "-mtp --draft-max 3 --draft-p-min 0"),
    ],
)
def test_each_family_of_builds_gets_its_own_spelling_of_mtp(rows: tuple[str, ...], words: str) -> None:
    spec = replace(MTP, flash_attn=None)
    assert " ".join(negotiate(spec, offering(*rows))).endswith(f"--host 127.0.0.1 {words}")


@pytest.mark.parametrize("names", ["-fa", "--flash-attn", "-fa, --flash-attn"])
@pytest.mark.parametrize("value", ["on", "off", "auto"])
def test_flash_attention_is_a_bare_switch_where_the_build_takes_no_value(names: str, value: str) -> None:
    words = negotiate(replace(PLAIN, flash_attn=value), offering(f"{names:<39} flash attention"))
    assert (names.partition(",")[0] in words) is (value == "on")
    assert value not in words


def test_fit_is_left_alone_where_it_is_a_switch() -> None:
    words = negotiate(
        replace(PLAIN, flash_attn=None), offering("--fit                                   fit to memory")
    )
    assert "--fit" not in words


def test_a_build_without_mtp_says_what_it_offers() -> None:
    build = offering("--spec-type [none|ngram-mod]            type")
    with pytest.raises(FlagError, match=r"no MTP: its --spec-type offers none, ngram-mod(?s:.*)--mtp-source"):
        negotiate(replace(MTP, flash_attn=None), build)


def test_a_cache_type_of_a_fork_names_the_types_of_this_build() -> None:
    with pytest.raises(FlagError, match=r"does not know -ctk turbo3; it offers f32, f16(?s:.*)--mtp-source"):
        negotiate(replace(PLAIN, cache_type_k="turbo3"), captured("b11434"))


def test_a_flag_the_spec_needs_and_the_build_lacks_is_named() -> None:
    with pytest.raises(FlagError, match=r"no --top-k .*nearest"):
        negotiate(replace(PLAIN, flash_attn=None, top_k=3), offering())


@pytest.mark.parametrize(
    ("extra", "cause"),
    [
        (("--sede", "3"), r"no --sede \(the nearest in its --help: --seed"),
        (("--draft-max", "3"), r"refuses --draft-max.*use --spec-draft-n-max"),
        (("--seed=3",), r"no --seed=VALUE in one word"),
        (("--port", "80"), r"--port is set by pytest-mtp"),
        (("--parallel", "4"), r"--parallel is set by pytest-mtp"),
        (("--spec_type", "none"), r"--spec_type is set by pytest-mtp"),
        (("--draft-p-min", "0.9"), r"--draft-p-min is set by pytest-mtp"),
    ],
)
def test_an_extra_flag_must_be_offered_and_free(extra: tuple[str, ...], cause: str) -> None:
    with pytest.raises(FlagError, match=cause):
        negotiate(replace(MTP, extra=extra), captured("b11434"))


def test_extra_flags_pass_verbatim_negative_numbers_included() -> None:
    spec = replace(MTP, extra=("--seed", "-1"), speculation=Speculation(2, 0.75, extra=("--spec-draft-n-min", "1")))
    assert " ".join(negotiate(spec, captured("b11434"))).endswith(
        "--spec-draft-n-max 2 --spec-draft-p-min 0.75 --seed -1 --spec-draft-n-min 1"
    )


def test_extra_flags_of_the_speculation_stay_out_of_the_plain_arm() -> None:
    spec = replace(MTP, speculation=Speculation(2, extra=("--spec-draft-n-min", "1")))
    assert "--spec-draft-n-min" not in negotiate(replace(spec, speculation=None), captured("b11434"))


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"ctx": 0}, r"server\.ctx is 0"),
        ({"gpu_layers": -1}, r"server\.gpu_layers is -1"),
        ({"parallel": 0}, r"server\.parallel is 0"),
        ({"threads": 0}, r"server\.threads is 0"),
        ({"flash_attn": "yes"}, r"server\.flash_attn is 'yes'"),
        ({"model": ""}, r"server\.model is empty"),
    ],
)
def test_a_server_that_cannot_be_is_refused(changes: dict[str, object], cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        replace(PLAIN, **changes)  # type: ignore[arg-type]  # one field of any type


@pytest.mark.parametrize(
    ("n_max", "p_min", "cause"), [(0, 0.0, "n_max is 0"), (3, 1.1, "p_min is 1.1"), (3, -0.1, "p_min")]
)
def test_a_speculation_that_would_crash_or_mean_nothing_is_refused(n_max: int, p_min: float, cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        Speculation(n_max, p_min)


@pytest.mark.parametrize(
    ("rates", "cause"),
    [
        ((0.9, 0.7, 0.5, 0.3), "4 rates; n_max 3"),
        ((0.5, 0.7), "none above the one before it"),
        ((1.1,), "between 0 and 1"),
        ((0.5, -0.1), "between 0 and 1"),
        ((float("nan"),), "between 0 and 1"),
    ],
)
def test_rates_that_no_draft_can_have_are_refused(rates: tuple[float, ...], cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        Speculation(3, synth_rates=rates)


@pytest.mark.parametrize(
    ("rates", "words"), [((0.9, 0.7, 0.5), "0.9,0.7,0.5"), ((1.0,), "1,0,0"), ((0.0, 0.0, 0.0), "0,0,0")]
)
def test_rates_are_spelled_for_every_place(rates: tuple[float, ...], words: str) -> None:
    spec = replace(PLAIN, speculation=Speculation(3, synth_rates=rates))
    assert negotiate(spec, captured("b11434"))[-2:] == ("--spec-synth-rates", words)


def test_acceptance_by_chance_is_refused_by_a_build_that_only_verifies() -> None:
    spec = replace(PLAIN, speculation=Speculation(3, synth_rates=(0.9,)))
    with pytest.raises(FlagError, match=r"has no --spec-synth-rates(?s:.*)--mtp-source"):
        negotiate(spec, captured("b10405"))


def test_speculation_makes_the_arm() -> None:
    assert (PLAIN.arm, MTP.arm) == (Arm.PLAIN, Arm.MTP)


def test_verbosity_is_raised_where_4_is_a_line_per_request() -> None:
    build = offering("-lv N                                   Values: - 3: info - 4: trace - 5: debug")
    assert negotiate(replace(PLAIN, flash_attn=None), build)[-5:] == ("-lv", "4", "--metrics", "--host", "127.0.0.1")


def test_verbosity_is_left_alone_where_4_means_debug() -> None:
    build = offering("-lv, --verbosity N                      Values: - 3: info - 4: debug")
    assert "-lv" not in negotiate(replace(PLAIN, flash_attn=None), build)


SIZES = "--spec-draft-n-max 3 --spec-draft-p-min 0"


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (of_kinds("ngram-mod"), "--spec-type ngram-mod"),
        (of_kinds("ngram-mod", "mtp"), f"--spec-type ngram-mod,draft-mtp {SIZES}"),
        (of_kinds("draft-simple", draft_model="d.gguf"), f"--spec-type draft-simple -md d.gguf {SIZES}"),
        (of_kinds("mtp", draft_model="d.gguf"), f"--spec-type draft-mtp -md d.gguf {SIZES}"),
    ],
    ids=["n-grams", "a chain", "a draft model", "MTP in a file of its own"],
)
def test_other_kinds_and_chains_are_spelled_as_the_build_takes_them(build: str, spec: ServerSpec, words: str) -> None:
    assert " ".join(negotiate(spec, captured(build))) == f"{SHARED} {words}"


ONE_KIND = "--spec-type [none|mtp|ngram-mod]        type"


def test_a_build_whose_list_is_of_single_kinds_takes_one_of_them() -> None:
    words = negotiate(replace(of_kinds("ngram-mod"), flash_attn=None), offering(ONE_KIND))
    assert words[-2:] == ("--spec-type", "ngram-mod")


@pytest.mark.parametrize(
    ("kinds", "rows", "cause"),
    [
        (("ngram-new",), (ONE_KIND,), r"no speculation by ngram-new \(it lists mtp, ngram-mod\)(?s:.*)--mtp-source"),
        (("ngram-mod", "mtp"), (ONE_KIND,), r"one kind of speculation at a time, not ngram-mod and mtp"),
        (("ngram-mod",), ("--spec-type SPEC[:k=v,...]              --spec-type mtp:n_max=1",), r"it lists none"),
        (("ngram-mod",), (), r"it lists none"),
    ],
    ids=["unknown", "no chains", "ik_llama.cpp", "no list"],
)
def test_a_kind_that_the_build_lacks_is_refused_with_what_it_has(
    kinds: tuple[str, ...], rows: tuple[str, ...], cause: str
) -> None:
    with pytest.raises(FlagError, match=cause):
        negotiate(replace(of_kinds(*kinds), flash_attn=None), offering(*rows))


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"kinds": ()}, "at least one"),
        ({"kinds": ("mtp", "mtp")}, "each kind of speculation once"),
        ({"kinds": ("draft-mtp",)}, "write mtp"),
        ({"kinds": ("none",)}, "no kind of speculation"),
        ({"kinds": ("ngram mod",)}, "no kind of speculation"),
        ({"kinds": ("draft-simple",)}, "name its GGUF file by draft_model"),
        ({"kinds": ("ngram-mod",), "draft_model": "d.gguf"}, "ngram-mod would not use it"),
        ({"kinds": ("ngram-mod",), "synth_rates": (0.9,)}, "synth_rates are of mtp alone"),
    ],
)
def test_kinds_that_cannot_be_are_refused(changes: dict[str, object], cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        Speculation(3, **changes)  # type: ignore[arg-type]  # one field of any type


def test_sampling_needs_a_temperature_that_the_builds_agree_on() -> None:
    with pytest.raises(SettingsError, match=r"needs server\.temp"):
        replace(PLAIN, sampled=True)
    assert negotiate(replace(PLAIN, sampled=True, temp=0.7), captured("b11434"))[-2:] == ("--host", "127.0.0.1")
