"""The options: one row each, resolved once into Settings.

``--mtp-x-y`` on the command line beats ``mtp_x_y`` in the ini file, which beats the default.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.settings import Mode, Settings, Update, parse_duration
from pytest_mtp.errors import SettingsError

CPU_PROFILE = "phantom"
GPU_PROFILE = "rtx3090-qwen3.6-27b"


@dataclass(frozen=True, slots=True)
class Option:
    """One row: ``--mtp-NAME`` and its ini twin."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    help: str
    metavar: str
    many: bool = False

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--mtp-{self.name}"

    @property
    def key(self) -> str:
        """As the ini file and argparse name it."""
        return f"mtp_{self.name.replace('-', '_')}"


def _choice(kind: type[Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError as error:
            raise SettingsError(f"{text!r} is none of: {', '.join(one.value for one in kind)}.") from error

    return parse


def _path(text: str) -> Path:
    return Path(text).expanduser()


OPTIONS = (
    Option(
        "profile",
        str,
        None,
        f"profile: a shipped name or a TOML file (default: {CPU_PROFILE}, on a GPU {GPU_PROFILE})",
        "NAME|FILE",
    ),
    Option(
        "source",
        str,
        None,
        "llama.cpp under test: sdist:VERSION, git:URL@REF, pr:N, dir:PATH or bin:PATH (default: the profile's)",
        "SOURCE",
    ),
    Option(
        "model",
        str,
        None,
        "model: phantom[:head=FAULT], hf:REPO/FILE[@REV] or a path (default: the profile's)",
        "MODEL",
    ),
    Option("flag-set", str, (), "flag set to measure, repeatable (default: all of the profile)", "NAME", many=True),
    Option(
        "set",
        str,
        (),
        "override one value of the profile, such as server.ctx=32768; repeatable (default: none)",
        "KEY=VALUE",
        many=True,
    ),
    Option(
        "isolation",
        _choice(Isolation),
        None,
        "auto, side-by-side or alternate: whether both servers of a block are up together (default: the profile's)",
        "HOW",
    ),
    Option(
        "max-time",
        parse_duration,
        None,
        "stop measuring after this long, such as 20m; what was not decided by then is INCONCLUSIVE (default: no limit)",
        "TIME",
    ),
    Option(
        "update-baselines",
        _choice(Update),
        None,
        "record baselines: new (only missing ones) or all (default: record nothing)",
        "new|all",
    ),
    Option(
        "baselines",
        _path,
        Path("baselines"),
        "folder of the baselines, relative to the rootdir (default: baselines)",
        "DIR",
    ),
    Option(
        "cache-dir",
        _path,
        None,
        "where sources, builds and models are kept (default: pytest-mtp in the user's cache folder)",
        "DIR",
    ),
    Option("json", _path, None, "write the whole report to this file (default: not written)", "FILE"),
)  # fmt: skip - a row per option reads as a table


def register(parser: pytest.Parser) -> None:
    """Add every option and its ini twin."""
    group = parser.getgroup("mtp", "multi-token prediction (pytest-mtp)")
    group.addoption("--mtp", action="store_true", help="measure with the embedded profile on the CPU")
    group.addoption("--mtp-gpu", action="store_true", help=f"measure on a GPU, by default with {GPU_PROFILE}")
    group.addoption(
        "--mtp-strict", action="store_true", default=None, help="fail a test whose verdict is no answer (default: skip)"
    )
    parser.addini("mtp_strict", "fail a test whose verdict is no answer", default="")
    for option in OPTIONS:
        group.addoption(
            option.flag,
            dest=option.key,
            action="append" if option.many else "store",
            default=None,
            metavar=option.metavar,
            help=option.help,
        )
        if option.many:
            parser.addini(option.key, option.help, type="args", default=[])
        else:
            parser.addini(option.key, option.help, type="string", default="")


def read_settings(config: pytest.Config) -> Settings:
    """Resolve the options; SettingsError names the option and what it takes."""
    values = {option.key: _resolve(config, option) for option in OPTIONS}
    mode = _mode(config)
    return Settings(
        mode=mode,
        profile=values["mtp_profile"] or (GPU_PROFILE if mode is Mode.GPU else CPU_PROFILE),
        source=values["mtp_source"],
        model=values["mtp_model"],
        flag_sets=values["mtp_flag_set"],
        assignments=values["mtp_set"],
        isolation=values["mtp_isolation"],
        max_time_s=values["mtp_max_time"],
        update=values["mtp_update_baselines"],
        baselines=config.rootpath / values["mtp_baselines"],
        cache_dir=values["mtp_cache_dir"] or _default_cache(mode),
        json=values["mtp_json"],
        strict=_strict(config),
    )


def _mode(config: pytest.Config) -> Mode:
    if config.getoption("--mtp") and config.getoption("--mtp-gpu"):
        raise SettingsError("--mtp and --mtp-gpu exclude each other: give one of them.")
    if config.getoption("--mtp-gpu"):
        return Mode.GPU
    return Mode.CPU if config.getoption("--mtp") else Mode.OFF


def _resolve(config: pytest.Config, option: Option) -> Any:
    typed = config.getoption(option.key)
    given = typed if typed is not None else config.getini(option.key)
    if option.many:
        return tuple(option.parse(one) for one in given)
    if given == "":
        return option.default
    try:
        return option.parse(given)
    except SettingsError as error:
        raise SettingsError(f"{option.flag}: {error}") from error


def _strict(config: pytest.Config) -> bool:
    typed = config.getoption("--mtp-strict")
    if typed is not None:
        return bool(typed)
    return str(config.getini("mtp_strict")).lower() in {"1", "true", "yes", "on"}


def _default_cache(mode: Mode) -> Path:
    if mode is Mode.OFF:
        return Path()  # nothing will be cached, so platformdirs need not be imported by every pytest run
    from pytest_mtp.runtime.cache import default_root

    return default_root()
