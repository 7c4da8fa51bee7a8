"""From pytest's configuration to the run: what is measured at all, and by which tests.

What is only needed to measure is imported when something will be measured.
"""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mtp import options
from pytest_mtp.core.settings import Mode
from pytest_mtp.errors import MtpError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_mtp.core.case import Case
    from pytest_mtp.session import Run

RUN: "pytest.StashKey[Run]" = pytest.StashKey()


def prepare(config: pytest.Config) -> None:
    """Resolve the options and, where the suites shall measure, stash the run; MtpError for bad wishes."""
    settings = options.read_settings(config)
    if settings.mode is Mode.OFF:
        return
    _refuse_workers(config)
    from pytest_mtp.resolution import effective_profile
    from pytest_mtp.runtime.cache import Cache
    from pytest_mtp.runtime.journal import Journals
    from pytest_mtp.session import Run

    journals = Journals(cache=Cache(settings.cache_dir), resume=settings.resume)
    config.stash[RUN] = Run(settings=settings, profile=effective_profile(settings), journals=journals)
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = [str(_suites(config))]
    _trim_benchmark_table(config)


PARAMETERS = ("mtp_case", "mtp_flag_set", "mtp_studied")
"""The fixtures that a test is repeated for: each prompt class under each flag set, or each flag set."""


def parameters(config: pytest.Config, name: str) -> "list[Any]":
    """What the test is repeated for; one skipped parameter where the suites do not measure."""
    run = config.stash.get(RUN, None)
    if run is None:
        skip = pytest.mark.skip(reason="measures a llama-server: give --mtp (CPU) or --mtp-gpu")
        return [pytest.param(None, id="off", marks=skip)]
    from pytest_mtp.core.case import cases

    found = cases(run.profile, run.settings)
    if name == "mtp_case":
        return [pytest.param(case, id=str(case)) for case in found]
    return [pytest.param(flag_set, id=flag_set) for flag_set in dict.fromkeys(case.flag_set for case in found)]


_CUT_SHORT = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)

DEAR = "mtp_dear"
"""The marker of what takes minutes."""


def leave_dear_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is marked as dear, unless the run, its marker expression, or the name of the file asks for it."""
    run = config.stash.get(RUN, None)
    if run is None or run.settings.dear or DEAR in str(config.getoption("markexpr", "")):
        return
    named = {(config.invocation_params.dir / str(one).partition("::")[0]).resolve() for one in config.args}
    dear = [item for item in items if item.get_closest_marker(DEAR) and item.path.resolve() not in named]
    if dear:
        config.hook.pytest_deselected(items=dear)
        items[:] = [item for item in items if item not in dear]


def select_cases(session: pytest.Session) -> None:
    """Tell the run which cases the collected tests are about."""
    run = session.config.stash.get(RUN, None)
    if run is not None:
        found = (case for item in session.items for case in _cases_of(item, run))
        try:
            run.select(tuple(dict.fromkeys(found)))
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from error


def conclude(run: "Run", session: pytest.Session) -> None:
    """End the run with its report; what cannot be written is said and fails the run, and never raises at its end."""
    over = session.exitstatus not in _CUT_SHORT
    try:
        run.conclude(over=over)
    except MtpError as error:
        session.config.get_terminal_writer().line(f"\n{error}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        over = False
    run.let_go(over=over)


@contextmanager
def measuring(config: pytest.Config) -> "Iterator[None]":
    """The tests, where they measure: SIGTERM and a closed terminal end them as Ctrl-C does."""
    if config.stash.get(RUN, None) is None:
        yield
        return
    from pytest_mtp.runtime.interrupt import sigterm_as_ctrl_c

    with sigterm_as_ctrl_c():
        yield


def _cases_of(item: pytest.Item, run: "Run") -> "Iterator[Case]":
    """The cases that a test is about; one about a whole flag set needs all of its classes."""
    from pytest_mtp.core.case import cases

    callspec = getattr(item, "callspec", None)
    told = callspec.params if callspec else {}
    if told.get("mtp_case") is not None:
        yield told["mtp_case"]
    if told.get("mtp_flag_set") is not None:
        yield from (case for case in cases(run.profile, run.settings) if case.flag_set == told["mtp_flag_set"])


def _refuse_workers(config: pytest.Config) -> None:
    option = config.option
    asked = getattr(option, "numprocesses", None)
    # Without -n the places of the workers can be named one by one.
    placed = asked is None and getattr(option, "dist", "no") != "no" and bool(getattr(option, "tx", None))
    if asked or placed or hasattr(config, "workerinput"):
        raise SettingsError("Measurements share one machine, so they cannot run in parallel: give -n0 with --mtp*.")


def _suites(config: pytest.Config) -> Path:
    """The suites of the checkout one stands in, else those that came with the package."""
    package = Path(__file__).parent
    # The wheel carries them inside the package, a checkout beside it.
    places = (config.rootpath / "suites", package / "suites", package.parent / "suites")
    return next((place for place in places if place.is_dir()), config.rootpath)


def _trim_benchmark_table(config: pytest.Config) -> None:
    """Leave pytest-benchmark the columns that mean something for blocks, unless the user chose others."""
    chosen = any(str(word).startswith("--benchmark-columns") for word in config.invocation_params.args)
    if hasattr(config.option, "benchmark_columns") and not chosen:
        config.option.benchmark_columns = ["median", "iqr", "ops", "rounds"]
        config.option.benchmark_sort = "name"
