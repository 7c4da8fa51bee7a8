"""The way to a server that can be started, for whoever is not pytest: source, build, model, machine."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_mtp.core.build_spec import Build, BuildSpec
from pytest_mtp.core.model import Model, parse_model
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.settings import Settings
from pytest_mtp.core.source import Source, parse_source
from pytest_mtp.runtime.build import build
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.machine import fingerprint
from pytest_mtp.runtime.models import fetch_model
from pytest_mtp.runtime.probe import probe
from pytest_mtp.runtime.progress import Progress, silent
from pytest_mtp.runtime.sources import fetch_source
from pytest_mtp.session import Equipment


def source_of(settings: Settings, profile: Profile, cache: Cache, progress: Progress = silent) -> Source:
    """The llama.cpp that was asked for, else the profile's; SourceError says why it cannot be had."""
    spec = parse_source(settings.source or profile.source.spec)
    return fetch_source(replace(spec, backend=profile.build.backend), cache, progress)


def build_spec_of(profile: Profile, extra_targets: Sequence[str] = ()) -> BuildSpec:
    """How the profile wants llama.cpp compiled; with further targets it is another build than the gate's."""
    plain = BuildSpec(backend=profile.build.backend, options=tuple(profile.build.options.items()))
    return replace(plain, targets=(*plain.targets, *extra_targets))


def model_of(settings: Settings, profile: Profile, cache: Cache, progress: Progress = silent) -> Model:
    """The model that was asked for, else the profile's; ModelError says why it cannot be had."""
    return fetch_model(parse_model(settings.model or profile.model.spec), profile.model.phantom, cache, progress)


def build_of(profile: Profile, source: Source, cache: Cache, progress: Progress = silent) -> Build:
    """The build of ``source`` that the gate would measure: compiled once, then found."""
    return build(build_spec_of(profile), source, cache, progress)


def equip(settings: Settings, profile: Profile, cache: Cache, logs: Path, progress: Progress = silent) -> Equipment:
    """All that a campaign needs; minutes the first time, then seconds. The servers will log to ``logs``."""
    made = build_of(profile, source_of(settings, profile, cache, progress), cache, progress)
    return Equipment(
        build=made,
        capabilities=probe(made.server),
        model=model_of(settings, profile, cache, progress),
        machine=fingerprint(profile.build.backend),
        logs=logs,
    )
