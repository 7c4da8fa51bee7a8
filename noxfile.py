"""Tests over each Python and both ends of the dependencies' ranges, as far as this machine has the Pythons.

``nox`` runs all; ``nox -s "tests-3.13(lowest)" -- tests/core -x`` runs one, with pytest's own arguments.
What a real llama-server measures does not depend on Python: these are the tests without one.
"""

from pathlib import Path

import nox

nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
FAST = ("tests/core", "tests/plugin", "tests/commands", "tests/reports", "tests/runtime", "-m", "not real and not slow")
# Not build: its wheels compile llama.cpp, and no fast test compiles.
PROJECT = ("--editable", ".[report,nightly,fleet]", "--group", "test")


@nox.session(python=PYTHONS)
@nox.parametrize("resolution", ["latest", "lowest"], ids=["latest", "lowest"])
def tests(session: nox.Session, resolution: str) -> None:
    """The fast tests, with the newest dependencies or with the oldest that pyproject.toml admits."""
    held = lowest(session) if resolution == "lowest" else ()
    session.install(*held, *PROJECT)
    session.run("pytest", *(session.posargs or FAST))


def lowest(session: nox.Session) -> tuple[str, ...]:
    """What holds the project's own dependencies at their lower bounds; the tools of its tests stay the newest.

    Overrides, and without the extra ``nightly``: Otava pins numpy and scipy to one version each, above
    what this project asks for, so that nobody would ever have met the lower bounds.
    Only wheels: an old numpy for a new Python would be compiled for minutes, and nobody installs it so.
    """
    bounds = str(Path(session.create_tmp()).resolve() / "lowest.txt")
    session.run_install(
        *("uv", "pip", "compile", "--quiet", "--python", session.virtualenv.location, "--only-binary", ":all:"),
        *("--resolution", "lowest-direct", "--extra", "report", "--extra", "fleet"),
        # With its extras: an override without them would leave out what dask[distributed] brings.
        *("--no-strip-extras", "--output-file", bounds, "pyproject.toml"),
    )
    return ("--override", bounds)
