"""``pytest-mtp history``: the runs that ``--mtp-history`` keeps.

list shows every run, show RUN one of them, export writes all series as CSV or JSON, import takes the files of
pytest-benchmark, mtp-bench.py and speed_bench.py, prune removes old runs. A run is named by the beginning of its file's
name. 1: the folder holds files that are no runs; they are named and left alone.
"""

import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mtp.errors import InputError, SettingsError
from pytest_mtp.options import add_plain

if TYPE_CHECKING:
    from pytest_mtp.runtime.history import History, Loaded

HELP = "list, show, export, import or prune the runs that --mtp-history keeps"
DEFAULT = Path("history")
_UNREADABLE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take what is done, and to which folder."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, (text, _) in _ACTIONS.items():
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        action.add_argument(
            "--history", type=Path, default=DEFAULT, metavar="DIR", help="the folder (default: %(default)s)"
        )
        add_plain(action, "cache-dir")
        if name in _ARGUMENTS:
            _ARGUMENTS[name](action)


def run(parsed: argparse.Namespace) -> int:
    """Do it; 1 where files of the folder could not be read."""
    from pytest_mtp.options import plain_settings
    from pytest_mtp.runtime.history import History

    history = History(parsed.history.expanduser(), plain_settings(parsed).cache_dir)
    return _ACTIONS[parsed.action][1](parsed, history)


def _list(_: argparse.Namespace, history: "History") -> int:
    from pytest_mtp.reports.history_table import table

    loaded = history.load()
    if not loaded.entries and not loaded.unreadable:
        _say(f"{history.folder} holds no runs; `pytest --mtp --mtp-history {history.folder}` keeps one.")
        return 0
    _say(*table(loaded.entries, loaded.unreadable, shutil.get_terminal_size().columns))
    return _UNREADABLE if loaded.unreadable else 0


def _show(parsed: argparse.Namespace, history: "History") -> int:
    from pytest_mtp.reports.history_table import details

    loaded = history.load()
    exact = [entry for entry in loaded.entries if entry.run == parsed.run]
    found = exact or [entry for entry in loaded.entries if entry.run.startswith(parsed.run)]
    if len({entry.run for entry in found}) != 1:
        said = f"{len({entry.run for entry in found}) or 'no'} runs begin with {parsed.run}"
        raise InputError(f"In {history.folder} {said}; `pytest-mtp history list` names them.")
    _say(*details(found))
    return _named(loaded)


def _export(parsed: argparse.Namespace, history: "History") -> int:
    from pytest_mtp.core.history import series_of
    from pytest_mtp.reports.history_table import csv_of, json_of
    from pytest_mtp.runtime.store import write_text

    loaded = history.load()
    series = series_of(loaded.entries)
    text = csv_of(series) if parsed.format == "csv" else json_of(series)
    if parsed.output is None:
        sys.stdout.write(text)
    else:
        write_text(parsed.output, text)
    return _named(loaded)


def _import(parsed: argparse.Namespace, history: "History") -> int:
    from pytest_mtp.core.imported import Origin, Pair, imported

    files = _files(parsed.files)
    documents = {arm: _document(path) for arm, path in files.items()}
    document = Pair(documents["plain"], documents["mtp"]) if len(documents) > 1 else next(iter(documents.values()))
    stem = files.get("mtp", next(iter(files.values()))).stem
    digest = hashlib.sha256("".join(map(repr, documents.values())).encode()).hexdigest()[:6]
    origin = Origin(
        run=f"{stem}-{digest}", at=parsed.at, profile=parsed.of_profile, flag_set=parsed.of_flag_set,
        build=parsed.build, machine=dict(parsed.machine),
    )  # fmt: skip
    entries = imported(document, origin)
    tool = entries[0].imported_from or "unknown"
    path = history.add_imported(entries, tool)
    _say(f"{len(entries)} entries of {tool} are kept in {path}; they are shown beside your runs and never judged.")
    return 0


def _prune(parsed: argparse.Namespace, history: "History") -> int:
    removed = history.prune(parsed.keep)
    _say(f"{len(removed)} runs removed, the newest {parsed.keep} of each profile kept.")
    return _named(history.load())


def _named(loaded: "Loaded") -> int:
    for one in loaded.unreadable:
        sys.stderr.write(f"pytest-mtp: {one.name} was left out: {one.why}\n")
    return _UNREADABLE if loaded.unreadable else 0


def _files(words: list[str]) -> dict[str, Path]:
    """``FILE``, or ``plain=FILE mtp=FILE``, by arm."""
    if len(words) == 1 and not words[0].startswith(("plain=", "mtp=")):
        return {"": Path(words[0])}
    found = {word.partition("=")[0]: Path(word.partition("=")[2]) for word in words if "=" in word}
    if set(found) != {"plain", "mtp"} or len(words) != len(found):
        raise SettingsError(f"{' '.join(words)}: give one file, or plain=FILE and mtp=FILE.")
    return found


def _document(path: Path) -> Any:
    from pytest_mtp.runtime.store import content_of

    try:
        return json.loads(content_of(path).decode())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be imported: {error}. Give a JSON file.") from error


def _fact(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of runs; give 1 or more")
    return int(text)


def _of_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="beginning of the run's name")


def _of_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("csv", "json"), default="csv", help="default: %(default)s")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to FILE (default: standard output)")


def _of_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="one file, or plain=FILE and mtp=FILE")
    parser.add_argument("--profile", dest="of_profile", default="imported", metavar="NAME", help="default: %(default)s")
    parser.add_argument("--flag-set", dest="of_flag_set", default="mtp", metavar="NAME", help="default: %(default)s")
    parser.add_argument(
        "--build", default="unknown", metavar="LABEL", help="llama.cpp that was measured, such as b9246"
    )
    parser.add_argument("--at", metavar="TIME", help="when, as 2026-05-06T12:00:00Z, where the file does not say it")
    parser.add_argument(
        "--machine", type=_fact, action="append", default=[], metavar="NAME=VALUE", help="a fact; repeatable"
    )


def _of_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", type=_count, required=True, metavar="N", help="runs to keep of each profile")


_ACTIONS: dict[str, tuple[str, Callable[[argparse.Namespace, "History"], int]]] = {
    "list": ("show every run, a line each", _list),
    "show": ("show one run", _show),
    "export": ("write all series as CSV or JSON", _export),
    "import": ("keep what pytest-benchmark, mtp-bench.py or speed_bench.py measured", _import),
    "prune": ("remove all but the newest runs", _prune),
}
_ARGUMENTS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "show": _of_show,
    "export": _of_export,
    "import": _of_import,
    "prune": _of_prune,
}


def _say(*lines: object) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
