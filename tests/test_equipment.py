import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.settings import Settings
from pytest_mtp.equipment import build_of, build_spec_of, equip, model_of, source_of
from pytest_mtp.errors import ModelError, SourceError
from pytest_mtp.options import plain_settings
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.launch import OwnLlamaServer
from pytest_mtp.runtime.profiles import load_profile
from tests.real.conftest import SMALL

FAKE = Path(__file__).parent / "fakes" / "llama_server.py"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    binary = tmp_path / "llama-server"
    binary.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(FAKE))} "$@"\n')
    binary.chmod(0o755)
    return replace(plain_settings(argparse.Namespace()), source=f"bin:{binary}", cache_dir=tmp_path / "cache")


def test_a_campaign_gets_all_that_it_needs(settings: Settings, tmp_path: Path) -> None:
    profile, cache = load_profile(str(SMALL)), Cache(settings.cache_dir)
    equipment = equip(settings, profile, cache, tmp_path / "logs")
    assert equipment.build == build_of(profile, source_of(settings, profile, cache), cache)
    launch = equipment.launch(profile.server_spec("n3", model=equipment.served, speculative=True))
    assert isinstance(launch, OwnLlamaServer)
    assert launch.capabilities.mtp is not None
    assert Path(equipment.served).is_relative_to(settings.cache_dir)
    assert equipment.machine.slug
    assert equipment.logs == tmp_path / "logs"


def test_what_was_asked_for_beats_the_profile(settings: Settings) -> None:
    profile, cache = load_profile(str(SMALL)), Cache(settings.cache_dir)
    assert model_of(replace(settings, model="phantom:head=broken"), profile, cache).label == "phantom:head=broken"
    with pytest.raises(ModelError, match="no model file /none"):
        model_of(replace(settings, model="/none.gguf"), profile, cache)
    with pytest.raises(SourceError, match="no file /none"):
        source_of(replace(settings, source="bin:/none"), profile, cache)


def test_further_targets_leave_the_gates_build_as_it_is() -> None:
    profile = load_profile(str(SMALL))
    assert build_spec_of(profile).targets == ("llama-server",)
    assert build_spec_of(profile, ["llama-cli"]).targets == ("llama-server", "llama-cli")
