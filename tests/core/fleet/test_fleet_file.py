"""A fleet.toml becomes cells, or one sentence about what is wrong with it."""

import tomllib
from typing import Any

import pytest

from pytest_mtp.core.fleet.fleet_file import machines_of, manifest_of
from pytest_mtp.core.fleet.manifest import Manifest
from pytest_mtp.core.profile import Profile
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.profiles import load_profile

AT = "2026-12-03T03:00:00+00:00"
PROFILES: dict[str, Profile] = {name: load_profile(name) for name in ("phantom", "rtx3090-qwen3.6-27b")}


def planned(text: str) -> Manifest:
    return manifest_of(machines_of(tomllib.loads(text)), PROFILES, AT)


def test_machines_sources_profiles_and_flag_sets_are_multiplied() -> None:
    manifest = planned(
        """
        profiles = ["phantom"]
        sources = ["release:b1", "release:b2"]
        minutes = 20
        [machines.desk]
        kind = "cpu"
        [machines.tower]
        kind = "RTX 3090"
        profiles = ["rtx3090-qwen3.6-27b"]
        sources = ["release:b2"]
        flag_sets = ["n3", "n3-sampled"]
        suites = ["test_speedup.py"]
        options = ["--mtp-tier=full"]
        minutes = 45.5
        """
    )
    of_desk = [("desk", "cpu", f"release:b{n}", "phantom", "n3", (), 20.0) for n in (1, 2)]
    words = ("test_speedup.py", "--mtp-tier=full")
    of_tower = [
        ("tower", "RTX 3090", "release:b2", "rtx3090-qwen3.6-27b", name, words, 45.5) for name in ("n3", "n3-sampled")
    ]
    told = [(c.machine, c.kind, c.source, c.profile, c.flag_set, c.options, c.minutes) for c in manifest.cells]
    assert told == of_desk + of_tower


def test_without_flag_sets_a_profile_says_which() -> None:
    manifest = planned('profiles = ["rtx3090-qwen3.6-27b"]\n[machines.a]\nkind = "RTX 3090"')
    assert tuple(one.flag_set for one in manifest.cells) == PROFILES["rtx3090-qwen3.6-27b"].measured()


DESK = 'profiles = ["phantom"]\n[machines.desk]\nkind = "cpu"\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no machine"),
        ('profiles = ["phantom"]\nmachines = 3', "it has no machine"),
        ('profiles = ["phantom"]\n[machines]', "it has no machine"),
        ('profiles = ["phantom"]\n[machines]\ndesk = 3', "machines.desk is no table"),
        ('profiles = ["phantom"]\n[machines.desk]', "machines.desk has no kind"),
        ('[machines.desk]\nkind = "cpu"', "machines.desk has no profiles"),
        (f'colour = "red"\n{DESK}', "the key 'colour', which is none"),
        (f"{DESK}minuts = 3", "the key 'machines.desk.minuts', which is none; did you mean minutes?"),
        (f"{DESK}[machines.desk.env]\nA = 1", "the key 'machines.desk.env'"),
        (f'{DESK}minutes = "long"', "machines.desk.minutes is no number"),
        (f"{DESK}minutes = true", "machines.desk.minutes is no number"),
        (f"{DESK}minutes = nan", "cannot take nan minutes"),
        (f'{DESK}sources = "release:b1"', "machines.desk.sources is no list of texts"),
        (f"{DESK}options = [3]", "machines.desk.options is no list of texts"),
        (f'{DESK}sources = ["a", "a"]', "machines.desk.sources names something twice"),
        (f'{DESK}flag_sets = ["n9"]', "profile phantom has no flag set n9: it has n3"),
        (f'{DESK}options = ["--help"]', "'--help' is no option of a cell"),
        (f'{DESK}options = ["--mtp-history=x"]', "its results go to the ledger"),
        (DESK.replace("cpu", "CPU"), 'the kind CPU; write kind = "cpu"'),
        (DESK.replace("cpu", "RTX_3090"), "the kind 'RTX_3090'; write it without comma, = and _"),
        (DESK.replace("cpu", "RTX 3090, cpu"), "write it without comma, = and _"),
        (DESK.replace("cpu", "RTX 3090=2"), "write it without comma, = and _"),
        (DESK.replace("cpu", " cpu"), "the kind ' cpu'"),
        (f'{DESK}["x"]\n', "the key 'x'"),
        ('profiles = ["phantom"]\n[machines."a/../b"]\nkind = "cpu"', "'a/../b' is no name of a machine"),
        (f"{DESK}sources = [{', '.join(repr(str(n)) for n in range(100_001))}]", "more than 100000 cells"),
    ],
)
def test_what_cannot_be_is_one_sentence(text: str, why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        planned(text)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_night_has_an_identity_of_its_own() -> None:
    machines = machines_of(tomllib.loads(DESK))
    nights: list[Any] = [manifest_of(machines, PROFILES, f"2026-12-0{day}T03:00:00+00:00") for day in (1, 2)]
    assert nights[0].cells == nights[1].cells
    assert nights[0].id != nights[1].id
