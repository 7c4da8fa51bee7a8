"""What is published, made from the tree as git would hand it on, and read as it came out."""

import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Built:
    """The two files that a release uploads, and the wheel that comes out of the sdist alone."""

    wheel: Path
    sdist: Path
    wheel_of_sdist: Path


def uv(*arguments: str | Path) -> str:
    """What uv says; from its cache, and from the index where that lacks something, as the first time on a machine."""
    for network in (("--offline",), ()):
        done = subprocess.run([find_uv_bin(), *network, *arguments], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
    raise AssertionError(done.stderr)


def export(folder: Path) -> None:
    """Put the files that git has, or would take, into a folder: no cache and no build output comes along."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        if (ROOT / name).is_file():  # else it is deleted, and that is not committed yet
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def build(tree: Path, out: Path) -> Built:
    """Build as a release does, and once more from the sdist."""
    uv("build", "--quiet", "--sdist", "--wheel", "--out-dir", out, tree)
    wheel, sdist = next(out.glob("*.whl")), next(out.glob("*.tar.gz"))
    uv("build", "--quiet", "--wheel", "--out-dir", out / "again", sdist)
    return Built(wheel, sdist, next((out / "again").glob("*.whl")))


def in_wheel(wheel: Path) -> Mapping[str, bytes]:
    """Every file of a wheel, with what it holds."""
    with zipfile.ZipFile(wheel) as opened:
        return {one.filename: opened.read(one) for one in opened.infolist() if not one.is_dir()}


def in_sdist(sdist: Path) -> Mapping[str, bytes]:
    """Every file of a sdist, named from its only folder on."""
    with tarfile.open(sdist) as opened:
        held = {one.name.partition("/")[2]: opened.extractfile(one) for one in opened.getmembers() if one.isfile()}
        return {name: stream.read() for name, stream in held.items() if stream is not None}


def metadata(wheel: Path) -> Message:
    """What an index shows of a wheel."""
    return BytesParser().parsebytes(next(text for name, text in in_wheel(wheel).items() if name.endswith("/METADATA")))
