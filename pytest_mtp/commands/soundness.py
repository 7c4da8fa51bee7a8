"""Samples that somebody else stored: what cannot be computed from them is a sentence, as a file that cannot be read."""

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_mtp.errors import InputError, MtpError
from pytest_mtp.reports.escaping import one_line


@contextmanager
def judging(file: str) -> Iterator[None]:
    """Compute from the samples of this file; InputError says its name and what they lack."""
    try:
        yield
    except MtpError as error:
        raise InputError(one_line(f"{file} cannot be judged: {error}")) from error
    except (ArithmeticError, AssertionError, LookupError, ValueError, RuntimeError, StopIteration) as error:
        # Whatever a stranger's samples lack: arms, classes, answers, or numbers that a logarithm takes.
        why = f"{type(error).__name__}: {error}"
        raise InputError(
            one_line(f"{file} cannot be judged, its samples lack something: {why}. Restore it.")
        ) from error
