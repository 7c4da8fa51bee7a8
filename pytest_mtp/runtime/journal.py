"""The finished blocks of a run that is not over: an end by force loses no more than the block it fell into.

::

    CACHE/unfinished/FLAGSET-HASH/                  HASH is over all that its blocks depend on
    CACHE/unfinished/FLAGSET-HASH/block-0003.json   one block of every side, written when it was finished
    CACHE/unfinished/FLAGSET-HASH/failures.json     which arm could not be measured at all, where that ended it
    CACHE/unfinished/FLAGSET-HASH.lock              held while a run measures the campaign
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_mtp.core.amount import counted
from pytest_mtp.core.sample import ArmFailure, Block, Campaign
from pytest_mtp.core.side import Side
from pytest_mtp.errors import CacheError, InputError
from pytest_mtp.runtime.cache import STAMP, Cache, Recipe, stamp
from pytest_mtp.runtime.progress import Progress, note
from pytest_mtp.runtime.store import load_value, write_json

KIND = "unfinished"
BLOCK_FORM = 1
"""Of the files; another form is another campaign."""

_MEND = "free space, or give another folder with --mtp-cache-dir"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBlock:
    """The file of one block."""

    started_at: str
    """When its campaign began, RFC 3339."""
    blocks: dict[Side, Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFailures:
    """The file of the arms that failed: a finding, which is not tried again until it is none."""

    started_at: str
    failures: dict[Side, tuple[ArmFailure, ...]]


@dataclass(slots=True, kw_only=True)
class Journal:
    """What is kept of one campaign; whoever holds it is alone with its folder."""

    folder: Path
    recipe: Recipe
    progress: Progress
    resume: bool
    """Whether what an interrupted run left is taken up; else it goes when the first block of this run comes."""
    kept: int = 0
    """How many blocks are on disk."""
    out_of_time: bool = False
    """Whether the campaign ended at a time limit, so that another run may go on with it."""
    _begun: bool = False
    _writes: bool = True

    def taken_up(self, empty: Mapping[Side, Campaign]) -> Mapping[Side, Campaign]:
        """The campaign as far as an interrupted run came, or ``empty``."""
        found, failed = list(self._files(set(empty))), self._failures()
        began = next((one.started_at for one in (*found, failed) if one is not None), None)
        if began is None:
            return empty
        if not self.resume:
            said = f"{counted(len(found), 'block')} of an interrupted run not taken up: resuming was not asked for"
            self.progress(note(said))
            return empty
        self._begun, self.kept = True, len(found)
        self._forget_from(len(found))
        self.progress(note(f"{counted(len(found), 'block')} of an interrupted run taken up"))
        return {
            side: replace(
                one,
                started_at=began,
                blocks=tuple(file.blocks[side] for file in found),
                failures=() if failed is None else failed.failures.get(side, ()),
                resumed=len(found),
            )
            for side, one in empty.items()
        }

    def keep(self, measured: Mapping[Side, Campaign]) -> None:
        """Put every block on disk that is not there yet; a disk that refuses is said once, and measuring goes on."""
        head = measured[Side.HEAD]
        try:
            while self._writes and self.kept < len(head.blocks):
                self._begin()
                blocks = {side: one.blocks[self.kept] for side, one in measured.items()}
                write_json(self._file(self.kept), KeptBlock(started_at=head.started_at, blocks=blocks))
                self.kept += 1
            if self._writes and any(one.failures for one in measured.values()):
                self._begin()
                failures = {side: one.failures for side, one in measured.items()}
                write_json(self._failed, KeptFailures(started_at=head.started_at, failures=failures))
        except (InputError, OSError) as error:
            self._writes = False
            self.progress(note(f"blocks are not kept to be resumed ({error}): {_MEND}"))

    def discard(self) -> None:
        """The run is over: nothing has to be taken up."""
        with suppress(OSError):
            (self.folder / STAMP).unlink()  # first of all: what is left without it is not taken up
        shutil.rmtree(self.folder, ignore_errors=True)
        self.kept = 0
        if (self.folder / STAMP).exists():
            self.progress(note(f"{self.folder} cannot be removed; delete it, or --mtp-resume would take it up"))

    def _begin(self) -> None:
        """Make room for what is not taken up."""
        if self._begun:
            return
        self._begun = True
        self.discard()
        self.folder.mkdir(parents=True)
        stamp(self.folder, self.recipe)

    @property
    def _failed(self) -> Path:
        return self.folder / "failures.json"

    def _failures(self) -> KeptFailures | None:
        """What failed, ``None`` where nothing did or it cannot be read: then the arm is tried again."""
        if not ((self.folder / STAMP).is_file() and self._failed.is_file()):
            return None
        try:
            return load_value(self._failed, KeptFailures)
        except InputError as error:
            self.progress(note(f"the arm that failed is started again: {error}"))
            return None

    def _file(self, index: int) -> Path:
        return self.folder / f"block-{index:04}.json"

    def _files(self, sides: set[Side]) -> Iterator[KeptBlock]:
        """What can be read, from the first block on: what comes after a gap has lost its place in the order."""
        index, first = 0, None
        while (self.folder / STAMP).is_file() and self._file(index).is_file():
            try:
                kept = load_value(self._file(index), KeptBlock)
            except InputError as error:
                self.progress(note(f"blocks from {index + 1} on are measured again: {error}"))
                return
            first = first or kept
            if not (sides <= set(kept.blocks) and kept.started_at == first.started_at and _sound(kept, index)):
                self.progress(note(f"blocks from {index + 1} on are measured again: they are of another campaign"))
                return
            yield kept
            index += 1

    def _forget_from(self, index: int) -> None:
        with suppress(OSError):  # what cannot be removed is overwritten, or the disk says so then
            for path in self.folder.glob("block-*.json"):
                if path.name >= self._file(index).name:
                    path.unlink()


def _sound(kept: KeptBlock, index: int) -> bool:
    """Whether it is the block of this place, with an answered start for every arm where it counts."""
    for block in kept.blocks.values():
        answered = {start.arm for start in block.starts if start.samples}
        if block.index != index or (block.invalid is None and not (answered and answered == set(block.order))):
            return False
    return True


@dataclass(slots=True, kw_only=True)
class Journals:
    """The journals of one run; ``keeping`` makes them and ends them."""

    cache: Cache
    resume: bool
    _open: list[Journal] = field(default_factory=list)
    _locks: ExitStack = field(default_factory=ExitStack)

    def of(self, recipe: Recipe, progress: Progress) -> Journal | None:
        """The journal of a campaign, held until the run ends; ``None`` where it cannot be had, which is said."""
        folder = self.cache.place(KIND, recipe)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            alone = self._locks.enter_context(self.cache.attempt(folder))
        except (CacheError, OSError) as error:
            progress(note(f"blocks are not kept to be resumed ({error}): {_MEND}"))
            return None
        if not alone:
            progress(note("another run measures the same: the blocks of this one are not kept to be resumed"))
            return None
        journal = Journal(folder=folder, recipe=recipe, progress=progress, resume=self.resume)
        self._open.append(journal)
        return journal

    def settle(self, name: str) -> None:
        """Forget what is kept of a flag set: it stands where it will be looked for from now on."""
        for one in self._open:
            if one.recipe["flag_set"] == name and not one.recipe["part"]:
                one.discard()

    def close(self, *, over: bool, whole: bool = False) -> int:
        """Let go of all of them, and tell how many blocks the next run may take up.

        None of a run that is over, has written what it found, and lacked no time for any of it; ``whole`` says that it
        counts as it is, out of time or not.
        """
        kept = 0
        for one in self._open:
            if over and (whole or not any(other.out_of_time for other in self._open)):
                one.discard()
            else:
                kept += one.kept
        self._locks.close()
        self._open.clear()
        return kept
