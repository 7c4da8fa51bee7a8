"""How a server without network is asked: by a socket in the one folder that it may write to."""

import os
import shutil
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from pytest_mtp.runtime.sandbox import DOOR

_NAME = "server.sock"
_PATIENCE_S = 5.0

HOST = str(DOOR / _NAME)
"""What the server is told to listen on."""


class Door:
    """The folder of a socket, gone with the ``with`` block.

    The socket is held by what it is: a link that is put in its place later leads nobody to another program's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held: int | None = None

    def __enter__(self) -> Self:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held is not None:
            os.close(self._held)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def path(self) -> str:
        """Leads to the socket once it is there, however long the folder's own path is."""
        return f"/proc/self/fd/{self._held}"

    def keeper(self) -> int | None:
        """The process that listens; ``None`` while nobody does."""
        with suppress(OSError), socket.socket(socket.AF_UNIX) as asking:
            self._hold()
            asking.settimeout(_PATIENCE_S)
            asking.connect(self.path)
            told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            return int(struct.unpack("3i", told)[0])
        return None

    def _hold(self) -> None:
        if self._held is not None:
            return
        found = os.open(self.folder / _NAME, os.O_PATH | os.O_NOFOLLOW)
        if not stat.S_ISSOCK(os.fstat(found).st_mode):
            os.close(found)
            raise FileNotFoundError(_NAME)
        self._held = found
