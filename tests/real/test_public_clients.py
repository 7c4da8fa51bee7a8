"""A real server asked by public clients: for every class of their lists, their tok/s and ours of the same responses.

Ours is (n - 1) / T, whatever the build. Theirs is the server's own rate, which counts n / T up to b10405 and
(n - 1) / T at b11434, or n / T of several turns; n / (n - 1) is within 2 % from 51 tokens on.
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.history import Metric
from pytest_mtp.core.imported import Origin, Pair, imported
from pytest_mtp.core.prompt_file import prompt_classes
from pytest_mtp.core.server_spec import Arm, ServerSpec, Speculation
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.probe import probe
from pytest_mtp.runtime.server import Server, serve
from tests.laboratory.public_clients import (
    MTP_BENCH_TOKENS,
    Tape,
    mtp_bench_chat,
    mtp_bench_raw,
    speed_bench,
    streamed_chat,
)
from tests.real.test_builds import built

TOKENS = 128
WITHIN = 0.02
SHORTEST = 51
"""1 / (n - 1) is 2 % of 51 tokens."""
ROUNDED = 0.00501
"""What two decimals may hide; a slow machine has slow rates, so it is no share of them."""

# The names of mtp-bench's prompts; a phantom goes on from its own marks alone, so each prompt is the mark of its name.
WRONG = (
    ("code_python", 0.0),
    ("code_cpp", 0.05),
    ("explain_concept", 0.35),
    ("summarize", 0.1),
    ("qa_factual", 0.2),
    ("translation", 0.5),
    ("creative_short", 0.6),
    ("stepwise_math", 0.05),
    ("long_code_review", 0.3),
)
PHANTOM = PhantomSpec(seed=11, layers=4, n_embd=256, n_ff=512, chain_length=128, weights="q8_0", wrong=WRONG)
PROMPTS = [(name, PHANTOM.prompt(name)) for name, _ in WRONG]


def question(category: str, number: int, *names: str) -> dict[str, Any]:
    return {"question_id": str(number), "category": category, "turns": [PHANTOM.prompt(name) for name in names]}


ROWS = [
    question("coding", 81, "code_python"),
    question("coding", 82, "code_cpp"),
    question("math", 111, "stepwise_math"),
    question("writing", 121, "creative_short"),
    question("writing", 122, "summarize"),
]
TWO_TURNS = [question("qa", 131, "qa_factual", "translation")]
# The last message as it stands: a phantom has no words for the marks of a chat.
TEMPLATE = "{{ messages[-1]['content'] }}"

Ask = Callable[[Tape], dict[str, Any]]
ASK: dict[str, Ask] = {
    "mtp-bench, raw": lambda tape: mtp_bench_raw(PROMPTS, tape),
    "mtp-bench, chat": lambda tape: mtp_bench_chat(PROMPTS, tape),
    "speed_bench": lambda tape: speed_bench(ROWS, tape, TOKENS),
}


@dataclass(frozen=True, slots=True)
class Both:
    """One class of a list, by a public client and by us, of the same response."""

    name: str
    tokens: int
    theirs: float
    ours: float


def both(document: dict[str, Any], tape: Tape) -> list[Both]:
    """Of a client that asks every class once."""
    rows = zip(document["results"], tape.replies, strict=True)
    return [
        Both(named(row), one.ours.timings.predicted_n, row["predicted_per_second"], one.ours.timings.tps)
        for row, one in rows
    ]


def named(row: dict[str, Any]) -> str:
    return str(row.get("name") or f"{row['category']}-{row['id']}")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phantom") / "phantom.gguf"
    write(PHANTOM, path)
    return path


def started(stack: ExitStack, made: Build, offered: Capabilities, arm: Arm, model: Path, folder: Path) -> Server:
    speculation = Speculation(n_max=3) if arm is Arm.MTP else None
    extra = ("--jinja", "--chat-template", TEMPLATE)
    spec = ServerSpec(model=str(model), ctx=1024, gpu_layers=0, speculation=speculation, extra=extra)
    # Public clients send no key, so the server has none.
    return stack.enter_context(serve(made.server, negotiate(spec, offered), spec, folder, start_timeout_s=60))


@pytest.fixture(scope="module")
def urls(
    model: Path, real_build: Build, real_capabilities: Capabilities, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Arm, str]]:
    """Where both arms listen."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("servers")
        up = {arm: started(stack, real_build, real_capabilities, arm, model, folder / arm.value) for arm in Arm}
        yield {arm: f"http://127.0.0.1:{one.port}" for arm, one in up.items()}


def shown(client: str, arm: Arm, classes: Sequence[Both]) -> None:
    for one in classes:
        off = one.theirs / one.ours - 1
        sys.stdout.write(
            f"{client:16} {arm.value:5} {one.name:16} n={one.tokens:3} "
            f"theirs={one.theirs:8.2f} ours={one.ours:8.2f} {off:+.3%}\n"
        )


@pytest.mark.parametrize("arm", list(Arm))
@pytest.mark.parametrize("client", list(ASK))
def test_a_public_client_and_we_say_the_same_of_every_class(client: str, arm: Arm, urls: dict[Arm, str]) -> None:
    tape = Tape(urls[arm])
    classes = both(ASK[client](tape), tape)
    shown(client, arm, classes)
    assert {one.tokens for one in classes} <= {MTP_BENCH_TOKENS, TOKENS}
    assert [one.theirs for one in classes] == pytest.approx([one.ours for one in classes], rel=WITHIN)
    # This build counts n - 1 too, so that nothing is left but the two decimals that one client keeps.
    assert [one.theirs for one in classes] == pytest.approx([one.ours for one in classes], abs=ROUNDED)


@pytest.mark.parametrize("client", list(ASK))
def test_the_answers_are_those_of_the_arm(client: str, urls: dict[Arm, str]) -> None:
    drafted = {}
    for arm in Arm:
        tape = Tape(urls[arm])
        ASK[client](tape)
        drafted[arm] = [one.ours.timings.drafted for one in tape.replies]
    assert not any(drafted[Arm.PLAIN])
    assert all(drafted[Arm.MTP])


@pytest.mark.parametrize(
    ("text", "client"),
    [
        (json.dumps(PROMPTS), "mtp-bench, raw"),
        (json.dumps(PROMPTS), "mtp-bench, chat"),
        ("\n".join(map(json.dumps, ROWS)), "speed_bench"),
    ],
)
def test_a_list_has_the_same_classes_for_both(text: str, client: str, urls: dict[Arm, str]) -> None:
    document = ASK[client](Tape(urls[Arm.PLAIN]))
    # A category with one question is a class by itself.
    assert [one.name for one in prompt_classes(text)] == [
        "math" if named(row) == "math-111" else named(row) for row in document["results"]
    ]


@pytest.mark.parametrize("client", list(ASK))
def test_what_is_imported_of_a_client_is_what_we_say_of_its_responses(client: str, urls: dict[Arm, str]) -> None:
    tapes = {arm: Tape(urls[arm]) for arm in Arm}
    documents = {arm: ASK[client](tape) for arm, tape in tapes.items()}
    origin = Origin(run="r", profile="p", flag_set="n3", build="b11434", at="2026-01-01T00:00:00Z")
    (entry,) = imported(Pair(documents[Arm.PLAIN], documents[Arm.MTP]), origin)
    for arm, metric in ((Arm.PLAIN, Metric.PLAIN_TPS), (Arm.MTP, Metric.MTP_TPS)):
        by_class: dict[str, list[float]] = {}
        for row, reply in zip(documents[arm]["results"], tapes[arm].replies, strict=True):
            by_class.setdefault(row.get("name") or row["category"], []).append(reply.ours.timings.tps)
        # Alike long, the answers of a category come to the harmonic mean of their rates.
        wanted = {name: statistics.harmonic_mean(rates) for name, rates in by_class.items()}
        assert {name: one.values[metric].value for name, one in entry.classes.items()} == pytest.approx(
            wanted, abs=ROUNDED
        )


@pytest.mark.parametrize("arm", list(Arm))
def test_a_category_of_speed_bench_is_the_plain_mean_of_our_classes(arm: Arm, urls: dict[Arm, str]) -> None:
    tape = Tape(urls[arm])
    document = speed_bench(ROWS, tape, TOKENS)
    ours: dict[str, list[float]] = {}
    for row, reply in zip(document["results"], tape.replies, strict=True):
        ours.setdefault(row["category"], []).append(reply.ours.timings.tps)
    for summary in document["summary"]:
        rates = ours[summary["category"]]
        shown("category", arm, [Both(summary["category"], TOKENS, summary["avg_pred_t_s"], statistics.mean(rates))])
        assert summary["avg_pred_t_s"] == pytest.approx(statistics.mean(rates), rel=WITHIN)


@pytest.mark.parametrize("arm", list(Arm))
def test_turns_count_a_free_token_each_and_by_that_alone_they_differ(arm: Arm, urls: dict[Arm, str]) -> None:
    tape = Tape(urls[arm])
    (row,) = speed_bench(TWO_TURNS, tape, TOKENS)["results"]
    timings = [reply.ours.timings for reply in tape.replies]
    n, ms = sum(one.predicted_n for one in timings), sum(one.predicted_ms for one in timings)
    ours = 1000 * (n - len(timings)) / ms
    shown("speed_bench", arm, [Both("two turns", n, row["predicted_per_second"], ours)])
    assert row["predicted_per_second"] == pytest.approx(ours, rel=WITHIN)
    assert row["predicted_per_second"] / ours == pytest.approx(n / (n - len(timings)))


@pytest.mark.parametrize("arm", list(Arm))
def test_by_the_client_s_clock_the_same_events_give_the_same_rate(arm: Arm, urls: dict[Arm, str]) -> None:
    rates = []
    for name, prompt in PROMPTS:
        streamed = streamed_chat(prompt, urls[arm], TOKENS)
        came = streamed.ours.arrivals_ms or ()
        rates.append(Both(name, TOKENS, streamed.specdec_bench_tps, 1000 * (len(came) - 1) / (came[-1] - came[0])))
        # Only shown: two clocks agree as well as the machine is idle.
        shown("server's clock", arm, [replace(rates[-1], ours=streamed.ours.timings.tps)])
    shown("specdec_bench", arm, rates)
    assert [one.theirs for one in rates] == pytest.approx([one.ours for one in rates], rel=WITHIN)


@pytest.mark.slow
@pytest.mark.parametrize("arm", list(Arm))
@pytest.mark.parametrize("tokens", [22, SHORTEST - 1, SHORTEST, 64, MTP_BENCH_TOKENS])
def test_an_older_server_counts_the_free_token_too(tokens: int, arm: Arm, model: Path, tmp_path: Path) -> None:
    made = built("10405")
    with ExitStack() as stack:
        server = started(stack, made, probe(made.server), arm, model, tmp_path)
        tape = Tape(f"http://127.0.0.1:{server.port}")
        classes = both(mtp_bench_raw(PROMPTS, tape, tokens), tape)
    shown("mtp-bench, b10405", arm, classes)
    for one in classes:
        assert one.theirs / one.ours == pytest.approx(tokens / (tokens - 1))
        assert (one.theirs <= one.ours * (1 + WITHIN + 1e-9)) is (tokens >= SHORTEST)
