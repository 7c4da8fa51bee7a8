"""What a bisect has measured so far, on disk, so that an interrupted one goes on where it was."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pytest_mtp.core.run_report import RunReport
from pytest_mtp.errors import InputError, SettingsError
from pytest_mtp.runtime.store import content_of, load_report, write_json, write_text

T = TypeVar("T")

_MEND = "Restore it, or remove its folder to begin anew."
_LONGEST_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, for the process of a step, which is started by git."""

    good: str
    """Source text of the good end, by its full sha or version; every measurement is a comparison with it."""
    bad: str
    """Name of the bad end: a full sha or a version."""
    measured: str
    """Digest of everything else that a measurement depends on: two bisects that share it share their measurements."""
    words: Mapping[str, Any]
    """The parsed command line."""
    folder: str
    """Where it was typed, which its relative paths start from."""


@dataclass(frozen=True, slots=True)
class BisectState:
    """A folder of measurements; NAME is a full sha or a version.

    ::

        FOLDER/bisect.json    what is asked
        FOLDER/NAME.json      the report of that candidate beside the good end
        FOLDER/NAME.txt       instead: why there is none, such as the compiler's last words
        FOLDER/took.json      seconds that each of them took
        FOLDER/worktree/      git's, while it runs; empty of files
        FOLDER/git.log        what git said
        FOLDER/stopped.txt    why a step could not go on
    """

    folder: Path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep another bisect out of the folder; SettingsError where one is in it."""
        from filelock import FileLock, Timeout

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / "bisect.lock")
            lock.acquire(timeout=0)
        except Timeout as error:
            raise SettingsError(f"Another bisect works in {self.folder}: wait for it, or give --state DIR.") from error
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error}. Give another folder with --state.") from error
        try:
            yield
        finally:
            lock.release()

    def ask(self, question: Question) -> None:
        """Put the question on record; SettingsError where the folder's measurements are of something else."""
        path = self._question
        if path.exists() and (old := self.question()).measured != question.measured:
            raise SettingsError(
                f"{self.folder} holds measurements against {old.good} with other settings or of another class: "
                "give another --state, or remove it."
            )
        self.stopped(None)
        write_json(path, asdict(question))

    def question(self) -> Question:
        """What is asked; InputError where nobody asked here."""
        return _read(self._question, Question)

    @property
    def _question(self) -> Path:
        return self.folder / "bisect.json"

    def report(self, name: str) -> RunReport | str | None:
        """What was measured, or why nothing could be; ``None`` while neither is known."""
        if (path := self.folder / f"{name}.json").is_file():
            return load_report(path)
        return _words(self.folder / f"{name}.txt")

    def keep(self, name: str, found: RunReport | str, took_s: float) -> None:
        """Put a measurement on record, or why there is none."""
        write_json(self.folder / "took.json", {**self.took_s(), name: took_s})
        if isinstance(found, RunReport):
            write_json(self.folder / f"{name}.json", found)
        else:
            write_text(self.folder / f"{name}.txt", f"{found}\n")

    def took_s(self) -> dict[str, float]:
        """How long each measurement took, its compiling included."""
        path = self.folder / "took.json"
        took = _read(path, dict[str, float]) if path.exists() else {}
        if not all(0 <= one <= _LONGEST_S for one in took.values()):
            raise InputError(f"{path} holds a time that is none. {_MEND}")
        return took

    @property
    def worktree(self) -> Path:
        """Where git walks."""
        return self.folder / "worktree"

    @property
    def log(self) -> Path:
        """Where git's words go."""
        return self.folder / "git.log"

    def stopped(self, why: str | None) -> None:
        """Leave the sentence of a step that could not go on, for the process that git's was started by."""
        path = self.folder / "stopped.txt"
        if why is None:
            path.unlink(missing_ok=True)
        else:
            write_text(path, f"{why}\n")

    def why_stopped(self) -> str | None:
        """That sentence; ``None`` where no step left one."""
        return _words(self.folder / "stopped.txt")


def _words(path: Path) -> str | None:
    """What was written down in words; ``None`` where there is nothing."""
    try:
        return content_of(path).decode(errors="replace").strip()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}. {_MEND}") from error


def _read(path: Path, kind: type[T]) -> T:
    import msgspec

    try:
        return msgspec.json.decode(content_of(path), type=kind)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error!s:.500}. {_MEND}") from error
