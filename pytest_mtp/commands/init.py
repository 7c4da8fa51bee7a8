"""``pytest-mtp init``: begin the gate of a repository of your own: a suite, a profile and a workflow, to be changed.

Nothing that is there is overwritten: where one of the files is there already, none is written.
"""

import argparse
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pytest_mtp.errors import InputError
from pytest_mtp.option_table import CPU_PROFILE, GPU_PROFILE

HELP = "write a suite, a profile and a workflow of your own into a repository"

SUITE, PROFILE, WORKFLOW = "mtp/test_own.py", "mtp/profile.toml", ".github/workflows/mtp.yml"
_PACKAGE = Path(__file__).parents[1]
_NAME, _DESCRIPTION = (re.compile(rf"^{key} = .*$", re.MULTILINE) for key in ("name", "description"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the folder, and the profile that is copied."""
    parser.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="top of the repository (default: .)")
    parser.add_argument(
        "--profile",
        dest="copied",
        default=CPU_PROFILE,
        metavar="NAME",
        help=f"shipped profile to copy, such as {GPU_PROFILE} (default: {CPU_PROFILE}, the embedded model on the CPU)",
    )


def run(parsed: argparse.Namespace) -> int:
    """Write the three files, and say what comes next."""
    from pytest_mtp.option import folder

    top = folder(parsed.folder)
    gpu = _on_a_card(parsed.copied)
    files = written(parsed.copied, gpu=gpu)
    _refuse_what_is_there(top, files)
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:  # never over what came in between
            file.write(text)
    sys.stdout.write(_next(parsed.folder, parsed.copied, gpu=gpu))
    return 0


def written(copied: str, *, gpu: bool) -> Mapping[str, str]:
    """The files by name below the top of the repository."""
    return {
        SUITE: _text("templates/test_own.py"),
        PROFILE: own_profile(copied, _text(f"profiles/{copied}.toml")),
        WORKFLOW: _text(f"templates/{'gpu' if gpu else 'cpu'}.yml"),
    }


def own_profile(copied: str, text: str) -> str:
    """The shipped profile under a name of its own, since baselines are kept under the name."""
    text = _NAME.sub(f'name = "own-{copied}"', text, count=1)
    text = _DESCRIPTION.sub(f'description = "A copy of {copied}, to be changed."', text, count=1)
    return f"# A copy of the profile {copied}, by pytest-mtp init, to be changed.\n{text}"


def _on_a_card(copied: str) -> bool:
    """Whether the profile is for a card; InputError where it is none that ships, or needs no llama.cpp."""
    from pytest_mtp.core.build_spec import Backend
    from pytest_mtp.core.served_tables import Serving
    from pytest_mtp.runtime.profiles import load_profile, shipped

    fit = [one for one in shipped() if load_profile(one).serving is Serving.LLAMA_CPP]
    if copied not in fit:
        raise InputError(f"--profile {copied} is no shipped profile of llama.cpp: copy one of {', '.join(fit)}.")
    return load_profile(copied).build.backend is not Backend.CPU


def _refuse_what_is_there(top: Path, files: Mapping[str, str]) -> None:
    there = [str(top / name) for name in files if os.path.lexists(top / name)]
    if there:
        raise InputError(
            f"Nothing was written, since nothing is overwritten: {', '.join(there)} "
            f"{'is' if len(there) == 1 else 'are'} there already. Move them away, or name another folder."
        )


def _text(name: str) -> str:
    return (_PACKAGE / name).read_text(encoding="utf-8")


def _next(folder: str, copied: str, *, gpu: bool) -> str:
    from pytest_mtp.reports.escaping import one_line

    gate = f"pytest-mtp gate mtp{' --mtp-gpu' if gpu else ''} --mtp-profile={PROFILE} --mtp-baselines=mtp/baselines"
    return (
        f"Written into {one_line(folder)}:\n"
        f"  {SUITE}  what you demand beside the suites that ship\n"
        f"  {PROFILE}  a copy of {copied}; outside of a llama.cpp, its source is what is measured\n"
        f"  {WORKFLOW}  measures every pull request\n"
        "Next, in that folder:\n"
        f"  pytest-mtp profile check {PROFILE}\n"
        f"  {gate}\n"
        "Then record what this machine gives, and commit mtp/ and .github/:\n"
        f"  {gate} --mtp-update-baselines=new\n"
    )
