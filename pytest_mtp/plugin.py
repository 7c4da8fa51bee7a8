"""The hooks of the pytest plugin: wiring only; options, fixtures and the run live in their own modules.

This module is loaded by every pytest run on the machine, so what is only needed to measure is imported then.
"""

from typing import TYPE_CHECKING

import pytest

from pytest_mtp import collection, options
from pytest_mtp.core.status import STOPPED_BISECT
from pytest_mtp.errors import MtpError

if TYPE_CHECKING:
    from collections.abc import Generator

    from _pytest.terminal import TerminalReporter

pytest_plugins = ("pytest_mtp.fixtures",)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each with its ini twin."""
    options.register(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Resolve the options once; what the user typed wrongly is a usage error."""
    config.addinivalue_line("markers", f"{collection.DEAR}: measures for minutes; runs with --mtp-dear, or when named")
    try:
        collection.prepare(config)
    except MtpError as error:
        if config.getoption("--mtp-bisect"):
            pytest.exit(str(error), STOPPED_BISECT)
        raise pytest.UsageError(str(error)) from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per flag set and prompt class, or per flag set; one skipped test where nothing is measured."""
    for name in collection.PARAMETERS:
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, collection.parameters(metafunc.config, name))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the dear suites out unless they are asked for."""
    collection.leave_dear_out(config, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Measure only what the selected tests ask for."""
    collection.select_cases(session)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> "Generator[None, object, object]":
    """End politely, also where another program or a closed terminal asks for it."""
    with collection.measuring(session.config):
        return (yield)


def pytest_terminal_summary(terminalreporter: "TerminalReporter", config: pytest.Config) -> None:
    """Print the table of verdicts and what to do next."""
    run = config.stash.get(collection.RUN, None)
    if run is not None and not config.option.collectonly:
        from pytest_mtp import farewell

        farewell.write(run, terminalreporter)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report; the exit status is that of the verdicts."""
    run = session.config.stash.get(collection.RUN, None)
    if run is not None and not session.config.option.collectonly:
        from pytest_mtp import ending

        collection.conclude(run, session)
        session.exitstatus = ending.status(run, session.exitstatus)
