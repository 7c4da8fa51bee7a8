"""Built once and installed once; every test here looks at the same files."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.packaging.built import Built, build, export, uv

# What work leaves behind in a checkout, and hatchling must leave there.
LEAVINGS = (
    "pytest_mtp/__pycache__/left.cpython-311.pyc",
    "pytest_mtp/core/left.pyc",
    "suites/__pycache__/left.cpython-311.pyc",
    "suites/.pytest_cache/left",
    ".venv/left",
    "tests/left.py",
)


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with the wheel and what it asks for, and a folder far from the checkout to run it in."""

    environment: Path
    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run one of its commands, in its folder, without what this process was told of Python's paths."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL", "PYTEST"))
        }
        return subprocess.run(
            [str(self.environment / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env=kept | {"COLUMNS": "120"},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as git has it, with leavings."""
    folder = tmp_path_factory.mktemp("tree")
    export(folder)
    for name in LEAVINGS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"left")
    return folder


@pytest.fixture(scope="session")
def built(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Wheel and sdist of the tree."""
    return build(tree, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel alone, without extras, in an environment of its own."""
    environment = tmp_path_factory.mktemp("installed") / "environment"
    uv("venv", "--quiet", "--python", sys.executable, environment)
    uv("pip", "install", "--quiet", "--python", environment, built.wheel)
    return Installed(environment, tmp_path_factory.mktemp("elsewhere"))
