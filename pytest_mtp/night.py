"""A run as one night of many: keep it, hold it against the nights before, and write what people look at."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_mtp.core.history import Series, Unreadable, entries_of, series_of
from pytest_mtp.core.history_verdict import HistoryVerdict
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.settings import Settings
from pytest_mtp.errors import MtpError
from pytest_mtp.runtime.store import write_json

ACKNOWLEDGED = "acknowledged.toml"
"""The reviewed file of changes that somebody looked at, in the folder of the baselines."""


_NO_NIGHT = "Neither a comparison nor further suites alone are a night: nothing was put into the history."


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What became of a run beside its own verdicts."""

    verdict: HistoryVerdict | None = None
    """``None`` where no history was asked for, or it could not be judged."""
    series: tuple[Series, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    """Files of the history that are no runs: they are missing from what was judged."""
    notices: tuple[str, ...] = ()
    """What a reader should know: where things were written, and what could not be done."""
    unjudged: bool = False
    """Whether a history was asked for, and gave no verdict."""

    @property
    def red(self) -> bool:
        """Whether the history proves a loss."""
        return self.verdict is not None and self.verdict.red

    @property
    def open(self) -> bool:
        """Whether the history could not say all that it was asked for."""
        return self.unjudged or bool(self.unreadable)


def night(settings: Settings, report: RunReport) -> Night:
    """Keep the run where ``--mtp-history`` says, judge the history, and write all of ``--mtp-out``.

    InputError where a folder cannot be written, or the acknowledgements cannot be read.
    """
    found = Night() if settings.history is None else _judged(settings.history, settings, report)
    return found if settings.out is None else _written(settings.out, report, found)


def judged(series: Sequence[Series], run: str, baselines: Path) -> HistoryVerdict:
    """What the history says of a run, but for the changes acknowledged in the folder of the baselines.

    MtpError where Otava is not installed, InputError where the acknowledgements cannot be read.
    """
    from pytest_mtp.core.nightly import judge_history
    from pytest_mtp.runtime.acknowledged import load_acknowledged

    return judge_history(series, run, load_acknowledged(baselines / ACKNOWLEDGED))


def _judged(folder: Path, settings: Settings, report: RunReport) -> Night:
    from pytest_mtp.runtime.history import History

    if not entries_of("", report):
        return Night(notices=(_NO_NIGHT,))
    history = History(folder, settings.cache_dir)
    kept = history.add(report)
    loaded = history.load()
    series = series_of(loaded.entries)
    said = f"Kept as {kept.name}, run {len({one.run for one in loaded.entries})} of {folder}."
    try:
        verdict = judged(series, kept.stem, settings.baselines)
    except MtpError as error:
        notices = (said, f"The history was not judged: {error}")
        return Night(series=series, unreadable=loaded.unreadable, notices=notices, unjudged=True)
    return Night(verdict=verdict, series=series, unreadable=loaded.unreadable, notices=(said,))


def _written(folder: Path, report: RunReport, found: Night) -> Night:
    from pytest_mtp.reports.bundle import bundle
    from pytest_mtp.runtime.outputs import write_all

    texts = bundle(report, found.series, found.verdict, found.unreadable)
    write_json(folder / "report.json", report)
    write_all(folder, texts.texts)
    said = f"{', '.join(('report.json', *sorted(texts.texts)))} are in {folder}."
    return replace(found, notices=(*found.notices, *texts.notices, said))
