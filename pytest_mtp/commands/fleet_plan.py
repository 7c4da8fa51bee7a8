"""A fleet file as a manifest: what of it can be known before the night is, each in a sentence."""

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_mtp.core.fleet.fleet_file import Machine, Work
    from pytest_mtp.core.fleet.manifest import Manifest

_SET = "--mtp-set="


def manifest_from(file: Path) -> "Manifest":
    """The cells that it asks for; SettingsError for a word that this pytest-mtp would refuse hours later."""
    from pytest_mtp.core.fleet.fleet_file import manifest_of
    from pytest_mtp.runtime.fleet.cell_run import now
    from pytest_mtp.runtime.fleet.stored import load_machines
    from pytest_mtp.runtime.profiles import load_profile

    machines = load_machines(file)
    try:
        _check_suites(machines)
        for work in dict.fromkeys(one.work for one in machines):
            _check_work(work)
        profiles = {name: load_profile(name) for one in machines for name in one.work.profiles}
        return manifest_of(machines, profiles, now())
    except SettingsError as error:
        raise SettingsError(f"Fleet file {file}: {error}") from error


def _check_suites(machines: "Sequence[Machine]") -> None:
    from pytest_mtp.runtime.fleet.cell_run import suites

    here = sorted(one.name for one in suites().glob("test_*.py"))
    for suite in [one for machine in machines for one in machine.work.suites]:
        if suite not in here:
            raise SettingsError(f"there is no suite {suite!r:.80}; there are {', '.join(here)}.")


def _check_work(work: "Work") -> None:
    """What it says of sources, options and values of profiles; files and folders are those of other machines."""
    from pytest_mtp.core.source import parse_source
    from pytest_mtp.runtime.profiles import load_profile

    for source in work.sources:
        parse_source(source)
    for option in work.options:
        _check_option(option)
    overrides = [one.removeprefix(_SET) for one in work.options if one.startswith(_SET)]
    for name in work.profiles if overrides else ():
        load_profile(name, overrides)


def _check_option(option: str) -> None:
    from pytest_mtp.option_table import OPTIONS

    flag, equals, value = option.partition("=")
    row = next((one for one in OPTIONS if one.flag == flag), None)
    if row is None:
        raise SettingsError(f"{option!r:.80} is no option of pytest-mtp; `pytest --help` lists them.")
    if row.switch and equals:
        raise SettingsError(f"{option!r:.80} has a value, which {flag} does not take; write {flag}.")
    if not row.switch and not value:
        raise SettingsError(f"{option!r:.80} has no value; write {flag}={row.metavar}.")
    try:
        _ = None if row.switch else row.parse(value)
    except SettingsError as error:
        raise SettingsError(f"{flag}: {error}") from error
