"""What a campaign's numbers belong to, and what its servers are asked."""

import argparse
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.profile import FlagSet
from pytest_mtp.equipment import equip
from pytest_mtp.options import plain_settings
from pytest_mtp.planning import campaign_plan
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.plan import Plan
from pytest_mtp.runtime.profiles import load_profile
from tests.real.conftest import SMALL

FAKE = Path(__file__).parent / "fakes" / "llama_server.py"
HELP = Path(__file__).parent / "core" / "data" / "help-b11434.txt"
OWN = FlagSet(n_max=3, p_min=0.0)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Callable[[FlagSet], Plan]:
    folder = tmp_path_factory.mktemp("planning")
    binary = folder / "llama-server"
    fake = shlex.join([sys.executable, str(FAKE)])
    binary.write_text(f'#!/bin/sh\n[ "$1" = --help ] && exec cat {shlex.quote(str(HELP))}\nexec {fake} "$@"\n')
    binary.chmod(0o755)
    settings = replace(plain_settings(argparse.Namespace()), source=f"bin:{binary}", cache_dir=folder / "cache")
    profile = load_profile(str(SMALL))
    equipment = equip(settings, profile, Cache(settings.cache_dir), folder / "logs")

    def plan(flag_set: FlagSet) -> Plan:
        return campaign_plan(
            settings, replace(profile, flag_sets={"n3": flag_set}), equipment, "n3", profile.classes, locked_mhz=None
        )

    return plan


def key(plan: Plan) -> dict[str, str]:
    (circumstances,) = plan.circumstances.values()
    return dict(circumstances.flags)


def test_a_flag_set_of_mtp_alone_keeps_the_key_of_what_is_on_record(planned: Callable[[FlagSet], Plan]) -> None:
    assert set(key(planned(OWN))) == {"ctx", "gpu_layers", "flash_attn", "parallel", "n_max", "p_min"}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"kinds": ("ngram-mod", "mtp")}, {"kinds": "ngram-mod,mtp"}),
        ({"draft_model": "/models/d.gguf"}, {"draft_model": "d.gguf"}),
        ({"extra": ("--spec-draft-n-min", "1")}, {"speculation_extra": "--spec-draft-n-min 1"}),
        ({"sampled": True, "server": {"temp": 0.7}}, {"sampled": "true", "temp": "0.7"}),
    ],
    ids=["kinds", "draft model", "extra", "sampled"],
)
def test_whatever_else_a_flag_set_says_is_in_its_key(
    planned: Callable[[FlagSet], Plan], changes: dict[str, object], named: dict[str, str]
) -> None:
    changed = replace(OWN, **changes)  # type: ignore[arg-type]  # one field of any type
    assert key(planned(changed)) == key(planned(OWN)) | named


def test_only_a_sampled_flag_set_leaves_the_temperature_to_the_server(planned: Callable[[FlagSet], Plan]) -> None:
    greedy, sampled = planned(OWN), planned(replace(OWN, sampled=True, server={"temp": 0.7}))
    bodies = [plan.ask(plan.classes[0]).as_json() for plan in (greedy, sampled)]
    assert [body.get("temperature") for body in bodies] == [0.0, None]
    assert {body["seed"] for body in bodies} == {42}
