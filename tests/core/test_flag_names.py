"""By which name a build takes an option, and in which words what it does not take is refused."""

import re
from dataclasses import replace

import pytest

from pytest_mtp.core.capabilities import parse_help
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.errors import FlagError
from tests.helps import FULL, MTP, NUMBERS, PLAIN, captured, of_kinds, offering

# One name for each option, as builds have had them: short ones, long ones, and those of before a renaming.
SHORT = (
    *(
        "-m FNAME",
        "-c N",
        "-ngl N",
        "-np N",
        "--metrics",
        "--host HOST",
        "--port PORT",
        "-a STRING",
        "-t N",
        "-b N",
        "-ub N",
    ),
    *("--temp T", "--top-k N", "--top-p N", "--repeat-penalty N", "-fa [on|off|auto]", "-fit [on|off]", "-ctk TYPE"),
    *("-ctv TYPE", "-md FNAME", "--spec-draft-n-max N", "--spec-draft-p-min P", "--spec-type [none|draft-mtp]"),
)
LONG = (
    *("--model FNAME", "--ctx-size N", "--gpu-layers N", "--parallel N", "--metrics", "--host HOST", "--port PORT"),
    *(
        "--alias STRING",
        "--threads N",
        "--batch-size N",
        "--ubatch-size N",
        "--temperature T",
        "--top-k N",
        "--top-p N",
    ),
    *(
        "--repeat-penalty N",
        "--flash-attn [on|off|auto]",
        "--fit [on|off]",
        "--cache-type-k TYPE",
        "--cache-type-v TYPE",
    ),
    *("--model-draft FNAME", "--draft-max N", "--draft-p-min P", "--spec-type [none|draft-mtp]"),
)
RENAMED = {"--gpu-layers": "--n-gpu-layers", "--model-draft": "--spec-draft-model", "--draft-max": "--draft-n"}
OLDEST = {**RENAMED, "--draft-max": "--draft"}


def renamed(rows: tuple[str, ...], names: dict[str, str]) -> tuple[str, ...]:
    """The rows with other names for some options."""
    pairs = (row.split(" ") for row in rows)
    return tuple(" ".join([names.get(name, name), *rest]) for name, *rest in pairs)


@pytest.mark.parametrize(
    "rows", [SHORT, LONG, renamed(LONG, RENAMED), renamed(LONG, OLDEST)], ids=["short", "long", "renamed", "oldest"]
)
def test_every_option_is_found_by_the_only_name_that_a_build_has(rows: tuple[str, ...]) -> None:
    name = {row.split(" ")[0] for row in rows}

    def one_of(*names: str) -> str:
        (found,) = name.intersection(names)
        return found

    build = parse_help("\n".join(f"{row:<39} text" for row in rows))
    assert negotiate(FULL, build) == (
        *(one_of("-m", "--model"), "model.gguf", one_of("-c", "--ctx-size"), "4096"),
        *(one_of("-ngl", "--gpu-layers", "--n-gpu-layers"), "99", one_of("-np", "--parallel"), "1"),
        *(one_of("-fit", "--fit"), "off", one_of("-fa", "--flash-attn"), "on"),
        *(one_of("-ctk", "--cache-type-k"), "q8_0", one_of("-ctv", "--cache-type-v"), "q4_0"),
        *(one_of("-a", "--alias"), "a", one_of("-t", "--threads"), "2", one_of("-b", "--batch-size"), "512"),
        *(one_of("-ub", "--ubatch-size"), "256", one_of("--temp", "--temperature"), "0.8"),
        *("--top-k", "20", "--top-p", "0.95", "--repeat-penalty", "1.5", "--metrics", "--host", "127.0.0.1"),
        *("--spec-type", "draft-mtp", one_of("-md", "--model-draft", "--spec-draft-model"), "d.gguf"),
        *(one_of("--spec-draft-n-max", "--draft-max", "--draft-n", "--draft"), "3"),
        *(one_of("--spec-draft-p-min", "--draft-p-min"), "0.25"),
    )


@pytest.mark.parametrize("switch", ["-mtp", "--multi-token-prediction"])
def test_the_switch_of_older_forks_is_found_by_either_name(switch: str) -> None:
    words = negotiate(replace(MTP, flash_attn=None), offering(f"{switch:<39} MTP", *NUMBERS))
    assert words[-5:] == (switch, "--draft-max", "3", "--draft-p-min", "0")


def test_the_numbers_of_a_fork_are_part_of_its_type_and_said_once() -> None:
    spec = replace(PLAIN, flash_attn=None, speculation=Speculation(2, 0.75, draft_model="d.gguf"))
    build = offering(
        "--spec-type SPEC[:k=v,...]              --spec-type mtp:n_max=1", *NUMBERS, f"{'-md F':<39} draft"
    )
    assert negotiate(spec, build)[-4:] == ("--spec-type", "mtp:n_max=2,p_min=0.75", "-md", "d.gguf")


def test_a_build_without_mtp_may_have_other_kinds() -> None:
    build = offering("--spec-type [none|ngram-mod|ngram-simple]  type")
    words = negotiate(replace(of_kinds("ngram-simple"), flash_attn=None), build)
    assert words[-2:] == ("--spec-type", "ngram-simple")


@pytest.mark.parametrize(
    "name", ["-m", "-c", "-ngl", "-np", "--host", "--port", "--api-key", "--api-key-file", "--hf-token", "--spec-type"]
)
def test_what_the_plain_arm_is_told_already_is_no_extra_flag(name: str) -> None:
    said = (
        f"The extra flag {name} is set by pytest-mtp itself or by a key of the profile; "
        "remove it from extra and use that key."
    )
    with pytest.raises(FlagError, match=f"^{re.escape(said)}$"):
        negotiate(replace(PLAIN, extra=(name, "x")), captured("b11434"))


@pytest.mark.parametrize("value", ["-1", "-.5", "-", "-0.5e3", "x-y"])
def test_a_value_that_begins_with_a_minus_is_no_flag(value: str) -> None:
    words = negotiate(replace(PLAIN, extra=("--seed", value)), captured("b11434"))
    assert words[-2:] == ("--seed", value)


@pytest.mark.parametrize("word", ["-x1", "--1", "-e", "-q1"])
def test_a_word_that_begins_with_a_minus_and_a_letter_is_a_flag(word: str) -> None:
    with pytest.raises(FlagError, match=f"has no {word} "):
        negotiate(replace(PLAIN, flash_attn=None, extra=(word,)), offering())


@pytest.mark.parametrize(
    ("spec", "rows", "said"),
    [
        (
            replace(PLAIN, extra=("--sed",)),
            ("--seed N", "--speed N", "--seeds N", "--sort N", "--sends N", "--metrix N"),
            "This build of llama-server has no --sed (the nearest in its --help: --seed, --speed, --sends, --seeds).\n"
            "Correct the flag, drop it from the profile, or use a llama.cpp that has it (--mtp-source).",
        ),
        (
            replace(PLAIN, extra=("--qqqqqqqqqqqqq",)),
            (),
            "This build of llama-server has no --qqqqqqqqqqqqq (the nearest in its --help: none).\n"
            "Correct the flag, drop it from the profile, or use a llama.cpp that has it (--mtp-source).",
        ),
        (
            replace(PLAIN, extra=("--qqqqqqqq",)),
            ("--qqq-xxxx N",),  # less than six tenths alike
            "This build of llama-server has no --qqqqqqqq (the nearest in its --help: --qqq-xxxx).\n"
            "Correct the flag, drop it from the profile, or use a llama.cpp that has it (--mtp-source).",
        ),
        (
            replace(PLAIN, extra=("--seed=1=2",)),
            ("--seed N",),
            "llama-server takes no --seed=VALUE in one word; write the flag and its value as two words.",
        ),
        (
            replace(PLAIN, extra=("--xyzxyz=1",)),
            (),
            "This build of llama-server has no --xyzxyz=1 (the nearest in its --help: none).\n"
            "Correct the flag, drop it from the profile, or use a llama.cpp that has it (--mtp-source).",
        ),
        (
            replace(PLAIN, extra=("--old",)),
            ("--old N                                 the argument has been removed. use --new",),
            "This build of llama-server refuses --old. Its --help says: the argument has been removed. use --new.",
        ),
        (
            replace(PLAIN, cache_type_k="q9"),
            ("-ctk [f16|q8_0]",),
            "This build of llama-server does not know -ctk q9; it offers f16, q8_0.\n"
            "Choose one of them, or a source (--mtp-source) whose llama.cpp has q9.",
        ),
        (
            MTP,
            (),
            "This build of llama-server has no MTP: its --help lists no --spec-type with MTP.\n"
            "Use a llama.cpp that has it with --mtp-source (the first release with MTP is b9180).",
        ),
        (
            MTP,
            ("--spec-type [none|ngram-mod]",),
            "This build of llama-server has no MTP: its --spec-type offers none, ngram-mod.\n"
            "Use a llama.cpp that has it with --mtp-source (the first release with MTP is b9180).",
        ),
        (
            replace(PLAIN, speculation=Speculation(3, synth_rates=(0.9,))),
            ("--spec-type [none|draft-mtp]",),
            "This build of llama-server cannot take drafts by chance (synth_rates): its --help has no "
            "--spec-synth-rates.\nDrop synth_rates from the flag set, or use a llama.cpp with it (--mtp-source; b11434 "
            "has it, b10405 has not).",
        ),
        (
            of_kinds("ngram-new"),
            ("--spec-type [none|draft-mtp|ngram-mod]",),
            "This build of llama-server has no speculation by ngram-new (it lists mtp, ngram-mod).\n"
            "Change kinds in the flag set, or use a llama.cpp with them (--mtp-source).",
        ),
        (
            of_kinds("ngram-mod", "mtp"),
            ("--spec-type [none|draft-mtp|ngram-mod]",),
            "This build of llama-server takes one kind of speculation at a time, not ngram-mod and mtp.\n"
            "Change kinds in the flag set, or use a llama.cpp with them (--mtp-source).",
        ),
    ],
)
def test_a_refusal_names_the_cause_and_the_mend(spec: ServerSpec, rows: tuple[str, ...], said: str) -> None:
    with pytest.raises(FlagError, match=f"^{re.escape(said)}$"):
        negotiate(
            replace(spec, flash_attn=None), offering(*(f"{row:<39} text" if "  " not in row else row for row in rows))
        )


def test_flash_attention_that_a_build_has_not_is_refused_unless_it_is_left_alone() -> None:
    with pytest.raises(FlagError, match="no -fa "):
        negotiate(replace(PLAIN, flash_attn="off"), offering())
    assert "-fa" not in negotiate(replace(PLAIN, flash_attn=None), offering("-fa [on|off|auto]  flash attention"))


def test_the_prompt_cache_is_left_alone_where_a_build_has_none() -> None:
    words = negotiate(replace(PLAIN, flash_attn=None), offering("--slots                                 slots"))
    assert words[-4:] == ("--slots", "--metrics", "--host", "127.0.0.1")
    assert "--cache-ram" not in words
