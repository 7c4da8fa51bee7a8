"""The options: one row each, resolved once into Settings.

``--mtp-x-y`` on the command line beats ``mtp_x_y`` in the ini file, which beats the default.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.endpoint import KEY_VARIABLE, parse_endpoints
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.settings import Mode, Settings, Update, Vary, parse_duration
from pytest_mtp.core.tier import Tier
from pytest_mtp.errors import SettingsError
from pytest_mtp.option import Option, choice, file, folder, path, yes

CPU_PROFILE = "phantom"
GPU_PROFILE = "rtx3090-qwen3.6-27b"
RUNNING_PROFILE = "running-servers"

OPTIONS = (
    Option(
        "profile",
        str,
        None,
        f"profile: a shipped name or a TOML file (default: {CPU_PROFILE}; of --mtp-gpu {GPU_PROFILE}; of "
        f"--mtp-endpoint {RUNNING_PROFILE})",
        "NAME|FILE",
    ),
    Option(
        "source",
        str,
        None,
        "llama.cpp under test: release:bN, sdist:VERSION, git:URL@REF, pr:N, dir:PATH or bin:PATH "
        "(default: the profile's)",
        "SOURCE",
    ),
    Option(
        "model",
        str,
        None,
        "model: phantom[:head=FAULT], hf:REPO/FILE[@REV] or a path (default: the profile's)",
        "MODEL",
    ),
    Option(
        "endpoint",
        str,
        (),
        "measure servers that run already: plain=URL and mtp=URL, of llama-server, vLLM, SGLang, Ollama or another "
        f"with OpenAI's API; a key in {KEY_VARIABLE} (default: servers are started)",
        "ARM=URL",
        many=True,
    ),
    Option(
        "refresh",
        yes,
        default=False,
        help="ask the hub anew what the model's branch or tag stands for (default: the commit it was pinned to)",
        switch=True,
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
        "prompts",
        file,
        None,
        "measure the prompts of this file: JSON rows with class and prompt, SPEED-Bench's data, or names and texts "
        "(default: the profile's)",
        "FILE",
    ),
    Option(
        "backend",
        choice(Backend),
        None,
        "what computes: auto, cpu, cuda, metal, vulkan or hip (default: the profile's)",
        "BACKEND",
    ),
    Option("gpu-id", str, None, "card to measure on, by index or UUID (default: the first)", "ID"),
    Option(
        "lock-clocks",
        yes,
        default=False,
        help="fix the card's clocks while it is measured; needs the right to (default: leave them)",
        switch=True,
    ),
    Option(
        "isolation",
        choice(Isolation),
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
        choice(Update),
        None,
        "record baselines: new (only missing ones), all, or one more session beside those on record "
        "(default: record nothing)",
        "new|all|session",
    ),
    Option(
        "baselines",
        path,
        Path("baselines"),
        "folder of the baselines, relative to the rootdir (default: baselines)",
        "DIR",
    ),
    Option(
        "cache-dir",
        path,
        None,
        "where sources, builds and phantoms are kept (default: pytest-mtp in the user's cache folder)",
        "DIR",
    ),
    Option(
        "compare-to",
        str,
        None,
        "measure a base in the same blocks and judge against it instead of a baseline: a source, or what --mtp-vary "
        "says (default: judge against the baseline)",
        "BASE",
    ),
    Option(
        "vary",
        choice(Vary),
        Vary.SOURCE,
        "what --mtp-compare-to names: a source, model or flag-set (default: source)",
        "WHAT",
    ),
    Option(
        "tier",
        choice(Tier),
        Tier.SCREEN,
        "how closely is compared: screen in few blocks, margin 5 percent; full in many, 2 percent (default: screen)",
        "screen|full",
    ),
    Option(
        "equivalence",
        yes,
        default=False,
        help="of a comparison: a gain must be excluded as well as a loss (default: only a loss)",
        switch=True,
    ),
    Option(
        "history",
        folder,
        None,
        "keep the run in this folder and judge it by the runs before it (default: neither)",
        "DIR",
    ),
    Option(
        "out",
        folder,
        None,
        "write the report as JSON, HTML, job summary, annotations and dashboard files into this folder "
        "(default: not written)",
        "DIR",
    ),
    Option(
        "dear",
        yes,
        default=False,
        help="measure the dear suites too: long prompts, sweeps, cache types, long uptime; minutes each "
        "(default: the cheap ones, and what is named)",
        switch=True,
    ),
    Option("json", file, None, "write the whole report to this file (default: not written)", "FILE"),
    Option("strict", yes, default=False, help="fail a test whose verdict is no answer (default: skip it)", switch=True),
    Option(
        "bisect",
        yes,
        default=False,
        help="end as `git bisect run` takes it: 0 no loss, 1 a loss, 125 no answer, errors included "
        "(default: the usual exit status)",
        switch=True,
    ),
)  # fmt: skip - a row per option reads as a table


def register(parser: pytest.Parser) -> None:
    """Add every option and its ini twin."""
    group = parser.getgroup("mtp", "multi-token prediction (pytest-mtp)")
    group.addoption("--mtp", action="store_true", help="measure with the embedded profile on the CPU")
    group.addoption("--mtp-gpu", action="store_true", help=f"measure on a GPU, by default with {GPU_PROFILE}")
    for option in OPTIONS:
        group.addoption(option.flag, **option.words)
        if option.many:
            parser.addini(option.key, option.help, type="args", default=[])
        else:
            parser.addini(option.key, option.help, type="string", default="")


def add_plain(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add options to a command of our own, where they need no prefix: ``--profile`` for ``--mtp-profile``."""
    for option in OPTIONS:
        if option.name in names:
            parser.add_argument(f"--{option.name}", **option.words)


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
    usual = GPU_PROFILE if mode is Mode.GPU else CPU_PROFILE
    return Settings(
        mode=mode,
        profile=values["mtp_profile"] or (RUNNING_PROFILE if endpoints else usual),
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
        max_time_s=values["mtp_max_time"],
        update=values["mtp_update_baselines"],
        baselines=root / values["mtp_baselines"],
        cache_dir=values["mtp_cache_dir"] or _default_cache(mode),
        json=values["mtp_json"],
        history=None if values["mtp_history"] is None else root / values["mtp_history"],
        out=None if values["mtp_out"] is None else root / values["mtp_out"],
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


def _default_cache(mode: Mode) -> Path:
    if mode is Mode.OFF:
        return Path()  # nothing will be cached, so platformdirs need not be imported by every pytest run
    from pytest_mtp.runtime.cache import default_root

    return default_root()
