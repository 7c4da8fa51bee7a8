"""The options, a row each: name, form, default and help."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.endpoint import KEY_VARIABLE
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.settings import Update, Vary, parse_duration
from pytest_mtp.core.tier import Tier
from pytest_mtp.option import Option, choice, file, folder, path, yes

CPU_PROFILE = "phantom"
GPU_PROFILE = "rtx3090-qwen3.6-27b"
RUNNING_PROFILE = "running-servers"

SWITCHES = {
    "mtp": "measure with the embedded profile on the CPU",
    "mtp-gpu": f"measure on a GPU, by default with {GPU_PROFILE}",
}
"""What turns the gate on, each with its help."""


def usual_profile(*, gpu: bool, attached: bool) -> str:
    """The profile of a run that names none; ``attached`` to servers that run already."""
    if attached:
        return RUNNING_PROFILE
    return GPU_PROFILE if gpu else CPU_PROFILE


_MEASURED = (
    Option(
        "profile",
        str,
        None,
        f"profile: a shipped name or a TOML file (default: {CPU_PROFILE}; of --mtp-gpu {GPU_PROFILE}; of "
        f"--mtp-endpoint {RUNNING_PROFILE})",
        "NAME|FILE",
        plain_help=f"profile: a shipped name or a TOML file (default: {CPU_PROFILE})",
    ),
    Option(
        "source",
        str,
        None,
        "llama.cpp under test: release:bN, sdist:VERSION, git:URL@REF, pr:N, dir:PATH or bin:PATH "
        "(default: the profile's)",
        "SOURCE",
    ),
    Option(
        "model",
        str,
        None,
        "model: phantom[:head=FAULT], hf:REPO/FILE[@REV] or a path (default: the profile's)",
        "MODEL",
    ),
    Option(
        "endpoint",
        str,
        (),
        "measure servers that run already: plain=URL and mtp=URL, of llama-server, vLLM, SGLang, Ollama or another "
        f"with OpenAI's API; a key in {KEY_VARIABLE} (default: servers are started)",
        "ARM=URL",
        many=True,
    ),
    Option(
        "refresh",
        yes,
        default=False,
        help="ask the hub anew what the model's branch or tag stands for (default: the commit it was pinned to)",
        switch=True,
    ),
    Option(
        "flag-set", str, (), "flag set to measure, repeatable (default: all but those on request)", "NAME", many=True
    ),
    Option(
        "set",
        str,
        (),
        "override one value of the profile, such as server.ctx=32768; repeatable (default: none)",
        "KEY=VALUE",
        many=True,
    ),
    Option(
        "prompts",
        file,
        None,
        "measure the prompts of this file: JSON rows with class and prompt, SPEED-Bench's data, or names and texts "
        "(default: the profile's)",
        "FILE",
    ),
    Option(
        "backend",
        choice(Backend),
        None,
        "what computes: auto, cpu, cuda, metal, vulkan or hip (default: the profile's)",
        "BACKEND",
    ),
    Option("gpu-id", str, None, "card to measure on, by index or UUID (default: the first)", "ID"),
    Option(
        "dear",
        yes,
        default=False,
        help="measure the dear suites too: long prompts, sweeps, cache types, long uptime; minutes each "
        "(default: the cheap ones, and what is named)",
        switch=True,
    ),
)

_MANNER = (
    Option(
        "isolation",
        choice(Isolation),
        None,
        "auto, side-by-side or alternate: whether both servers of a block are up together (default: the profile's)",
        "HOW",
    ),
    Option(
        "isolate",
        yes,
        default=False,
        help="build and run llama.cpp under bubblewrap, without network and home: for code of strangers; Linux "
        "(default: as any other program)",
        switch=True,
    ),
    Option(
        "lock-clocks",
        yes,
        default=False,
        help="fix the card's clocks while it is measured; needs the right to (default: leave them)",
        switch=True,
    ),
    Option(
        "max-time",
        parse_duration,
        None,
        "begin no block that would not end within this time, such as 20m, counted for the whole run from its first "
        "measurement; one that has begun is finished (default: no limit)",
        "TIME",
    ),
    Option(
        "resume",
        yes,
        default=False,
        help="go on from the blocks that the same command finished before it was interrupted or out of time "
        "(default: from the first)",
        switch=True,
    ),
    Option(
        "cache-dir",
        path,
        None,
        "where sources, builds and phantoms are kept (default: pytest-mtp in the user's cache folder)",
        "DIR",
    ),
)

_JUDGED = (
    Option(
        "baselines",
        path,
        Path("baselines"),
        "folder of the baselines, relative to the rootdir (default: baselines)",
        "DIR",
    ),
    Option(
        "update-baselines",
        choice(Update),
        None,
        "record baselines: new (only missing ones), all, or one more session beside those on record "
        "(default: record nothing)",
        "new|all|session",
    ),
    Option(
        "history",
        folder,
        None,
        "keep the run in this folder and judge it by the runs before it (default: neither)",
        "DIR",
    ),
    Option(
        "compare-to",
        str,
        None,
        "measure a base in the same blocks and judge against it instead of a baseline: a source, or what --mtp-vary "
        "says (default: judge against the baseline)",
        "BASE",
    ),
    Option(
        "vary",
        choice(Vary),
        Vary.SOURCE,
        "what --mtp-compare-to names: a source, model or flag-set (default: source)",
        "WHAT",
        plain_help="what BASE and HEAD name: a source, model or flag-set (default: source)",
    ),
    Option(
        "tier",
        choice(Tier),
        Tier.SCREEN,
        "how closely is compared: screen in few blocks, margin 5 percent; full in many, 2 percent (default: screen)",
        "screen|full",
    ),
    Option(
        "equivalence",
        yes,
        default=False,
        help="of a comparison: a gain must be excluded as well as a loss (default: only a loss)",
        switch=True,
    ),
    Option("strict", yes, default=False, help="fail a test whose verdict is no answer (default: skip it)", switch=True),
    Option(
        "bisect",
        yes,
        default=False,
        help="end as `git bisect run` takes it: 0 no loss, 1 a loss, 125 no answer, errors included "
        "(default: the usual exit status)",
        switch=True,
    ),
)

_WRITTEN = (
    Option("json", file, None, "write the whole report to this file (default: not written)", "FILE"),
    Option(
        "out",
        folder,
        None,
        "write the report as JSON, HTML, job summary, annotations and dashboard files into this folder "
        "(default: not written)",
        "DIR",
    ),
)

SECTIONS: Mapping[str, tuple[Option, ...]] = MappingProxyType(
    {
        "what is measured": _MEASURED,
        "how it is measured": _MANNER,
        "what it is judged by": _JUDGED,
        "what is written": _WRITTEN,
    }
)
"""The rows as a reader looks for them: the groups of every ``--help``, by title."""

OPTIONS = tuple(option for rows in SECTIONS.values() for option in rows)
