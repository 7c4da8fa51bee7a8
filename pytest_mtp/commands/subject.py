"""What a command is about, as its arguments say it: settings, and the profile with its overrides."""

import argparse
from dataclasses import replace

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.settings import Mode, Settings
from pytest_mtp.options import add_plain, plain_settings

_ABOUT_A_PROFILE = ("profile", "set", "source", "model", "backend", "gpu-id", "cache-dir")


def add_subject(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is built and served: ``--profile`` and what overrides it."""
    add_plain(parser, *_ABOUT_A_PROFILE)


def subject(parsed: argparse.Namespace) -> tuple[Settings, Profile]:
    """The settings and the effective profile; SettingsError says what is wrong with them, or lacking here."""
    from pytest_mtp.resolution import effective_profile

    settings = settings_of(parsed)
    return settings, effective_profile(settings)


def settings_of(parsed: argparse.Namespace) -> Settings:
    """The settings, for a card or the CPU as the profile wants it."""
    from pytest_mtp.runtime.profiles import load_profile

    settings = plain_settings(parsed)
    backend = settings.backend or load_profile(settings.profile, settings.assignments).build.backend
    return replace(settings, mode=Mode.CPU if backend is Backend.CPU else Mode.GPU)
