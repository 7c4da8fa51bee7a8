"""Unpack what was downloaded, inside one folder and nowhere else."""

import stat
import zipfile
import zlib
from pathlib import Path

from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.sources.tarballs import tarfile

_BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error)


def extract(archive: Path, folder: Path) -> None:
    """Unpack a tar or zip; ``SourceError`` when it is broken, or when a name or link leads outside of ``folder``."""
    try:
        packed = _as_tar(archive) if archive.suffix == ".zip" else archive
        with tarfile.open(packed) as tar:
            tar.extractall(folder, filter="data")
    except _BROKEN as error:
        raise SourceError(f"{archive.name} cannot be unpacked safely: {error}") from error


def _as_tar(archive: Path) -> Path:
    """Repack a zip as a tar, so that links stay links and one filter judges the names of both."""
    packed = archive.with_suffix(".tar")
    with zipfile.ZipFile(archive) as source, tarfile.open(packed, "w") as target:
        for info in source.infolist():
            with source.open(info) as data:
                member = _member(info)
                if member.issym():
                    member.linkname = data.read().decode("utf-8", "surrogateescape")
                target.addfile(member, data)
    return packed


def _member(info: zipfile.ZipInfo) -> tarfile.TarInfo:
    mode = info.external_attr >> 16
    member = tarfile.TarInfo(info.filename)
    member.mode = stat.S_IMODE(mode) or 0o755  # a zip made on Windows holds none
    if stat.S_ISLNK(mode):
        member.type = tarfile.SYMTYPE
    elif info.is_dir():
        member.type = tarfile.DIRTYPE
    else:
        member.size = info.file_size
    return member
