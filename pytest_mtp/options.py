"""The options of the table, given to pytest and to commands, and resolved once into Settings.

``--mtp-x-y`` on the command line beats ``mtp_x_y`` in the ini file, which beats the default.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.endpoint import Endpoint, parse_endpoints
from pytest_mtp.core.settings import Mode, Settings
from pytest_mtp.errors import SettingsError
from pytest_mtp.option import Option
from pytest_mtp.option_table import OPTIONS, SECTIONS, SWITCHES, usual_profile


def register(parser: pytest.Parser) -> None:
    """Add every option and its ini twin."""
    group = parser.getgroup("mtp", "multi-token prediction (pytest-mtp)")
    for name, told in SWITCHES.items():
        group.addoption(f"--{name}", action="store_true", help=told)
    above = "mtp"
    for title, rows in SECTIONS.items():
        section = parser.getgroup(f"mtp: {title}", after=above)
        above = section.name
        for option in rows:
            section.addoption(option.flag, **option.words)
    for option in OPTIONS:
        if option.many:
            parser.addini(option.key, option.help, type="args", default=[])
        else:
            parser.addini(option.key, option.help, type="string", default="")


def add_plain(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add options to a command of our own, where they need no prefix: ``--profile`` for ``--mtp-profile``."""
    for title, rows in SECTIONS.items():
        if asked := [option for option in rows if option.name in names]:
            section = _section(parser, title)
            for option in asked:
                section.add_argument(f"--{option.name}", **option.words | {"help": option.plain_help or option.help})


def _section(parser: argparse.ArgumentParser, title: str) -> "argparse._ArgumentGroup":
    """The parser's group of this title, made where it has none: commands add their options in several calls."""
    found = (one for one in parser._action_groups if one.title == title)
    return next(found, None) or parser.add_argument_group(title)


def read_settings(config: pytest.Config) -> Settings:
    """Resolve the options; SettingsError names the option and what it takes."""
    values = {option.key: _resolve(option, _given(config, option)) for option in OPTIONS}
    mode = _mode(config)
    if mode is Mode.OFF and config.getoption("mtp_bisect"):
        raise SettingsError("--mtp-bisect without --mtp or --mtp-gpu would call every commit good: add one of them.")
    if values["mtp_endpoint"] and mode is Mode.OFF:
        raise SettingsError("--mtp-endpoint names servers, and nothing is measured: add --mtp.")
    if values["mtp_history"] is not None and values["mtp_history"] == values["mtp_out"]:
        raise SettingsError("--mtp-history and --mtp-out are the same folder: what is in a history are runs alone.")
    return _settings(values, mode, config.rootpath)


def plain_settings(parsed: argparse.Namespace) -> Settings:
    """The settings of a command of our own, on the CPU; what it has no option for keeps its default."""
    values = {option.key: _resolve(option, getattr(parsed, option.key, None)) for option in OPTIONS}
    return _settings(values, Mode.CPU, Path.cwd())


def _settings(values: Mapping[str, Any], mode: Mode, root: Path) -> Settings:
    endpoints = tuple(parse_endpoints(values["mtp_endpoint"]).values()) if values["mtp_endpoint"] else ()
    if values["mtp_isolate"] and mode is not Mode.OFF:
        _check_isolation(endpoints)
    return Settings(
        mode=mode,
        profile=values["mtp_profile"] or usual_profile(gpu=mode is Mode.GPU, attached=bool(endpoints)),
        endpoints=endpoints,
        source=values["mtp_source"],
        model=values["mtp_model"],
        flag_sets=values["mtp_flag_set"],
        assignments=values["mtp_set"],
        prompts=values["mtp_prompts"],
        backend=values["mtp_backend"],
        gpu_id=values["mtp_gpu_id"],
        lock_clocks=values["mtp_lock_clocks"],
        refresh=values["mtp_refresh"],
        isolation=values["mtp_isolation"],
        isolate=values["mtp_isolate"],
        max_time_s=values["mtp_max_time"],
        update=values["mtp_update_baselines"],
        baselines=root / values["mtp_baselines"],
        cache_dir=values["mtp_cache_dir"] or _default_cache(mode),
        json=values["mtp_json"],
        history=None if values["mtp_history"] is None else root / values["mtp_history"],
        out=None if values["mtp_out"] is None else root / values["mtp_out"],
        resume=values["mtp_resume"],
        strict=values["mtp_strict"],
        dear=values["mtp_dear"],
        bisect=values["mtp_bisect"],
        compare_to=values["mtp_compare_to"],
        vary=values["mtp_vary"],
        tier=values["mtp_tier"],
        equivalence=values["mtp_equivalence"],
    )


def _mode(config: pytest.Config) -> Mode:
    if config.getoption("--mtp") and config.getoption("--mtp-gpu"):
        raise SettingsError("--mtp and --mtp-gpu exclude each other: give one of them.")
    if config.getoption("--mtp-gpu"):
        return Mode.GPU
    return Mode.CPU if config.getoption("--mtp") else Mode.OFF


def _given(config: pytest.Config, option: Option) -> Any:
    """What the command line says, else the ini file, else ``None``."""
    typed = config.getoption(option.key)
    if typed is not None:
        return typed
    return config.getini(option.key) or None


def _resolve(option: Option, given: Any) -> Any:
    if given is None:
        return option.default
    if option.many:
        return tuple(dict.fromkeys(option.parse(one) for one in given))
    if given == "":
        # Of an unset variable of a script, most often: the default instead would be measured unnoticed.
        raise SettingsError(f"{option.flag} was given an empty value; give one, or leave the option away.")
    try:
        return given if isinstance(given, bool) else option.parse(given)
    except SettingsError as error:
        raise SettingsError(f"{option.flag}: {error}") from error


def _check_isolation(endpoints: Sequence[Endpoint]) -> None:
    """SettingsError before anything is fetched, where strangers' code cannot be confined."""
    if endpoints:
        raise SettingsError("--mtp-isolate confines servers that are started, and --mtp-endpoint starts none: drop it.")
    from pytest_mtp.runtime.sandbox import find_sandbox

    find_sandbox(Backend.CPU)


def _default_cache(mode: Mode) -> Path:
    if mode is Mode.OFF:
        return Path()  # nothing will be cached, so platformdirs need not be imported by every pytest run
    from pytest_mtp.runtime.cache import default_root

    return default_root()
