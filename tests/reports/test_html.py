"""What the HTML report says, and what it must never do: run a stranger's words, or ask the network."""

import json
import re
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import msgspec
import pytest

from pytest_mtp.core.history import Metric, Series
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.sample import ArmFailure, Block, Campaign, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Check, Study
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.reports.conclusion import Word
from pytest_mtp.reports.html import decomposition
from pytest_mtp.reports.html.axis import Axis, digits, spanning
from pytest_mtp.reports.html.circumstances import by_hand
from pytest_mtp.reports.html.headline import Headline, headline
from pytest_mtp.reports.html.page import page
from pytest_mtp.reports.html.past import past
from pytest_mtp.reports.html.raw import raw
from tests import pages
from tests.campaigns import around, campaign
from tests.comparisons import base, compared, stretched
from tests.hostile import WORDS, hostile_verdict
from tests.studies import draft_depth, latency, memory, report_of


class Read(HTMLParser):
    """The tags of a page, the addresses that they load, and the text that is no script or style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.embedded: dict[str, str] = {}
        self.words: list[str] = []
        self._inside: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.loads += [value for name in ("src", "href", "srcset", "data", "action") if (value := given.get(name))]
        self._inside = given if tag in {"script", "style"} else None

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.words.append(data)
        elif name := self._inside.get("id"):
            self.embedded[name] = self.embedded.get(name, "") + data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def of(*judged: Judged) -> RunReport:
    return replace(pages.report(), judged=judged)


@pytest.fixture(scope="module")
def whole() -> str:
    return page(pages.report(), pages.nights(60, 3), pages.spoken(60))


def test_the_numbers_of_every_class_are_text(whole: str) -> None:
    text = Read(whole).text
    for result in pages.report().judged[0].results:
        assert result.prompt_class in text
        for told in (f"{result.speedup:.2f}x", f"{result.step_cost:.2f}", f"{result.mtp_tps:.1f}"):
            assert told in text
        assert f"[{result.low:.2f}, {result.high:.2f}]" in text
        assert result.limit is not None
        assert f"{result.limit.speedup:.2f}x" in text


def test_the_first_sentence_names_the_class_its_loss_and_the_factor(whole: str) -> None:
    assert re.search(r"<h1.*?FAIL</span> 1 of 9 classes lost: code by 11\.\d%\. A step became dearer\.</h1>", whole)


def test_nothing_is_loaded_from_anywhere(whole: str) -> None:
    read = Read(whole)
    assert all(address.startswith("#") for address in read.loads)
    assert not {"img", "link", "iframe", "object", "embed", "base", "form"} & set(read.tags)
    assert not re.search(r"https?://|url\(|@import|\bfetch\(|XMLHttpRequest|WebSocket", whole)


def test_the_policy_allows_this_script_and_no_other(whole: str) -> None:
    import base64
    import hashlib

    (script,) = re.findall(r"<script>(.*?)</script>", whole, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:" in whole
    assert " on" not in "".join(re.findall(r"<[^>]*\son\w+=[^>]*>", whole))


def test_the_report_that_is_carried_reads_back_as_the_report(whole: str) -> None:
    assert msgspec.json.decode(Read(whole).embedded["report"], type=RunReport) == pages.report()


def test_a_large_report_is_carried_without_its_samples_and_says_so() -> None:
    report = pages.report()
    whole = len(raw(report).json)
    lighter, lightest = raw(report, whole - 1), raw(report, 100)
    assert "single readings" in lighter.left_out
    assert msgspec.json.decode(lighter.json, type=RunReport).judged[0].rejudged().results == report.judged[0].results
    assert "single answers" in lightest.left_out
    assert msgspec.json.decode(lightest.json, type=RunReport).judged[0].results == report.judged[0].results


def hostile() -> RunReport:
    """A report with somebody's worst words wherever a word can be."""
    judged = pages.report().judged[0]
    head = judged.campaign
    told = replace(
        head.circumstances, build_label=WORDS, model_label=WORDS, flags={WORDS: WORDS}, environment={"A": WORDS}
    )
    blocks = (replace(head.blocks[0], invalid=WORDS), *(_renamed(block) for block in head.blocks[1:]))
    names = tuple(f"{name}{WORDS}" for name in head.classes)
    campaign = replace(head, flag_set=WORDS, classes=names, blocks=blocks, circumstances=told, stopped=WORDS)
    wild = Judged(campaign=campaign, gate=Gate(), notices=(WORDS,)).rejudged()
    return replace(
        pages.report(), judged=(wild,), profile=WORDS, tool=WORDS, machine={WORDS: WORDS}, created_at=WORDS
    )  # fmt: skip


def _renamed(block: Block) -> Block:
    starts = (
        replace(
            start,
            command=WORDS,
            log_tail=WORDS,
            samples=tuple(replace(one, prompt_class=f"{one.prompt_class}{WORDS}") for one in start.samples),
        )
        for start in block.starts
    )
    return replace(block, starts=tuple(starts))


def hostile_series() -> tuple[Series, ...]:
    return tuple(
        replace(
            one,
            key=replace(one.key, profile=WORDS, flag_set=WORDS, prompt_class=WORDS),
            points=tuple(
                replace(point, run=f"{WORDS}{place}", build=WORDS, at=WORDS, facts={WORDS: f"{WORDS}{point.segment}"})
                for place, point in enumerate(one.points)
            ),
        )
        for one in pages.nights(8, 1)
    )


def test_no_word_of_a_stranger_becomes_markup() -> None:
    tame = Read(page(pages.report(), pages.nights(8, 1), pages.spoken(8)))
    wild = page(hostile(), hostile_series(), hostile_verdict())
    read = Read(wild)
    assert set(read.tags) <= set(tame.tags) | {"p"}
    assert not {"img", "iframe", "a href"} & set(read.tags)
    assert read.tags.count("script") == tame.tags.count("script")
    shown = re.sub(r"<script.*?</script>", "", wild, flags=re.DOTALL)
    assert not re.search(r"[^\S\n ]|[\x00-\x09\x0b-\x1f\x7f\u202e\ud800-\udfff]", shown)
    assert all(address.startswith("#") for address in read.loads)


def test_what_is_carried_of_a_stranger_reads_back() -> None:
    embedded = Read(page(hostile(), hostile_series())).embedded
    spelled = WORDS.replace("\udc80", "\\udc80")
    assert msgspec.json.decode(embedded["report"], type=RunReport).profile == spelled
    assert json.loads(embedded["walks"])["tables"][0][0][2] == spelled


def test_a_year_of_nine_classes_is_under_four_megabytes_and_all_of_it_is_there() -> None:
    series = pages.nights(365, 9)
    text = page(pages.report(), series, pages.spoken())
    assert len(text.encode()) < 4_000_000
    tables = json.loads(Read(text).embedded["walks"])["tables"]
    assert [len(table) for table in tables] == [365] * 10
    assert len(tables[0][0]) == 3 + len(Metric) - 1


def test_the_history_draws_changes_boundaries_and_the_expected_range(whole: str) -> None:
    text = Read(whole).text
    assert "driver was 565.57, is 570.86" in text
    assert "acknowledged by ada: a new kernel" in text
    assert "expected 2.14x to 2.20x by its level of 2.17x" in text
    assert "b11059 · 2.1" in text


def test_the_history_keeps_the_order_of_the_report_with_the_whole_flag_set_last() -> None:
    told = past(pages.nights(3, 3), None, ("translation", "code", "json"))
    assert told is not None
    assert [panel.title for panel in told.panels] == ["translation", "code", "json", "whole flag set"]


def test_machines_that_take_turns_are_one_line_each() -> None:
    (series, *_) = pages.nights(40, 1)
    turns = tuple(replace(point, segment=f"box {index % 2}") for index, point in enumerate(series.points))
    told = past((replace(series, points=turns),), None)
    assert told is not None
    (drawn,) = told.panels[0].drawings
    assert len(drawn.stretches) == 2
    assert len(drawn.boundaries) == 1


def test_a_comparison_has_head_and_base_instead_of_a_baseline() -> None:
    head = stretched(base(), mtp=1.15, build="b2", build_label="pull/1/head @ abc1234")
    text = Read(page(of(Judged(campaign=head, gate=Gate(), compared=compared(base())).rejudged()))).text
    assert "2 of 2 classes lost: a by 13.0% and b by 13.0%. A step became dearer." in text
    assert "head pull/1/head @ abc1234 against base b1" in text
    assert "Control: base's mtp arm against itself" in text
    assert "build identity differs b2 b1" in text
    for arm in ("head, plain arm", "head, mtp arm", "base, plain arm", "base, mtp arm"):
        assert f"{arm} Copy" in text


FAILED = (ArmFailure(arm=Arm.MTP, stage=Stage.START, message="no\nlast line of the log"),)


@pytest.mark.parametrize(
    ("judged", "word", "sentence"),
    [
        (
            Judged(
                campaign=campaign({"a": around(2, 0.01), "b": around(1.5, 0.01)}), gate=Gate(), floors={"a": 1, "b": 1}
            ),
            Word.PASS,
            "Nothing was lost: 2 of 2 classes kept their speed.",
        ),
        (
            Judged(campaign=campaign({"a": around(2, 0.01)}), gate=Gate(), floors={"a": 3}),
            Word.FAIL,
            "1 of 1 class lost: a by 33.3%. A step became dearer.",
        ),
        (
            Judged(campaign=campaign({"a": around(2, 0.01)}, drafted=0), gate=Gate()),
            Word.FAIL,
            "1 of 1 class lost: a drafted nothing.",
        ),
        (
            Judged(
                campaign=campaign({"a": around(2, 0.01)}), gate=Gate(), notices=("recorded to baselines/here/p.json",)
            ),
            Word.PASS,
            "1 of 1 class recorded as the baseline.",
        ),
        (
            Judged(campaign=campaign({"a": around(2, 0.01)}), gate=Gate()),
            Word.UNDECIDED,
            "1 class measured, with neither baseline nor floor to hold them against.",
        ),
        (
            Judged(
                campaign=campaign({"a": around(2, 0.2), "b": around(2, 0.01)}), gate=Gate(), floors={"a": 2, "b": 1}
            ),
            Word.UNDECIDED,
            "No loss is proven, but 1 of 2 classes has no answer.",
        ),
        (
            Judged(campaign=campaign({"a": ()}, failures=FAILED), gate=Gate()),
            Word.FAIL,
            "1 of 1 class lost: a. The mtp arm does not start.",
        ),
    ],
)
def test_the_headline(judged: Judged, word: Word, sentence: str) -> None:
    said = headline(of(judged.rejudged()), None)
    assert (said.word, said.sentence) == (word, sentence)


def test_a_loss_that_only_the_history_shows_is_the_headline() -> None:
    quiet = Judged(campaign=campaign({"a": around(2, 0.01)}), gate=Gate(), floors={"a": 1}).rejudged()
    said = headline(of(quiet), pages.spoken())
    assert (said.word, said.sentence) == (Word.FAIL, "This run alone shows no loss, the history shows one.")


@pytest.mark.parametrize(
    "head",
    [
        campaign({"a": ()}, failures=FAILED),
        campaign({"a": (2.0,)}),
        campaign({"a": (2.0, 2.0)}),
        campaign({"a": (2.0, 0.5)}),
        campaign({}),
    ],
)
def test_a_page_comes_of_whatever_was_measured(head: Campaign) -> None:
    read = Read(page(of(Judged(campaign=head, gate=Gate()).rejudged())))
    assert read.tags.count("h1") == 1
    assert "nan" not in re.findall(r"\bnan\b|\binf\b", read.text)


def test_a_block_that_does_not_count_says_why() -> None:
    blocks = pages.report().judged[0].campaign.blocks
    spoilt = replace(pages.measured(), blocks=(replace(blocks[0], invalid="a neighbour computed"), *blocks[1:]))
    text = Read(page(of(Judged(campaign=spoilt, gate=Gate()).rejudged()))).text
    assert "does not count: a neighbour computed" in text


def test_every_drawing_has_a_name_a_description_and_a_table(whole: str) -> None:
    drawings = re.findall(r'<svg[^>]*role="img"[^>]*aria-labelledby="(\S+) (\S+)"', whole)
    assert len(drawings) == whole.count('role="img"') > 20
    for title, described in drawings:
        assert re.search(rf'<title id="{title}">[^<]+</title>\s*<desc id="{described}">[^<]+</desc>', whole)


@pytest.mark.parametrize("speedup", [0.3, 0.9, 1.0, 2.5, 4.0])
def test_the_break_even_is_in_every_drawing(speedup: float) -> None:
    one = Judged(campaign=campaign({"a": around(speedup, 0.01)}), gate=Gate()).rejudged()
    drawn = decomposition.chart(one)
    assert drawn is not None
    assert [line.label for line in drawn.lines if line.even] == ["S = 1"]


def test_a_command_by_hand_is_the_same_words_without_the_key_file() -> None:
    command = "llama-server -m 'a model.gguf' --temp -1 --api-key-file /tmp/key -ngl 99 --port 41"
    expected = ["llama-server", "-m", "a model.gguf", "--temp", "-1", "-ngl", "99", "--port", "41"]
    printed = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {by_hand(command)}"], capture_output=True, text=True, check=True
    )
    assert printed.stdout.splitlines() == expected
    assert by_hand("an 'unclosed quote") == "an 'unclosed quote"


@pytest.mark.parametrize(("low", "high"), [(0.9, 2.4), (1.0, 1.0001), (-14.2, 3.0), (2e9, 3.1e10)])
def test_ticks_are_few_round_and_inside(low: float, high: float) -> None:
    ticks = Axis(low, high).ticks(6)
    assert 1 <= len(ticks) <= 6
    assert all(low <= tick <= high for tick in ticks)


def test_an_axis_of_one_value_has_room_around_it() -> None:
    axis = spanning([2.0])
    assert axis.percent(2.0) == 50
    assert axis.percent(99.0) == 100
    assert digits((0.25, 0.5)) == 2


def test_a_study_is_a_table_with_a_caption_and_named_rows_and_columns() -> None:
    written = page(report_of(latency(left_out=("this build has no streams",))))
    part = written[written.index('<section id="studies"') : written.index('<section id="circumstances"')]
    assert "<caption>mtp over plain</caption>" in part
    assert part.count('<th scope="row">') == len(latency().results)
    assert part.count("<th ") == part.count('<th scope="')
    text = Read(part).text
    assert "time per token PASS 2 3 ms 1.50x" in text
    assert "at most 2.00x (profile) 4" in text
    assert "this build has no streams" in text


def test_ratios_of_other_sides_are_a_table_of_their_own() -> None:
    study = draft_depth({(1, 0.0): around(1.5, 0.01), (2, 0.0): around(1.4, 0.01)})
    written = page(report_of(study))
    part = written[written.index('<section id="studies"') : written.index('<section id="circumstances"')]
    assert re.findall("<caption>(.*?)</caption>", part) == ["mtp over plain", "itself over better neighbour"]
    text = Read(part).text
    assert "quantity verdict plain mtp unit" in text
    assert "quantity verdict better neighbour itself unit" in text
    assert "tok/s at n-max 2 PASS 150 140 tok/s 0.93x" in text
    labels = re.findall('aria-label="(.*?)"', part)
    assert len(labels) == len(set(labels)) == 2


def test_a_page_of_suites_alone_has_their_circumstances_and_commands() -> None:
    text = Read(page(report_of(latency()))).text
    assert "p · b1 · m1" in text
    assert "PASS Further suites: 1 of 1 passed." in text
    assert "mtp arm Copy" in text
    assert "blocks that count 4" in text


def test_a_page_comes_of_studies_without_campaigns() -> None:
    assert "no memory was told of these servers" in page(report_of(memory(campaign({"a": around(2.0, 0.01)}))))


@pytest.mark.parametrize(
    ("studies", "word", "sentence"),
    [
        ((latency(), latency(most=1.0)), Word.FAIL, "Further suites: 1 of 2 lost: latency."),
        (
            (latency(around(1.5, 0.2), most=1.5),),
            Word.UNDECIDED,
            "Further suites: 1 of 1 without an answer: latency.",
        ),
        ((latency(),), Word.PASS, "Further suites: 1 of 1 passed."),
    ],
)
def test_the_headline_counts_the_suites_after_the_gate(studies: tuple[Study, ...], word: Word, sentence: str) -> None:
    assert headline(report_of(*studies), None) == Headline(sentence, word, ())
    gate = Judged(campaign=campaign({"a": around(2, 0.01)}), gate=Gate(), floors={"a": 1}).rejudged()
    said = headline(replace(of(gate), studies=studies), None)
    assert (said.word, said.sentence) == (word, f"Nothing was lost: 1 of 1 class kept their speed. {sentence}")


def test_why_a_study_lost_is_among_the_reasons() -> None:
    text = Read(page(report_of(latency(most=1.0)))).text
    assert "latency, flag set n3 REGRESSION: time to first token 10 ms plain, 15 mtp, 1.50x" in text


def test_no_word_of_a_study_becomes_markup() -> None:
    def study(words: str) -> RunReport:
        told = latency(flag_set=words, subject=words, left_out=(words,), first=words, second=words, most=1.0)
        results = tuple(replace(one, name=words, unit=words, sides=(words, words)) for one in told.results)
        check = Check(name=words, outcome=Outcome.REGRESSION, said=words)
        return report_of(replace(told, results=results, checks=(check,), notices=(words,)))

    tame, wild = page(study("x")), page(study(WORDS))
    assert set(Read(wild).tags) <= set(Read(tame).tags) | {"details", "summary", "pre"}
    assert Read(wild).tags.count("script") == Read(tame).tags.count("script")
    shown = re.sub(r"<script.*?</script>", "", wild, flags=re.DOTALL)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\ud800-\udfff]", shown)


def test_a_study_too_large_to_be_carried_is_carried_without_its_answers() -> None:
    carried = raw(report_of(latency()), 100)
    (study,) = msgspec.json.decode(carried.json, type=RunReport).studies
    assert study.results == latency().results
    assert not any(start.samples for block in study.variants[0].campaign.blocks for start in block.starts)


@pytest.mark.parametrize(
    "report",
    [
        pages.report(),
        report_of(latency()),
        replace(report_of(latency()), studies=()),
        replace(pages.report(), studies=(latency(),)),
    ],
    ids=["speed", "suites alone", "nothing", "both"],
)
def test_every_link_of_a_page_leads_somewhere(report: RunReport) -> None:
    text = page(report)
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'<a [^>]*href="#([^"]+)"', text)) <= set(ids)
