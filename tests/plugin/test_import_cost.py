"""The plugin is loaded by every pytest run on the machine, so it must cost next to nothing there."""

import re
import subprocess
import sys
from pathlib import Path

_HEAVY = {"httpx", "scipy", "numpy", "huggingface_hub", "jsonschema", "gguf", "msgspec", "psutil", "pynvml"}


def imported(folder: Path, *more: str) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-m", "pytest", "--co", *more]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return {line.rpartition("|")[2].strip() for line in run.stderr.splitlines() if line.startswith("import time:")}


def test_a_run_without_mtp_imports_nothing_heavy(tmp_path: Path) -> None:
    modules = imported(tmp_path)
    assert "pytest_mtp.options" in modules  # what the plugin imports; importlib itself is not timed
    assert not {name for name in modules if re.split(r"\.", name)[0] in _HEAVY}


def test_the_entry_point_is_named_mtp(tmp_path: Path) -> None:
    assert "pytest_mtp.options" not in imported(tmp_path, "-p", "no:mtp")
