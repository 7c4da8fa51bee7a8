"""A mount that the kernel calls a network file system, served by this program: its locks are refused or never answered.

Run as ``python network_disk.py FOLDER refuse|silence|grant``; it says ``ready`` once the folder is mounted, and
the mount is dead when it ends. Files are empty and live in memory: enough for locks.
"""

import ctypes
import errno
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KIND = "fuse.sshfs"

_LIBC = ctypes.CDLL(None, use_errno=True)
_DETACH = 2
_PDEATHSIG = 1
_FLOCK_LOCKS = 1 << 10
_DIRECTORY, _FILE = 0o40755, 0o100644

_LOOKUP, _FORGET, _GETATTR, _SETATTR, _MKDIR, _UNLINK, _OPEN, _STATFS, _RELEASE = 1, 2, 3, 4, 9, 10, 14, 17, 18
_FLUSH, _INIT, _OPENDIR, _READDIR, _RELEASEDIR, _SETLK, _SETLKW, _ACCESS, _CREATE = 25, 26, 27, 28, 29, 32, 33, 34, 35
_INTERRUPT, _BATCH_FORGET = 36, 42
_UNANSWERED = {_FORGET, _BATCH_FORGET, _INTERRUPT}
_DONE = {_UNLINK, _FLUSH, _RELEASE, _RELEASEDIR, _ACCESS, _READDIR}
_NAME_AT = {_LOOKUP: 0, _MKDIR: 8, _CREATE: 16}


def _mount(folder: str) -> int:
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    if _LIBC.mount(b"host:/export", os.fsencode(folder), KIND.encode(), 0, options.encode()) != 0:
        raise SystemExit(os.strerror(ctypes.get_errno()))
    return device


class _Disk:
    """Names and modes of what was made; nodes count from the root's 1."""

    def __init__(self, locks: str) -> None:
        self.locks = locks
        self.nodes: dict[tuple[int, str], int] = {}
        self.modes = {1: _DIRECTORY}

    def answer(self, operation: int, node: int, body: bytes) -> bytes | int | None:
        """The answer's body, a number of errno, or ``None`` for no answer."""
        if operation in _UNANSWERED or (operation in {_SETLK, _SETLKW} and self.locks == "silence"):
            return None
        if operation == _INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, _FLOCK_LOCKS, 8, 8, 65536, 1, 1, 0, 0)
        if operation in {_SETLK, _SETLKW}:
            return b"" if self.locks == "grant" else errno.ENOLCK
        if operation in _DONE:
            return b""
        return self._of_files(operation, node, body)

    def _of_files(self, operation: int, node: int, body: bytes) -> bytes | int:
        if operation in {_GETATTR, _SETATTR}:
            return struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        if operation in {_OPEN, _OPENDIR}:
            return bytes(16)
        if operation == _STATFS:
            return bytes(80)
        if operation not in _NAME_AT:
            return errno.ENOTSUP
        name = os.fsdecode(body[_NAME_AT[operation] :].split(b"\0")[0])
        if operation == _LOOKUP and (node, name) not in self.nodes:
            return errno.ENOENT
        child = self.nodes.setdefault((node, name), len(self.modes) + 1)
        self.modes.setdefault(child, _DIRECTORY if operation == _MKDIR else _FILE)
        entry = struct.pack("<QQQQII", child, 0, 0, 0, 0, 0) + self._attributes(child)
        return entry + bytes(16) if operation == _CREATE else entry

    def _attributes(self, node: int) -> bytes:
        return struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, self.modes[node], 1, 0, 0, 0, 4096, 0)


def _serve(device: int, disk: _Disk) -> None:
    while True:
        request = os.read(device, 1 << 20)
        _, operation, unique, node = struct.unpack_from("<IIQQ", request)
        answer = disk.answer(operation, node, request[40:])
        if answer is None:
            continue
        error, body = (-answer, b"") if isinstance(answer, int) else (0, answer)
        os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


@contextmanager
def network_disk(folder: Path, locks: str) -> Iterator[Path]:
    """A folder on such a mount, until the block ends; ``OSError`` where nothing can be mounted."""
    folder.mkdir()
    command = [sys.executable, __file__, str(folder), locks]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            if server.stdout.readline() != "ready\n":
                raise OSError(server.stderr.read().strip())
            yield folder
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait()
            _LIBC.umount2(os.fsencode(folder), _DETACH)


if __name__ == "__main__":
    # Who waits in the kernel for a lock of this disk can no longer end it.
    _LIBC.prctl(_PDEATHSIG, int(signal.SIGKILL))
    _device = _mount(sys.argv[1])
    print("ready", flush=True)  # noqa: T201
    _serve(_device, _Disk(sys.argv[2]))
