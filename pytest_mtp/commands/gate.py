"""``pytest-mtp gate``: measure the llama.cpp that one stands in with the suites that ship; needs no file there.

Every argument is pytest's (``pytest --help`` lists them), and so is the exit status. ``--mtp`` is added where
``--mtp-gpu`` is not given. The source is the checkout of llama.cpp around this folder, else the profile's own. What the
folder has of its own tests is left alone: no ini file and no conftest.py of it is read, and nothing is written into it.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.errors import SettingsError
from pytest_mtp.option_table import OPTIONS, SWITCHES, usual_profile

HELP = "measure the llama.cpp that you stand in; all arguments are pytest's"
PASSES_ON = True

_PACKAGE = Path(__file__).parents[1]
_INI = Path(__file__).with_name("gate.ini")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take nothing: what is not known here goes on to pytest."""
    parser.usage = "%(prog)s [ARGUMENTS OF pytest ...]"


def run(parsed: argparse.Namespace) -> int:
    """Say what is measured in one line, and become pytest."""
    from pytest_mtp.reports.escaping import one_line

    given = list(parsed.passed_on)
    planned = _planned(given)
    if planned.sentence:
        sys.stdout.write(f"pytest-mtp gate: {one_line(planned.sentence)}\n")
        sys.stdout.flush()
    # A process of its own kind: signals and exit status are pytest's. -P: what lies in this folder is not imported.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "pytest", *_apart(Path.cwd()), *planned.arguments, *given])


def add_options_of_pytest(parser: argparse.ArgumentParser) -> None:
    """Add those that this package gives to pytest."""
    for name, told in SWITCHES.items():
        parser.add_argument(f"--{name}", action="store_true", help=told)
    for option in OPTIONS:
        parser.add_argument(option.flag, **option.words)


def suites() -> Path:
    """The suites that ship: a wheel carries them inside the package, a checkout beside it."""
    carried = _PACKAGE / "suites"
    return carried if carried.is_dir() else _PACKAGE.parent / "suites"


def checkout(folder: Path) -> Path | None:
    """The top of the llama.cpp, or fork of it, that ``folder`` lies in; ``None`` where it lies in none."""
    return next((one for one in (folder, *folder.parents) if _is_llama_cpp(one)), None)


def _is_llama_cpp(folder: Path) -> bool:
    """Whether it is the top of a tree: other projects have a CMakeLists.txt, too, none has all three."""
    server = any((folder / place / "server").is_dir() for place in ("tools", "examples"))
    return server and (folder / "CMakeLists.txt").is_file() and (folder / "include" / "llama.h").is_file()


@dataclass(frozen=True, slots=True)
class Planned:
    """What is measured, for pytest and for people."""

    arguments: list[str]
    sentence: str


def plan(wanted: argparse.Namespace, here: Path) -> Planned:
    """What ``wanted`` leaves open, decided by the folder one stands in."""
    tree = checkout(here)
    arguments = _mode(wanted)
    baselines = wanted.mtp_baselines
    if baselines is None:
        baselines = str(_baselines([here, *([tree] if tree else [])]))
        arguments.append(f"--mtp-baselines={baselines}")
    source, measured = _source(wanted, tree)
    if source is not None:
        arguments.append(f"--mtp-source={source}")
    return Planned(arguments, f"{measured}; profile {_profile(wanted)}, baselines in {baselines}")


def _mode(wanted: argparse.Namespace) -> list[str]:
    return [] if wanted.mtp or wanted.mtp_gpu else ["--mtp"]


def _profile(wanted: argparse.Namespace) -> str:
    return str(wanted.mtp_profile or usual_profile(gpu=wanted.mtp_gpu, attached=bool(wanted.mtp_endpoint)))


def _source(wanted: argparse.Namespace, tree: Path | None) -> tuple[str | None, str]:
    """The source that is added, and in words what is measured; ``None`` where others have decided."""
    from pytest_mtp.core.served_tables import Serving
    from pytest_mtp.runtime.profiles import load_profile

    if wanted.mtp_source is not None:
        return None, f"{wanted.mtp_source}, as --mtp-source says"
    profile = load_profile(_profile(wanted), wanted.mtp_set or ())
    if wanted.mtp_endpoint or profile.serving is Serving.RUNNING:
        return None, "servers that run already"
    if profile.serving is Serving.VLLM:
        return None, "vLLM, as the profile says"
    if any(one.partition("=")[0].strip() in {"source", "source.spec"} for one in wanted.mtp_set or ()):
        return None, f"{profile.source.spec}, as --mtp-set says"
    if tree is not None:
        return f"dir:{tree}", f"the llama.cpp in {tree}"
    return None, f"no checkout of llama.cpp here, so {profile.source.spec}, as the profile says"


def _baselines(folders: Sequence[Path]) -> Path:
    """The baselines that a repository keeps, else the user's: they are this machine's, whichever tree is measured."""
    import platformdirs

    kept = (one / "baselines" for one in folders if any(one.glob("baselines/*/*.json")))
    return next(kept, platformdirs.user_data_path("pytest-mtp") / "baselines")


def _planned(given: Sequence[str]) -> Planned:
    """The plan; without a sentence where pytest will refuse what is given, with the reason and a status of its own."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_options_of_pytest(parser)
    try:
        # Of a script's environment, pytest reads these before its command line.
        before = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
        wanted, _ = parser.parse_known_args([*before, *given])
    except (ValueError, argparse.ArgumentError):  # shlex raises ValueError
        return Planned([], "")
    try:
        return plan(wanted, Path.cwd())
    except SettingsError:  # of the profile, which is only read, and refused, where something is measured
        return Planned(_mode(wanted), "")


def _apart(here: Path) -> Iterator[str]:
    """Arguments of pytest that keep the gate and the tests of the folder apart."""
    import platformdirs

    shipped, state = suites(), platformdirs.user_state_path("pytest-mtp")
    # By path and not by --pyargs, with which pytest loads the conftest.py files of the folder it is called in.
    yield str(shipped)
    # By name: also where plugins are not loaded by themselves.
    yield from ("-p", "mtp", "-p", "benchmark")
    yield from ("-c", str(_INI), f"--rootdir={here}")
    # Above this folder no conftest.py is read; an environment that lies in the checkout has it above the suites.
    yield f"--confcutdir={shipped if shipped.is_relative_to(here) else here}"
    # A suite of one's own may be called as a shipped one is.
    yield "--import-mode=importlib"
    # A file that appears in a checkout makes it another tree, which would be built anew.
    yield from ("-o", f"cache_dir={state / 'pytest'}", f"--benchmark-storage=file://{state / 'benchmarks'}")
