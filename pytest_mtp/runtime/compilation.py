"""One run of CMake and the compiler, told as it goes, of which only the binaries stay."""

import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.build_spec import Backend, Options
from pytest_mtp.core.source import Source
from pytest_mtp.core.toolchain import Launcher, jobs, suggestion
from pytest_mtp.core.upkeep import MIRROR
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime.child import child_environment, ending, run_logged
from pytest_mtp.runtime.launcher import launcher_options, launching
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.sandbox import Opening, Sandbox, confined, tool_files
from pytest_mtp.runtime.toolchain import ENVIRONMENT, Tools, compilers_of, find_nvcc

_EXCERPT_LINES = 20
_LINES_BEFORE_ERROR = 3
_LINE_WIDTH = 300
_PROGRESS_PAUSE_S = 1.0
_MINUTE_S = 60

_STEP = re.compile(r"\[\s*(?:(?P<done>\d+)/(?P<total>\d+)|(?P<percent>\d+)%)\]")
_ERROR = re.compile(r"(?:^|\s)error:|^CMake Error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """Compile ``targets`` of a source in a folder.

    ::

        FOLDER/bin/    the targets, and libraries when they are shared; this stays
        FOLDER/tree/   CMake's; removed in the end, since it is ten times as large
        FOLDER/src     a link to the source, removed too: as seen from ``tree`` every source has the
                       same path, so that ccache knows an unchanged file again in another commit
    """

    source: Source
    backend: Backend
    options: Options
    targets: tuple[str, ...]
    tools: Tools
    launcher: Launcher | None
    folder: Path
    log: Path
    sandbox: Sandbox | None = None
    """For code of strangers: it sees its source and the tools, and can write to ``tree`` alone."""

    def run(self, progress: Progress) -> None:
        """Configure, compile, keep the binaries; ``BuildError`` ends with the log's last words."""
        tree, link = self.folder / "tree", self.folder / "src"
        link.symlink_to(self.source.path, target_is_directory=True)
        tree.mkdir()
        try:
            if (slow := suggestion(self.launcher)) is not None:
                progress(slow)
            progress(f"configuring {self.source.label}")
            with launching(self.launcher, self.tools.launcher(self.launcher), self.folder) as told:
                self._step("Configuring", self._configure(tree, link), told, progress)
                self._step("Compiling", self._compile(tree), told, progress)
            self._keep(tree)
        finally:
            shutil.rmtree(tree, ignore_errors=True)
            link.unlink()

    def _configure(self, tree: Path, link: Path) -> list[str]:
        generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={self.tools.ninja}"] if self.tools.ninja else []
        launchers = launcher_options(self.tools.launcher(self.launcher))
        # The last word of a name counts, so the profile's come last.
        words = [*generator, *launchers, *self._cuda_compiler(), *(f"-D{name}={value}" for name, value in self.options)]
        # Unused variables are no fault: some options exist in some versions only, and are given to all.
        return [self.tools.cmake, "--no-warn-unused-cli", "-S", str(link), "-B", str(tree), *words]

    def _cuda_compiler(self) -> list[str]:
        """Name nvcc to CMake, which looks for it on the PATH only; CUDACXX, with its flags, is CMake's to read."""
        nvcc = find_nvcc() if self.backend is Backend.CUDA and not os.environ.get("CUDACXX") else None
        return [f"-DCMAKE_CUDA_COMPILER={nvcc}"] if nvcc else []

    def _compile(self, tree: Path) -> list[str]:
        """Name the program that compiles, without cmake around it: only a direct child dies with us."""
        return [self.tools.ninja or str(self.tools.make), "-C", str(tree), "-j", str(self._jobs()), *self.targets]

    def _jobs(self) -> int:
        import psutil

        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        asked = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL")
        return jobs(cores, psutil.virtual_memory().available, self.backend, asked)

    def _environment(self, told: Mapping[str, str]) -> Mapping[str, str]:
        # llama.cpp asks git for its commit; a repository around the cache must not answer.
        ceiling = {"GIT_CEILING_DIRECTORIES": str(self.source.path.resolve().parent)}
        return child_environment(ENVIRONMENT, {**ceiling, **told})

    def _step(self, what: str, command: list[str], told: Mapping[str, str], progress: Progress) -> None:
        narrator, tool = Narrator(f"building {self.source.label}", progress), Path(command[0]).name
        # Escaped is what a path holds beyond the letters of the locale; its own bytes are written again.
        with self.log.open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"$ {' '.join(command)}\n")
        command, seen = confined(
            self.sandbox and self.sandbox.compiling, command, self._environment(told), self._opening
        )
        returncode = run_logged(command, seen, self.folder, self.log, narrator.hear)
        if returncode != 0:
            text = self.log.read_text(encoding="utf-8", errors="replace")
            raise BuildError(
                f"{what} {self.source.label} failed ({tool} {ending(returncode)}). "
                f"From its log {self.log}:\n{excerpt(text)}"
            )

    @property
    def _opening(self) -> Opening:
        """The source without its own git folder, where a checkout of CI keeps a token."""
        source, tools = self.source.path.resolve(), self.tools
        compilers = (find_nvcc(self.options), *map(shutil.which, compilers_of(self.options)))
        readable = (*tool_files((tools.cmake, tools.ninja, tools.make, *compilers)), source, self.folder)
        git = source / ".git"
        return Opening(
            readable=(*readable, *self._history(git)),
            writable=(self.folder / "tree",),
            hidden=(git,) if git.is_dir() else (),
            folder=self.folder,
        )

    def _history(self, git: Path) -> tuple[Path, ...]:
        """The mirror of a worktree of our own, for the commit that llama.cpp compiles in; of no other."""
        if not git.is_file():
            return ()
        mirrors = (self.folder.parents[1] / MIRROR).resolve()
        place = Path(git.read_text(encoding="utf-8", errors="replace").removeprefix("gitdir: ").strip()).resolve()
        inside = place.relative_to(mirrors).parts if place.is_relative_to(mirrors) else ()
        return (mirrors / inside[0],) if inside else ()

    def _keep(self, tree: Path) -> None:
        kept = self.folder / "bin"
        kept.mkdir()
        for target in self.targets:
            made = next((one for one in (tree / "bin" / target, tree / target) if _made_in(tree, one)), None)
            if made is None:
                raise BuildError(
                    f"{self.source.label} compiled, but without making bin/{target}; is it a llama.cpp tree?"
                )
            shutil.copy2(made, kept)
        for library in sorted((tree / "bin").glob("*.so*")):
            shutil.copy2(library, kept, follow_symlinks=False)


def _made_in(tree: Path, target: Path) -> bool:
    """Whether it is a file of the tree; a link out of it would put another file of this machine into the cache."""
    return target.is_file() and target.resolve().is_relative_to(tree.resolve())


class Narrator:
    """Turns the lines of ninja and make into progress: when the step has changed, once a second at most."""

    def __init__(self, text: str, progress: Progress) -> None:
        self._text = text
        self._progress = progress
        self._started_s = self._spoken_s = time.monotonic()
        self._step = ""

    def hear(self, line: str) -> None:
        """Take one line of output."""
        match = _STEP.match(line)
        if match is None:
            return
        now_s = time.monotonic()
        step = f"{match['done']}/{match['total']}" if match["done"] else f"{match['percent']}%"
        last = match["percent"] == "100" or match["done"] == match["total"] is not None
        due = not self._step or last or now_s - self._spoken_s >= _PROGRESS_PAUSE_S
        if step != self._step and due:
            self._step, self._spoken_s = step, now_s
            self._progress(f"{self._text}: {step}, {elapsed(now_s - self._started_s)}")


def elapsed(duration_s: float) -> str:
    """Say a duration as people do: ``8 s``, ``1 min 12 s``."""
    minutes, seconds = divmod(int(duration_s), _MINUTE_S)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def excerpt(log: str) -> str:
    """Return the twenty lines of a log that tell most: around the first error, else the last."""
    lines = [line[:_LINE_WIDTH] for line in log.splitlines()]
    first = next((i for i, line in enumerate(lines) if _ERROR.search(line)), len(lines))
    start = max(0, min(first - _LINES_BEFORE_ERROR, len(lines) - _EXCERPT_LINES))
    return "\n".join(lines[start : start + _EXCERPT_LINES])
