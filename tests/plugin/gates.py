"""The shipped suites over the fake llama-server, whose times are exact."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.gguf_file import small_model

_FAKE = Path(__file__).parents[1] / "fakes" / "llama_server.py"
_SUITES = Path(__file__).parents[2] / "suites"
_PROFILE = """
name = "fake"
description = "Exact times."
source = {{ spec = "bin:nowhere" }}
model = {{ spec = "{model}" }}
server = {{ ctx = 512, gpu_layers = 0 }}
request = {{ tokens = 9 }}
measure = {{ pairs = 1, warmup = 1, isolation = "side-by-side" }}
gates = {{ looks = [2] }}
flag_sets = {{ n3 = {{ n_max = 3, p_min = 0.0 }} }}
classes = [{classes}]
"""

Gate = Callable[..., pytest.RunResult]


def without_further_suites() -> list[str]:
    """Arguments that leave the gate's own question alone."""
    return [f"--ignore={one}" for one in _SUITES.glob("test_*.py") if "mtp_study" in one.read_text()]


def fake_profile(model: str = "nowhere.gguf", **floors: float | None) -> str:
    """A profile of short campaigns: each class by its name, with its floor or none."""
    told = {name: "" if floor is None else f", floor = {floor}" for name, floor in floors.items()}
    classes = (f'{{ name = "{name}", prompt = "{name.upper()}"{floor} }}' for name, floor in told.items())
    return _PROFILE.format(model=model, classes=", ".join(classes))


def fake_server(path: Path, fault: str) -> str:
    """Write a llama-server with this fault; returns it as ``--mtp-source`` takes it."""
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {_FAKE} --fault {fault} "$@"\n')
    path.chmod(0o755)
    return f"bin:{path}"


def fake_gate(pytester: pytest.Pytester, tmp_path: Path) -> Gate:
    """The gate's own suites over the fake server, in a folder of its own; the fake drafts and is always right.

    The further suites are left out: they ask in ways that the fake does not know, and the real one does.
    """
    source, model = fake_server(tmp_path / "llama-server", "honest"), tmp_path / "model.gguf"
    model.write_bytes(small_model())
    profile = pytester.path / "fake.toml"
    profile.write_text(fake_profile(a=None, b=None))
    fixed = (
        *without_further_suites(),
        "--mtp",
        f"--mtp-profile={profile}",
        f"--mtp-source={source}",
        f"--mtp-model={model}",
    )
    return lambda *more: pytester.runpytest_inprocess(*fixed, *more)
