"""``pytest-mtp cache list|prune|verify``: what is kept for the next run, what of it may go, and what is broken."""

import argparse
import sys
from typing import TYPE_CHECKING

from pytest_mtp.errors import SettingsError
from pytest_mtp.options import add_plain, plain_settings

if TYPE_CHECKING:
    from pytest_mtp.core.upkeep import Rule
    from pytest_mtp.runtime.cache import Cache

HELP = "list what is kept for the next run, remove what is no longer used, or check it"

_WIDTH = 80
_DAY_S = 86400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take one of three words, each with the cache's folder."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|prune|verify")
    actions.add_parser("list", help="every entry with its size and when it was last used").set_defaults(act=_list)
    prune = actions.add_parser("prune", help="remove entries, and leftovers of what failed; those in use stay")
    prune.add_argument("--keep", type=int, metavar="N", help="let the N last used entries of each kind stay")
    prune.add_argument("--older-than", type=float, metavar="DAYS", help="let entries stay that were used since then")
    prune.add_argument(
        "--kind", action="append", metavar="KIND", help="only this kind, such as build; repeatable (default: all)"
    )
    prune.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")
    prune.set_defaults(act=_prune)
    actions.add_parser("verify", help="1 when an entry is broken; starts every build once").set_defaults(act=_verify)
    for action in actions.choices.values():
        add_plain(action, "cache-dir")


def run(parsed: argparse.Namespace) -> int:
    """Do what was asked; 1 when an entry is broken."""
    status: int = parsed.act(parsed)
    return status


def _cache(parsed: argparse.Namespace) -> "Cache":
    from pytest_mtp.runtime.cache import Cache

    return Cache(plain_settings(parsed).cache_dir)


def _list(parsed: argparse.Namespace) -> int:
    from pytest_mtp.reports.cache import table
    from pytest_mtp.runtime.upkeep import entries

    cache = _cache(parsed)
    for line in table(entries(cache), str(cache.root), _WIDTH):
        sys.stdout.write(f"{line}\n")
    return 0


def _prune(parsed: argparse.Namespace) -> int:
    import time

    from pytest_mtp.core.upkeep import prunable
    from pytest_mtp.reports.cache import removals
    from pytest_mtp.runtime.upkeep import entries, prune

    cache, rule = _cache(parsed), _rule(parsed)
    found = entries(cache)
    kinds = sorted({one.kind for one in found})
    if found and (unknown := sorted(rule.kinds - set(kinds))):
        raise SettingsError(f"The cache has no entries of the kind {unknown[0]!r}; it has {', '.join(kinds)}.")
    results = prune(cache, prunable(found, rule, time.time()), dry_run=parsed.dry_run)
    for line in removals(results, dry_run=parsed.dry_run):
        sys.stdout.write(f"{line}\n")
    return 0


def _rule(parsed: argparse.Namespace) -> "Rule":
    from pytest_mtp.core.upkeep import Rule

    for name, value in (("--keep", parsed.keep), ("--older-than", parsed.older_than)):
        if value is not None and not value >= 0:
            raise SettingsError(f"{name} is {value}; it is 0 or more.")
    older_than_s = None if parsed.older_than is None else parsed.older_than * _DAY_S
    return Rule(keep=parsed.keep, older_than_s=older_than_s, kinds=frozenset(parsed.kind or ()))


def _verify(parsed: argparse.Namespace) -> int:
    from pytest_mtp.reports.cache import findings
    from pytest_mtp.runtime.soundness import flaws

    cache = _cache(parsed)
    said = False
    for line in findings(flaws(cache), str(cache.root)):
        sys.stdout.write(f"{line}\n")
        said = True
    if not said:
        sys.stdout.write(f"Nothing is wrong in {cache.root}.\n")
    return int(said)
