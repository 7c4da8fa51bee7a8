"""What a command is about, as its arguments say it: settings, and the profile with its overrides."""

import argparse
from dataclasses import replace

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.served_tables import Serving
from pytest_mtp.core.settings import Mode, Settings
from pytest_mtp.errors import SettingsError
from pytest_mtp.options import add_plain, plain_settings

_OTHERS = {
    Serving.VLLM: ("vLLM", ""),
    Serving.RUNNING: ("servers that run already", " --mtp-endpoint plain=URL --mtp-endpoint mtp=URL"),
}
_ABOUT_A_PROFILE = ("profile", "set", "source", "model", "backend", "gpu-id", "cache-dir")


def add_subject(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is built and served: ``--profile`` and what overrides it."""
    add_plain(parser, *_ABOUT_A_PROFILE)


def subject(parsed: argparse.Namespace) -> tuple[Settings, Profile]:
    """The settings and the effective profile; SettingsError says what is wrong with them, or lacking here.

    For commands that start llama.cpp: a profile of other servers is refused.
    """
    from pytest_mtp.resolution import effective_profile

    settings = settings_of(parsed)
    _check_serving(f"pytest-mtp {parsed.command}" if "command" in parsed else "This command", settings)
    return settings, effective_profile(settings)


def _check_serving(command: str, settings: Settings) -> None:
    """SettingsError, before anything is looked for, where the profile measures what the command cannot start."""
    from pytest_mtp.runtime.profiles import load_profile

    profile = load_profile(settings.profile, settings.assignments)
    if profile.serving is Serving.LLAMA_CPP:
        return
    measures, more = _OTHERS[profile.serving]
    switch = "--mtp" if settings.mode is Mode.CPU else "--mtp-gpu"
    raise SettingsError(
        f"{command} starts llama.cpp, and profile {profile.name} measures {measures}: use pytest {switch} "
        f"--mtp-profile {settings.profile}{more}."
    )


def settings_of(parsed: argparse.Namespace) -> Settings:
    """The settings, for a card or the CPU as the profile wants it."""
    from pytest_mtp.runtime.profiles import load_profile

    settings = plain_settings(parsed)
    backend = settings.backend or load_profile(settings.profile, settings.assignments).build.backend
    return replace(settings, mode=Mode.CPU if backend is Backend.CPU else Mode.GPU)
