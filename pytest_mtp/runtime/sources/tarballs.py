"""``tarfile`` with the filters of PEP 706, which keep an archive inside its folder: Debian 12's Python has none yet."""

import tarfile
from typing import TYPE_CHECKING

if not TYPE_CHECKING and not hasattr(tarfile, "data_filter"):
    from backports import tarfile

__all__ = ["tarfile"]
