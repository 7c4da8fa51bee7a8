"""Have the web page of a llama.cpp: found in the tree, made by its npm package, or downloaded by its own script."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from pytest_mtp.core.source import Source
from pytest_mtp.core.ui import INDEX, How, Way, download_options, npm_environment, outputs, ways
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.child import child_environment, ending, run_logged, run_text
from pytest_mtp.runtime.progress import Progress, silent
from pytest_mtp.runtime.toolchain import find_tools

_PAGE = "dist"
_LOG = "npm.log"
_DOWNLOAD_TIMEOUT_S = 120.0

# No HF_TOKEN: the page is public, and the token is for huggingface_hub alone.
_ENVIRONMENT = (
    "PATH", "HOME", "USER", "LANG", "LC_*", "TMPDIR", "XDG_*", "npm_config_*", "NPM_CONFIG_*", "NODE_*",
    "*_proxy", "*_PROXY", "SSL_CERT_*",
)  # fmt: skip

# Without a network npm would try again for minutes before it says so.
_STEPS = (
    ("npm ci", ("ci", "--no-audit", "--no-fund", "--fetch-retries=1"), "fetching its packages"),
    ("npm run build", ("run", "build"), "building it"),
)


def web_page(source: Source, cache: Cache, progress: Progress = silent) -> Path:
    """Return the folder of the page that belongs to ``source``, for ``--path``; minutes when npm makes it, once.

    ``BuildError`` names every way that was tried, and why it failed.
    """
    found = ways(lambda name: (source.path / name).is_file())
    if found and found[0].how is How.TREE:
        return source.path / found[0].place
    if not found:
        raise BuildError(f"the tree of {source.label} holds neither a page nor what one is made from")
    recipe = {"name": source.label, "source": source.identity}
    return cache.entry("ui", recipe, lambda entry: _make(source, found, entry, progress), progress) / _PAGE


def _make(source: Source, found: tuple[Way, ...], entry: Path, progress: Progress) -> None:
    """Go the ways in turn until one has made the page."""
    failures = []
    for way in found:
        try:
            with _workshop(entry) as work:
                made = _MAKERS[way.how](source, way.place, work, progress)
                shutil.move(made, entry / _PAGE)
        except BuildError as error:
            failures.append(str(error))
        else:
            return
    raise BuildError("; ".join(failures))


@contextmanager
def _workshop(entry: Path) -> Iterator[Path]:
    """A folder beside the page that is gone in the end: what npm installs is a hundred times larger than a page."""
    with tempfile.TemporaryDirectory(dir=entry, prefix="work-") as folder:
        yield Path(folder)


def _by_npm(source: Source, package: str, work: Path, progress: Progress) -> Path:
    """Make the page in a copy of the package, at the same place as in the tree: old ones write beside themselves."""
    npm = shutil.which("npm")
    if npm is None:
        raise BuildError("there is no npm to make one with (apt install npm, or nodejs.org)")
    copy, log = work / package, work.parent / _LOG
    shutil.copytree(source.path / package, copy, ignore=shutil.ignore_patterns("node_modules"))
    told = npm_environment(source.label, str(work / package / "dist"))
    environment = child_environment(_ENVIRONMENT, told)
    for name, words, doing in _STEPS:
        progress(f"web page of {source.label}: {doing} ({name})")
        returncode = run_logged([npm, *words], environment, copy, log, lambda _: None)
        if returncode != 0:
            raise BuildError(f"{name} {ending(returncode)} ({_reason(log)}its log: {log})")
    made = [work / folder for folder in outputs(package) if (work / folder / INDEX).is_file()]
    if not made:
        raise BuildError(f"npm run build made no {INDEX} (its log: {log})")
    return made[0]


def _reason(log: Path) -> str:
    """What npm gives as the reason, if it does."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = next((line.strip() for line in lines if line.startswith(("npm error", "npm ERR!"))), "")
    return f"{said}; " if said else ""


def _by_download(source: Source, script: str, work: Path, progress: Progress) -> Path:
    """Let the tree's script fetch what was published for its release, or for the latest."""
    progress(f"web page of {source.label}: downloading it")
    options = download_options(str(source.path), source.label, str(work))
    command = [find_tools().cmake, *options, "-P", str(source.path / script)]
    try:
        done = run_text(command, child_environment(_ENVIRONMENT), timeout_s=_DOWNLOAD_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"the download was not done within {_DOWNLOAD_TIMEOUT_S:.0f} s") from error
    # Not its exit status: what some builds do with the page afterwards needs programs that are not compiled here.
    if not (work / _PAGE / INDEX).is_file():
        said = [line.strip("- ") for line in (done.stdout + done.stderr).splitlines() if "failed:" in line]
        raise BuildError(f"the hub gave none ({said[0] if said else ending(done.returncode)})")
    return work / _PAGE


_MAKERS: Mapping[How, Callable[[Source, str, Path, Progress], Path]] = MappingProxyType(
    {How.NPM: _by_npm, How.HUB: _by_download}
)
