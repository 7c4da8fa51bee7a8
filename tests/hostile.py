"""Names and reasons that want to be more than words on the surface that shows them."""

from dataclasses import replace

from pytest_mtp.core.history import Key, Metric, Unreadable
from pytest_mtp.core.history_verdict import Acknowledgement, HistoryVerdict, LevelChange, Surprise
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from tests.campaigns import around, campaign

WORDS = (
    "<script>alert(1)</script><img src=x onerror=alert(1)></details>\n"
    "::add-mask::secret\r\n##[error]owned | `cell` | ```\n"
    "@everyone [link](https://evil.example) www.evil.example ![i](//evil.example) #12 &#64;all $x$ ~~gone~~ **bold**\n"
    "\x1b[2J\x1b]0;title\x07\u2028\u202e\x85 50%25, a:b, c\udc80"
)
"""Every trick at once, over several lines."""
STARTS = ("# head", "- item", "+ item", "1. one", "12) two", "===", "> quote", "    code", "~~~", "---", "* star")
"""What Markdown takes for the beginning of a block."""


def hostile_report(words: str = WORDS) -> RunReport:
    """A run in which every text is ``words``; one class without an answer, one improved, one sound."""
    names = (f"open {words}", f"sound {words}")
    measured = campaign({names[0]: around(2.0, 0.2), names[1]: around(2.0, 0.01)}, build_label=words, model_label=words)
    judged = Judged(
        campaign=replace(measured, flag_set=words),
        gate=Gate(),
        floors={names[0]: 1.95, names[1]: 1.5},
        notices=(words,),
    )
    return RunReport(
        version=REPORT_VERSION,
        created_at=words,
        tool=words,
        profile=words,
        machine={"cpu": words, "cores": words},
        judged=(judged.rejudged(),),
    )


def hostile_verdict(words: str = WORDS) -> HistoryVerdict:
    """A red history in which every text is ``words``."""
    key = Key(words, words, words, Metric.SPEEDUP.value)
    change = LevelChange(
        key=key,
        run=words,
        at=words,
        build=words,
        last_run=words,
        last_build=words,
        before=2.0,
        after=1.8,
        p=0.001,
        runs_after=3,
        loss=True,
    )
    seen = Acknowledgement(series=words, run=words, reason=words, who=words)
    surprise = Surprise(
        key=key, run=words, at=words, build=words, value=1.0, low=1.9, high=2.1, mean=2.0, loss=True, recurs=True
    )
    return HistoryVerdict(
        run=words,
        changes=(replace(change, acknowledged=seen), change),
        surprises=(surprise,),
        reasons=(words,),
        notices=(words,),
    )


def hostile_file(words: str = WORDS) -> Unreadable:
    """A file of the history that is none."""
    return Unreadable(words, words)
