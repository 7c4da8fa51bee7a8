"""What each further suite reads out of its campaigns: no two numbers are alike, so that none can be mixed up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from pytest_mtp.core.capabilities import parse_help
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import Campaign, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Bound, Study, Suite, Variant
from pytest_mtp.core.study_judge import judged_study
from pytest_mtp.core.suites import draft_depth, kv_cache
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.telemetry import Level, Telemetry, TelemetrySource
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.profiles import load_profile
from tests.campaigns import campaign, sample

MIB = 2**20
PHANTOM = load_profile("phantom")


def study(suite: Suite, campaigns: Mapping[str, Campaign], bounds: Mapping[str, Bound]) -> Study:
    variants = tuple(Variant(name=name, campaign=one) for name, one in campaigns.items())
    return judged_study(
        Study(
            suite=suite, flag_set="n3", subject="40 s", first="first", second="second", variants=variants,
            bounds=bounds, gate=Gate(looks=(3,)),
        )
    )  # fmt: skip


def told(found: Study) -> dict[str, tuple[float, float, float]]:
    """Each ratio by its name: the two values and the ratio, rounded."""
    return {one.name: (round(one.first, 3), round(one.second, 3), round(one.ratio, 3)) for one in found.results}


def changed(one: Campaign, change: Callable[[Start], Start]) -> Campaign:
    blocks = (replace(block, starts=tuple(map(change, block.starts))) for block in one.blocks)
    return replace(one, blocks=tuple(blocks))


# memory


def held(levels: Mapping[Arm, Mapping[str, Level]], isolation: str = "side-by-side") -> Campaign:
    """A campaign of which each arm's servers took so much."""

    def watched(start: Start) -> Start:
        seen = Telemetry(source=TelemetrySource.NONE, **levels[start.arm])  # type: ignore[arg-type]  # levels by name
        return replace(start, telemetry=seen)

    return changed(campaign({"a": (1.2, 1.2, 1.2)}, isolation=isolation), watched)


def level(start: int, peak: int, end: int) -> Level:
    return Level(start=start * MIB, peak=peak * MIB, end=end * MIB)


PLAIN, MTP = level(70, 100, 98), level(80, 150, 120)
BOUNDS = {"head": Bound(limit=1.6, most=True), "growth": Bound(limit=1.6, most=True)}


def test_memory_is_the_mtp_arms_peak_over_plains_and_its_own_end_over_its_start() -> None:
    found = study(Suite.MEMORY, {"gate": held({Arm.PLAIN: {"rss_bytes": PLAIN}, Arm.MTP: {"rss_bytes": MTP}})}, BOUNDS)
    assert told(found) == {"peak process memory": (100, 150, 1.5), "process memory, mtp": (80, 120, 1.5)}
    assert found.verdict.outcome is Outcome.PASS


def on_card(isolation: str) -> Study:
    levels = {Arm.PLAIN: {"memory_bytes": PLAIN}, Arm.MTP: {"memory_bytes": MTP}}
    return study(Suite.MEMORY, {"gate": held(levels, isolation=isolation)}, BOUNDS)


def test_a_cards_memory_is_compared_only_where_the_servers_did_not_share_it() -> None:
    assert "peak card memory" in told(on_card("alternate"))
    shared = on_card("side-by-side")
    assert (told(shared), shared.verdict.outcome) == ({}, Outcome.NOT_TOLD)
    assert "--mtp-isolation alternate" in shared.notices[0]


def test_memory_that_nobody_told_is_neither_green_nor_red() -> None:
    assert study(Suite.MEMORY, {"gate": campaign({"a": (1.2, 1.2)})}, BOUNDS).verdict.outcome is Outcome.NOT_TOLD


# KV cache


def test_a_cache_type_is_held_against_the_first_one_by_its_own_speed_and_drafts() -> None:
    types = {
        "f16": campaign({"a": (1.6, 1.6, 1.6)}, accepted={"a": 64}),
        "q8_0": campaign({"a": (1.2, 1.2, 1.2)}, accepted={"a": 48}),
    }
    found = study(Suite.KV_CACHE, types, {"mtp": Bound(limit=0.7), "drafts": Bound(limit=0.8)})
    assert told(found) == {
        "speedup, f16": (100, 160, 1.6),
        "speedup, q8_0": (100, 120, 1.2),
        "mtp tok/s, q8_0": (160, 120, 0.75),
        "tokens/step, q8_0": (3, 2, 0.667),
    }
    assert [one.outcome for one in found.results] == [None, None, Outcome.PASS, Outcome.REGRESSION]


def test_the_texts_of_the_first_type_are_compared_with_the_others_alone_and_only_where_greedy() -> None:
    types = {name: campaign({"a": (1.6, 1.6, 1.6)}) for name in ("f16", "q8_0")}
    greedy = study(Suite.KV_CACHE, types, {"mtp": Bound(limit=0.7)})
    assert [one for one in greedy.notices if "greedy" in one] == ["q8_0: 1 of 1 greedy texts are those of f16"]
    drawn = {name: campaign({"a": (1.6, 1.6, 1.6)}, flags={"sampled": "true"}) for name in types}
    assert not any("greedy" in one for one in study(Suite.KV_CACHE, drawn, {"mtp": Bound(limit=0.7)}).notices)


OFFERS = parse_help(
    "--port PORT                             port\n"
    "-ctk, --cache-type-k TYPE               type of K\n    allowed values: f16, q8_0\n"
)


def with_types(*types: str) -> Design:
    table = replace(PHANTOM.suites.kv_cache, types=types)
    return kv_cache.design(replace(PHANTOM, suites=replace(PHANTOM.suites, kv_cache=table)), "n3", OFFERS)


def test_a_type_that_was_named_and_the_build_lacks_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"no cache type q9_0; it has f16, q8_0\.$"):
        with_types("f16", "q9_0")


@pytest.mark.parametrize("types", [("f16",), ("f16", "f16")])
def test_one_type_is_nothing_to_compare(types: tuple[str, ...]) -> None:
    assert with_types(*types).lacking is not None
    assert with_types("f16", "q8_0").lacking is None


# soak


def life(young: float, old: float, pairs: int = 32, accepted: Sequence[int] = (64, 48)) -> Campaign:
    """One block of so many pairs: the first quarter at one speedup, the last one at another, and what is between."""

    def asked(start: Start) -> Start:
        samples = []
        for pair in range(pairs):
            late = pair >= pairs - pairs // 4
            speedup = young if pair < pairs // 4 else old if late else 9.0
            ms = 960.0 / speedup if start.arm is Arm.MTP else 960.0
            samples.append(sample("a", start.arm, ms=ms, accepted=accepted[late], drafted=100, pair=pair))
        return replace(start, samples=tuple(samples))

    return changed(campaign({"a": (1.0,)}), asked)


def test_a_life_is_judged_by_its_last_quarter_over_its_first() -> None:
    found = study(Suite.SOAK, {"life": life(1.6, 1.2)}, {"aged": Bound(limit=0.85)})
    assert told(found) == {"speedup": (1.6, 1.2, 0.75), "tokens/step": (3, 2, 0.667)}
    assert found.verdict.outcome is Outcome.REGRESSION


@pytest.mark.parametrize("pairs", [1, 2, 15])
def test_a_life_of_few_pairs_is_no_life(pairs: int) -> None:
    found = study(Suite.SOAK, {"life": life(1.6, 1.6, pairs)}, {"aged": Bound(limit=0.85)})
    assert found.verdict.outcome is Outcome.INVALID
    assert f"{pairs} pairs of requests in 40 s are too few" in found.verdict.reason


# parallel


def at_once(ms: Mapping[Arm, Sequence[float]]) -> Campaign:
    """Two classes asked together, the second a little later: each arm's answers took so long."""

    def asked(start: Start) -> Start:
        samples = (
            replace(one, wall_ms=taken, asked_ms=5000.0 + 10.0 * place)
            for place, (one, taken) in enumerate(zip(start.samples, ms[start.arm], strict=True))
        )
        return replace(start, samples=tuple(samples))

    return changed(campaign({"a": (1.0, 1.0, 1.0), "b": (1.0, 1.0, 1.0)}), asked)


def test_throughput_is_of_all_slots_from_the_first_request_to_the_last_answer_mtp_over_plain() -> None:
    """97 tokens of each of two slots: in 970 ms of the plain arm, in 485 of the mtp arm."""
    together = at_once({Arm.PLAIN: (500.0, 960.0), Arm.MTP: (485.0, 100.0)})
    campaigns = {"alone": campaign({"a": (1.0, 1.0, 1.0), "b": (1.0, 1.0, 1.0)}), "at once": together}
    found = study(Suite.PARALLEL, campaigns, {"throughput": Bound(limit=0.4)})
    assert told(found)["throughput"] == (200, 400, 2)


# latency


def test_an_engine_that_does_not_tell_when_tokens_came_has_no_latency() -> None:
    found = study(Suite.LATENCY, {"streamed": campaign({"a": (1.0, 1.0, 1.0)})}, {"gap": Bound(limit=6.0, most=True)})
    assert found.verdict.outcome is Outcome.NOT_TOLD


# draft depth


def test_what_takes_no_depth_is_not_swept() -> None:
    ngrams = replace(PHANTOM.flag_sets["n3"], kinds=("ngram-mod",))
    with pytest.raises(SettingsError, match="ngram-mod take no n-max"):
        draft_depth.design(replace(PHANTOM, flag_sets={"n3": ngrams}), "n3")
