"""``pytest-mtp profile list|show|check``: what ships, what a profile comes to, and what is wrong with one."""

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.served_tables import Serving
from pytest_mtp.errors import SettingsError
from pytest_mtp.options import add_plain

HELP = "list the shipped profiles, show what one comes to, or check a file"

_WIDTH = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take one of three words, each with its own arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|show|check")
    actions.add_parser("list", help="the profiles that ship").set_defaults(act=_list)
    show = actions.add_parser("show", help="the effective profile, as TOML")
    show.add_argument("name", metavar="NAME|FILE", help="a shipped name or a TOML file")
    add_plain(show, "set")
    show.add_argument("--origin", action="store_true", help="say which file each value came from")
    show.set_defaults(act=_show)
    check = actions.add_parser("check", help="say everything that is wrong with profiles; 1 when anything is")
    check.add_argument("names", nargs="+", metavar="NAME|FILE", help="a shipped name or a TOML file")
    check.set_defaults(act=_check)


def run(parsed: argparse.Namespace) -> int:
    """Do what was asked; 1 when a checked profile has a problem."""
    status: int = parsed.act(parsed)
    return status


def _list(_parsed: argparse.Namespace) -> int:
    from pytest_mtp.reports.profile import listing
    from pytest_mtp.runtime.profiles import load_profile, shipped

    profiles = [load_profile(name) for name in shipped()]
    for line in listing([(profile, _model_bytes(profile)) for profile in profiles], _WIDTH):
        sys.stdout.write(f"{line}\n")
    return 0


def _show(parsed: argparse.Namespace) -> int:
    from pytest_mtp.reports.profile import as_toml
    from pytest_mtp.runtime.profiles import effective

    found = effective(parsed.name, parsed.mtp_set or ())
    sys.stdout.write(as_toml(found.profile, found.origins if parsed.origin else None))
    return 0


def _check(parsed: argparse.Namespace) -> int:
    status = 0
    for name in parsed.names:
        problems = list(_problems(name))
        status = status or int(bool(problems))
        for line in problems or [f"Profile {name}: no problem found."]:
            sys.stdout.write(f"{line}\n")
    return status


def _problems(name: str) -> Iterator[str]:
    """What stops it from being read, or else everything that would stop its first run."""
    from pytest_mtp.runtime.profiles import load_profile

    try:
        profile = load_profile(name)
    except SettingsError as error:
        yield from str(error).splitlines()
        return
    for use in _uses(profile):
        try:
            use()
        except SettingsError as error:
            yield f"Profile {name}: {error}"


def _uses(profile: Profile) -> Iterator[Callable[[], object]]:
    """What a run makes of the profile before it builds anything."""
    from pytest_mtp.core.source import parse_source

    if profile.serving is Serving.LLAMA_CPP:
        yield partial(parse_source, profile.source.spec)
        yield partial(_model, profile)
    for flag_set in profile.flag_sets:
        yield partial(profile.server_spec, flag_set, model="any", speculative=True)


def _model(profile: Profile) -> None:
    """Parse the model; for a phantom also its size, and that it knows every class."""
    from pytest_mtp.core.model import ModelKind, parse_model
    from pytest_mtp.runtime.models import phantom_spec

    model = parse_model(profile.model.spec)
    if model.kind is ModelKind.PHANTOM:
        phantom = phantom_spec(model, profile.model.phantom)
        for one in profile.classes:
            phantom.prompt(one.name)


def _model_bytes(profile: Profile) -> int | None:
    from pytest_mtp.core.model import ModelKind, parse_model
    from pytest_mtp.phantom.tensors import tensors
    from pytest_mtp.runtime.models import phantom_spec

    if profile.serving is not Serving.LLAMA_CPP or parse_model(profile.model.spec).kind is not ModelKind.PHANTOM:
        return profile.model.size
    model = parse_model(profile.model.spec)
    return sum(tensor.stored_bytes() for tensor in tensors(phantom_spec(model, profile.model.phantom)))
