"""Where a llama.cpp tree has the web page of its server, or what it takes to make one.

The page needs no build of its own: a llama-server of any build serves a folder that ``--path`` names. So a
person is served by the binary that the gate measures, and nothing is compiled twice.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

INDEX = "index.html"

# By age, newest first: a page made by hand, by old CMake files, and the one that old trees carry.
_FINISHED = ("tools/ui/dist", "build/tools/ui/dist", "tools/server/public")
_PACKAGES = ("tools/ui", "tools/server/webui")
_DOWNLOADER = "scripts/ui-assets.cmake"
_BUCKET = "ggml-org/llama-ui"


class How(Enum):
    """How a page is had."""

    TREE = "tree"
    NPM = "npm"
    HUB = "hub"


@dataclass(frozen=True, slots=True)
class Way:
    """One way to the page of a tree."""

    how: How
    place: str
    """In the tree: the finished page's folder, the package's folder, or the script that downloads."""


def ways(holds: Callable[[str], bool]) -> tuple[Way, ...]:
    """Every way of a tree, in llama.cpp's own order; ``holds`` tells whether it has a file of that relative name."""
    finished = [Way(How.TREE, folder) for folder in _FINISHED if holds(f"{folder}/{INDEX}")]
    packages = [Way(How.NPM, folder) for folder in _PACKAGES if holds(f"{folder}/package-lock.json")]
    downloads = [Way(How.HUB, _DOWNLOADER)] if holds(_DOWNLOADER) else []
    return (*finished, *packages, *downloads)


def outputs(package: str) -> tuple[str, ...]:
    """Where the package in that folder of a tree may write its page, by age, as seen from the tree."""
    return (f"{package}/dist", *_FINISHED)


def npm_environment(label: str, folder: str) -> dict[str, str]:
    """What llama.cpp's CMake tells the package: where the page goes, and which release it shows."""
    release = _release(label)
    told = {"LLAMA_UI_OUT_DIR": folder, "LLAMA_UI_VERSION": release, "LLAMA_BUILD_NUMBER": release.removeprefix("b")}
    return {name: value for name, value in told.items() if value}


def download_options(tree: str, label: str, folder: str) -> tuple[str, ...]:
    """Have the tree's own script put the published page into ``folder``/dist, checked by its hash, and not run npm."""
    values = {
        "UI_SOURCE_DIR": f"{tree}/tools/ui",
        "UI_BINARY_DIR": folder,
        "LLAMA_SOURCE_DIR": tree,
        "HF_BUCKET": _BUCKET,
        "HF_VERSION": _release(label),
        "HF_ENABLED": "ON",
        "BUILD_UI": "OFF",
        "LLAMA_UI_GZIP": "OFF",
    }
    return tuple(f"-D{name}={value}" for name, value in values.items())


def _release(label: str) -> str:
    """The release that a source's label names; empty where it names none, and the script asks git."""
    match = re.match(r"b\d+\b", label)
    return match[0] if match else ""
