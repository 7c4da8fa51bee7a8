"""A pair of SSH keys for one pod: the account's keys stay as they are, and the person's stay at home."""

import shutil
import subprocess
from pathlib import Path

from pytest_mtp.errors import RentalError, SettingsError
from pytest_mtp.runtime.child import child_environment, run_text
from pytest_mtp.runtime.runpod.heed import check_interrupted

ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_*", "TMPDIR")
"""What ssh, ssh-keygen and rsync see; no agent, and no key of anything."""
_NEEDED = ("ssh", "ssh-keygen", "rsync")
_PATIENCE_S = 60.0


def check_programs() -> None:
    """SettingsError, before anything is paid, where a program lacks."""
    lacking = [name for name in _NEEDED if shutil.which(name) is None]
    if lacking:
        raise SettingsError(
            f"This machine has no {' and no '.join(lacking)}; a pod is entered by SSH and its results come by rsync. "
            "Install openssh-client and rsync."
        )


def make_key_pair(folder: Path) -> str:
    """The public half of the pair in ``folder``, which is made where it is not there."""
    key, public = folder / "key", folder / "key.pub"
    if not public.exists():
        key.unlink(missing_ok=True)
        words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", folder.name, "-f", str(key))
        try:
            made = run_text(words, child_environment(ENVIRONMENT), timeout_s=_PATIENCE_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RentalError(f"ssh-keygen makes no key: {error}. Nothing was rented.") from error
        check_interrupted()
        if made.returncode != 0:
            raise RentalError(f"ssh-keygen makes no key in {folder}: {made.stderr.strip()}. Nothing was rented.")
    return public.read_text(encoding="ascii").strip()
