"""Which mistakes in the modules that decide would no test notice?

    make mutants                          all modules of the table below, some minutes on one core
    make mutants ARGS="judge tau"         only these
    make mutants ARGS="tau --list"        their mutants, without a test

Each module is changed in one place at a time (``<`` to ``<=``, 1 to 2, an argument left out, ...), and its tests run
against the changed one in a forked process. A mutant is killed by the first test that fails. Exit status: 1 where a
module's share of killed mutants is below 90 %, 2 where its tests fail without any mutant.

The changes are mutmut's, and the negation of every condition. mutmut's own runner leaves out decorated functions and
all that stands outside of functions: every property, every constant, the table of verdicts.
"""

# ruff: noqa: T201 - a command's output

import argparse
import difflib
import gc
import importlib
import importlib.machinery
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from libcst import matchers
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

ROOT = Path(__file__).parent.parent
CORE = ROOT / "pytest_mtp" / "core"
TESTS: dict[str, tuple[str, ...]] = {
    "verdict": ("test_verdict",),
    "class_verdict": ("test_class_verdict",),
    "judge": ("test_judgement", "test_judge", "test_recurrence"),
    "decision": ("test_decision",),
    "tau": ("test_tau",),
    "flags": ("test_flags", "test_flag_names"),
    "schedule": ("test_schedule",),
}
ENOUGH = 0.9
DEADLINE_S = 120
"""A mutant that loops for ever ends by then, and counts as killed: a hung test is noticed."""
WARM = ("pytest", "hypothesis.strategies", "httpx", "jsonschema", "msgspec", "numpy", "scipy.stats")
"""Imported once, before any fork; of the project itself nothing is, so that each child imports its mutant."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed source of a module."""

    line: int
    source: str
    diff: str


class _Changes(cst.CSTVisitor):
    """Collects what may be changed into what; annotations and decorators stay, since no test is about them."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom)) or _of_types(node):
            return False
        new = [one for kind, operator in mutation_operators if isinstance(node, kind) for one in operator(node)]
        if isinstance(node, cst.BaseString):
            new = new[:1]  # of three ways to spoil a text
        if isinstance(node, (cst.If, cst.IfExp, cst.CompIf)):
            new.append(node.with_changes(test=_negated(node.test)))
        if new:
            line = self.get_metadata(PositionProvider, node).start.line
            self.found.extend((line, node, one) for one in new)
        return True


def _of_types(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Assign) and matchers.matches(node.value, matchers.Call(func=matchers.Name("TypeVar")))


def _negated(test: cst.BaseExpression) -> cst.BaseExpression:
    bracketed = test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.UnaryOperation(operator=cst.Not(), expression=bracketed)


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module's source once, in the order of its lines."""
    wrapper, changes, seen = MetadataWrapper(cst.parse_module(source)), _Changes(), {source}
    wrapper.visit(changes)
    for line, old, new in changes.found:
        # By identity: two equal nodes in different places are two places.
        changed = wrapper.module.deep_replace(old, new).code
        if changed not in seen:
            seen.add(changed)
            yield Mutant(line, changed, _difference(source, changed))


def _difference(source: str, changed: str) -> str:
    lines = difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0, lineterm="")
    return "\n".join(f"    {one}" for one in lines if not one.startswith(("---", "+++", "@@")))


class _Mutated(importlib.machinery.SourceFileLoader):
    """Loads a module from a changed source; nothing of it is cached on disk."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self.source = source

    def get_code(self, fullname: str) -> object:
        return compile(self.source, self.path, "exec")


class _Finder:
    """Finds one module changed, and leaves all others to Python."""

    def __init__(self, module: str, source: str) -> None:
        self.name, self.path, self.source = f"pytest_mtp.core.{module}", str(CORE / f"{module}.py"), source

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=_Mutated(name, self.path, self.source))


def passes(module: str, source: str) -> bool:
    """Whether the module's tests pass with this source, in a child that loads it afresh."""
    if (pid := os.fork()) == 0:
        status = 1
        try:
            status = _tested(module, source)
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def _tested(module: str, source: str) -> int:
    import hypothesis
    import pytest

    signal.alarm(DEADLINE_S)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.meta_path.insert(0, _Finder(module, source))
    # Pure tests of pure modules: they want no plugin, and this project's own would import all of it.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # The same examples for every mutant, and none of a mutant's remembered for the next run.
    hypothesis.settings.register_profile("mutants", max_examples=30, derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("mutants")
    files = [f"tests/core/{name}.py" for name in TESTS[module]]
    # Pytest's own import hook would load the module from its file.
    return int(pytest.main(["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", *files]))


def examine(module: str, *, only_list: bool) -> float:
    """Tell the survivors of one module; the share that was killed."""
    source = (CORE / f"{module}.py").read_text()
    every = list(mutants(source))
    if only_list:
        for one in every:
            print(f"{module}.py:{one.line}\n{one.diff}")
        return 1.0
    if not passes(module, source):
        print(f"{module}: its tests fail without any mutant")
        sys.exit(2)
    began, survivors = time.monotonic(), []
    for one in every:
        if passes(module, one.source):
            survivors.append(one)
            print(f"{module}.py:{one.line} survived\n{one.diff}", flush=True)
    killed = len(every) - len(survivors)
    print(f"{module}: {killed} of {len(every)} killed ({killed / len(every):.1%}), {time.monotonic() - began:.0f} s")
    return killed / len(every)


def main() -> int:
    """Examine the modules that were named, else all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(TESTS)}; default: all")
    parser.add_argument("--list", action="store_true", help="show the mutants, test none")
    asked = parser.parse_args()
    if unknown := set(asked.modules) - set(TESTS):
        parser.error(f"no such module: {', '.join(sorted(unknown))}")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for name in WARM:
        importlib.import_module(name)
    gc.freeze()  # every run of pytest ends with collections, and nothing of what is there by now is garbage
    shares = [examine(module, only_list=asked.list) for module in asked.modules or TESTS]
    return 0 if min(shares) >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
