from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.capabilities import Capabilities, MtpSpelling, parse_help
from pytest_mtp.core.server_log import last_words, lost_its_port, offloaded_layers
from pytest_mtp.errors import InputError

DATA = Path(__file__).parent / "data"
CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")

# What each captured help holds; a help without a row here fails, so that none goes unread.
SPEC_TYPES = (
    *("none", "draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark"),
    *("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"),
)
OFFERED = {"--spec-draft-n-max", "--draft-p-min", "--cache-ram", "-fit", "--metrics", "--slots", "--api-key-file"}
REMOVED = {"--draft", "--draft-n", "--draft-max", "--draft-min", "--spec-ngram-size-n"}
EXPECTED: dict[str, dict[str, object]] = {
    "b11434": {
        "options": 256,
        "mtp": MtpSpelling.DRAFT_MTP,
        "spec_types": SPEC_TYPES,
        "cache_types": CACHE_TYPES,
        "offered": OFFERED | {"--spec-synth-rates", "--spec-draft-sampling"},
        "removed": REMOVED,
    },
    "b10405": {
        "options": 246,
        "mtp": MtpSpelling.DRAFT_MTP,
        "spec_types": SPEC_TYPES,
        "cache_types": CACHE_TYPES,
        "offered": OFFERED | {"--mlock"},
        "removed": REMOVED,
    },
    "b9246": {
        "options": 241,
        "mtp": MtpSpelling.DRAFT_MTP,
        "spec_types": tuple(one for one in SPEC_TYPES if one not in ("draft-dflash", "draft-dspark")),
        "cache_types": CACHE_TYPES,
        "offered": OFFERED | {"--mlock"},
        "removed": REMOVED,
    },
}
BUILDS = sorted(path.stem.removeprefix("help-") for path in DATA.glob("help-*.txt"))


def captured(build: str) -> Capabilities:
    return parse_help((DATA / f"help-{build}.txt").read_text())


@pytest.mark.parametrize("build", BUILDS)
def test_a_captured_help_is_read_row_by_row(build: str) -> None:
    expected, capabilities = EXPECTED[build], captured(build)
    assert len(capabilities.options) == expected["options"]
    assert capabilities.mtp is expected["mtp"]
    assert capabilities.values("--spec-type") == expected["spec_types"]
    assert capabilities.values("-ctk") == expected["cache_types"]


@pytest.mark.parametrize("build", BUILDS)
def test_a_removed_flag_is_listed_and_not_offered(build: str) -> None:
    capabilities, removed = captured(build), EXPECTED[build]["removed"]
    assert isinstance(removed, set)
    assert all(capabilities.option(name) is not None for name in removed)
    assert not any(capabilities.offers(name) for name in removed)


@pytest.mark.parametrize("build", BUILDS)
def test_a_live_flag_is_offered_under_each_of_its_names(build: str) -> None:
    capabilities, offered = captured(build), EXPECTED[build]["offered"]
    assert isinstance(offered, set)
    assert [name for name in offered if not capabilities.offers(name)] == []


@pytest.mark.parametrize("build", BUILDS)
def test_no_row_swallows_another(build: str) -> None:
    names = [name for option in captured(build).options for name in option.names]
    assert len(set(names)) == len(names)
    assert not [option for option in captured(build).options if not option.text or "  " in option.text]


def test_names_hint_text_and_variable_of_a_row_are_told_apart() -> None:
    option = captured("b11434").option("--draft-p-min")
    assert option is not None
    assert option.names == ("--spec-draft-p-min", "--draft-p-min")
    assert (option.hint, option.env) == ("P", "LLAMA_ARG_SPEC_DRAFT_P_MIN")
    assert option.text == "minimum speculative decoding probability (greedy) (default: 0.00)"


def test_a_text_that_wraps_is_one_line_again() -> None:
    option = captured("b11434").option("--draft-max")
    assert option is not None
    assert option.text == "the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("-fa", ("on", "off", "auto")),
        ("--spec-draft-sampling", ("greedy", "probabilistic")),
        ("--poll-batch", ("0", "1")),
        ("--ctx-size", ()),  # one word is a placeholder
        ("--tensor-split", ()),  # N0,N1,N2,...
        ("--device", ()),  # <dev1,dev2,..>
        ("--override-kv", ()),  # KEY=TYPE:VALUE,...
        ("--draft-max", ()),  # removed
        ("--xyz", ()),
    ],
)
def test_values_are_choices_and_never_placeholders(name: str, values: tuple[str, ...]) -> None:
    assert captured("b11434").values(name) == values


def test_underscores_are_dashes_in_long_names_only() -> None:
    capabilities = captured("b11434")
    assert capabilities.option("--spec_type") is capabilities.option("--spec-type")
    assert parse_help(help_with("-a-b                                    a short name")).option("-a_b") is None


def help_with(*rows: str) -> str:
    return "\n".join(["----- common params -----", "", "--port PORT                             port to listen", *rows])


@pytest.mark.parametrize(
    ("rows", "spelling"),
    [
        (["--spec-type none,draft-mtp,ngram-mod", " " * 40 + "comma-separated list"], MtpSpelling.DRAFT_MTP),
        (["--spec-type [none|mtp|ngram-mod]        type of speculative decoding"], MtpSpelling.MTP),
        (["--spec-type [none|ngram-cache|ngram-mod]", " " * 40 + "type of speculative decoding, not mtp"], None),
        (["-mtp, --multi-token-prediction          use the MTP layers"], MtpSpelling.IK_SWITCH),
        (["-mtp, --multi-token-prediction          the argument has been removed. use --spec-type"], None),
        (["--draft-max N                           drafts, also for draft-mtp"], None),
        ([], None),
    ],
)
def test_the_spelling_of_mtp_follows_from_the_rows(rows: list[str], spelling: MtpSpelling | None) -> None:
    assert parse_help(help_with(*rows)).mtp is spelling


# The layout of ik_llama.cpp: indented rows, text from column 34, groups without dashes.
IK_HELP = """\
usage: llama-server [options]

general:

  -h,    --help, --usage          print usage and exit
  -ctk,  --cache-type-k TYPE      KV cache data type for K (default: f16)
         --fit                    automatically determine which tensors to offload
         --numa TYPE              attempt optimizations
                                    - distribute: spread execution evenly over all nodes
  --spec-type SPEC[:k=v,...]      canonical speculative stage entry
                                  types: none, draft, mtp, ngram-mod
                                  examples: --spec-type mtp:n_max=1,p_min=0.0
         --draft-block-size-of-a-long-name N
                                  a text on its own line

server:

         --port PORT              port to listen (default: 8080)
"""


def test_rows_of_ik_llama_are_read_too() -> None:
    capabilities = parse_help(IK_HELP)
    rows = [(option.names, option.hint, option.text) for option in capabilities.options]
    assert rows[0] == (("-h", "--help", "--usage"), "", "print usage and exit")
    assert rows[1] == (("-ctk", "--cache-type-k"), "TYPE", "KV cache data type for K (default: f16)")
    assert rows[2][1:] == ("", "automatically determine which tensors to offload")
    assert rows[5] == (("--draft-block-size-of-a-long-name",), "N", "a text on its own line")
    assert len(rows) == 7
    assert capabilities.mtp is MtpSpelling.IK


@pytest.mark.parametrize(
    "text", ["", "\n\n", "Illegal instruction", "--help  print usage", "----- common params -----"]
)
def test_a_text_that_is_no_help_of_a_server_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"not the --help of a llama-server"):
        parse_help(text)


@given(st.text())
def test_any_text_is_read_or_refused_as_input(text: str) -> None:
    try:
        parse_help(text)
    except InputError:
        return
    assert "--port" in text


@pytest.mark.parametrize(
    ("log", "layers"),
    [
        ("load_tensors: offloaded 65/66 layers to GPU\nload_tensors: offloaded 2/2 layers to GPU\n", (65, 66)),
        ("load_tensors: offloading output layer to GPU\n", None),
        ("", None),
    ],
)
def test_offloaded_layers_are_those_of_the_model_itself(log: str, layers: tuple[int, int] | None) -> None:
    assert offloaded_layers(log) == layers


@pytest.mark.parametrize(
    ("log", "lost"),
    [
        ("srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 9", True),
        ("failed to load model from nofile.gguf", False),
    ],
)
def test_a_lost_port_is_told_from_other_failures(log: str, *, lost: bool) -> None:
    assert lost_its_port(log) is lost


CHECK = "ggml/src/ggml.c:3953: GGML_ASSERT(a->ne[0] == b->ne[0]) failed"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (["loading", CHECK, "#0", "#1", "#2"], [CHECK, "...", "#1", "#2"]),
        (["loading", CHECK, "#0"], [CHECK, "#0"]),  # still in sight
        (["1", "2", "30 in wait4.c:30", "4"], ["30 in wait4.c:30", "4"]),
        ([], []),
    ],
)
def test_last_words_keep_the_failed_check_in_sight(log: list[str], expected: list[str]) -> None:
    assert last_words("\n".join(log), 2) == "\n".join(expected)


@pytest.mark.parametrize("build", BUILDS)
def test_the_kinds_of_speculation_are_listed_by_our_names(build: str) -> None:
    capabilities = captured(build)
    assert {"mtp", "draft-simple", "ngram-mod", "ngram-cache"} <= set(capabilities.kinds)
    assert not {"none", "draft-mtp"} & set(capabilities.kinds)
    assert capabilities.chains


def test_a_build_that_takes_a_single_kind_takes_no_chain() -> None:
    rows = "--port PORT                             port\n--spec-type [none|mtp|ngram-mod]        type\n"
    assert (parse_help(rows).kinds, parse_help(rows).chains) == (("mtp", "ngram-mod"), False)
    assert parse_help("--port PORT                             port\n").kinds == ()
