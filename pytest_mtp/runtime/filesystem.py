"""Whether a folder lies on another machine, where locks are not to be relied on."""

from pathlib import Path

from pytest_mtp.core.mount_table import file_system, is_network

MOUNTS = Path("/proc/self/mountinfo")


def network_file_system(folder: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the network file system that holds ``folder``, such as ``nfs4``.

    ``None`` where it is on this machine, or where no table of mounts tells (only Linux has one).
    """
    try:
        # Mounts are named by bytes, and so are folders.
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
        place = str(folder.expanduser().absolute().resolve())
    except (OSError, RuntimeError):
        return None
    kind = file_system(place, table)
    return kind if kind is not None and is_network(kind) else None
