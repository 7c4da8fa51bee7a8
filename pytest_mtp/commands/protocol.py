"""What every command of ``pytest-mtp`` has in common."""

import argparse
from typing import Protocol


class Command(Protocol):
    """One word behind ``pytest-mtp``; a module of this folder is one.

    Where one has ``PASSES_ON``, what is not known of its arguments is no error but in ``parsed.passed_on``.
    """

    HELP: str
    """What it does, in a few words."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Say what it takes."""

    def run(self, parsed: argparse.Namespace) -> int:
        """Do it; 0 is done, 1 is a finding. Raises MtpError, whose sentence the caller shows."""
