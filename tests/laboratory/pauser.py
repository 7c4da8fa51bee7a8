"""Stop a process for a share of every few milliseconds, until it ends: a thief of CPU time that is always as greedy.

Run as ``pauser.py PID SHARE``. The process is slower by 1 / (1 - SHARE), by its own clock too.
"""

import contextlib
import os
import signal
import sys
import time

_PERIOD_S = 0.02


def main(pid: int, share: float) -> None:
    """Take turns with the process; a stopped one is always set free again."""
    with contextlib.suppress(ProcessLookupError):
        while True:
            time.sleep(_PERIOD_S * (1 - share))
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(_PERIOD_S * share)
            finally:
                os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
