"""One run of CMake and the compiler, told as it goes, of which only the binaries stay."""

import os
import re
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.build_spec import Options
from pytest_mtp.core.source import Source
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime.child import child_environment, ending, run_logged
from pytest_mtp.runtime.progress import Progress

KEYED = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CUDAARCHS", "CUDACXX", "CUDAFLAGS", "CUDAHOSTCXX")
"""Variables that change what is compiled."""

ENVIRONMENT = (
    *KEYED, "PATH", "HOME", "LANG", "LC_*", "TMPDIR", "CUDA*", "GGML_*", "CCACHE_*", "LD_LIBRARY_PATH", "VULKAN_SDK",
    "ROCM_*", "HIP*", "*_proxy", "*_PROXY", "SSL_CERT_*",
)  # fmt: skip
"""Variables that a compiler sees."""

_EXCERPT_LINES = 20
_LINES_BEFORE_ERROR = 3
_LINE_WIDTH = 300
_PROGRESS_PAUSE_S = 1.0
_MINUTE_S = 60

_STEP = re.compile(r"\[\s*(?:(?P<done>\d+)/(?P<total>\d+)|(?P<percent>\d+)%)\]")
_ERROR = re.compile(r"(?:^|\s)error:|^CMake Error")


@dataclass(frozen=True, slots=True)
class Tools:
    """Paths of what compiles; ``None`` for what is not there and not needed."""

    cmake: str
    ninja: str | None
    ccache: str | None


def find_tools() -> Tools:
    """Look on the PATH, then beside this Python, where the wheels of the ``build`` extra put theirs."""
    cmake, ninja = _which("cmake"), _which("ninja")
    if cmake is None:
        raise BuildError("There is no cmake; run: pip install 'pytest-mtp[build]' (or: apt install cmake ninja-build).")
    if ninja is None and _which("make") is None:
        raise BuildError(
            "There is neither ninja nor make; run: pip install 'pytest-mtp[build]' (or: apt install make)."
        )
    return Tools(cmake, ninja, _which("ccache"))


def _which(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


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
    options: Options
    targets: tuple[str, ...]
    tools: Tools
    folder: Path
    log: Path

    def run(self, progress: Progress) -> None:
        """Configure, compile, keep the binaries; ``BuildError`` ends with the log's last words."""
        tree, link = self.folder / "tree", self.folder / "src"
        link.symlink_to(self.source.path, target_is_directory=True)
        try:
            progress(f"configuring {self.source.label}")
            self._step("Configuring", self._configure(tree, link), progress)
            self._step("Compiling", self._compile(tree), progress)
            self._keep(tree)
        finally:
            shutil.rmtree(tree, ignore_errors=True)
            link.unlink()

    def _configure(self, tree: Path, link: Path) -> list[str]:
        generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={self.tools.ninja}"] if self.tools.ninja else []
        launchers = [f"-DCMAKE_{one}_COMPILER_LAUNCHER={self.tools.ccache}" for one in ("C", "CXX", "CUDA", "HIP")]
        options = [f"-D{name}={value}" for name, value in self.options]
        ours = launchers if self.tools.ccache else []
        # Unused variables are no fault: some options exist in some versions only, and are given to all.
        return [self.tools.cmake, "--no-warn-unused-cli", "-S", str(link), "-B", str(tree), *generator, *ours, *options]

    def _compile(self, tree: Path) -> list[str]:
        """Name the program that compiles, without cmake around it: only a direct child dies with us."""
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(len(os.sched_getaffinity(0)))
        program = self.tools.ninja or str(_which("make"))
        return [program, "-C", str(tree), "-j", jobs, *self.targets]

    def _environment(self) -> Mapping[str, str]:
        return child_environment(
            ENVIRONMENT,
            {
                "CCACHE_BASEDIR": str(self.folder),
                # llama.cpp asks git for its commit; a repository around the cache must not answer.
                "GIT_CEILING_DIRECTORIES": str(self.source.path.resolve().parent),
            },
        )

    def _step(self, what: str, command: list[str], progress: Progress) -> None:
        narrator = Narrator(f"building {self.source.label}", progress)
        with self.log.open("a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(command)}\n")
        returncode = run_logged(command, self._environment(), self.folder, self.log, narrator.hear)
        if returncode != 0:
            text = self.log.read_text(encoding="utf-8", errors="replace")
            raise BuildError(
                f"{what} {self.source.label} failed ({Path(command[0]).name} {ending(returncode)}). "
                f"From its log {self.log}:\n{excerpt(text)}"
            )

    def _keep(self, tree: Path) -> None:
        kept = self.folder / "bin"
        kept.mkdir()
        for target in self.targets:
            made = next((one for one in (tree / "bin" / target, tree / target) if one.is_file()), None)
            if made is None:
                raise BuildError(
                    f"{self.source.label} compiled, but without making bin/{target}; is it a llama.cpp tree?"
                )
            shutil.copy2(made, kept)
        for library in sorted((tree / "bin").glob("*.so*")):
            shutil.copy2(library, kept, follow_symlinks=False)


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
