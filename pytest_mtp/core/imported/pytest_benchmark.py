"""pytest-benchmark's JSON of this project's own runs, whose benchmarks carry the server's timings of every request.

A round is a block, so that the samples are put back into blocks and estimated like those of a report.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mtp.core.history import Entry
from pytest_mtp.core.imported.protocol import Origin, Pair, each_has
from pytest_mtp.core.imported.reading import Row, rows
from pytest_mtp.core.imported.replayed import Replayed, class_entries
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.timings import Timings
from pytest_mtp.errors import InputError

TOOL = "pytest-benchmark"
_GROUP = ": time per token"


def recognizes(document: object) -> bool:
    """By the list of benchmarks and the machine's description."""
    return not isinstance(document, Pair) and each_has(document, benchmarks=list, machine_info=Mapping)


def entries(document: Any, origin: Origin) -> tuple[Entry, ...]:
    """One entry for every flag set; the file says which, when, and roughly on what machine."""
    played = tuple(_played(document))
    if not played:
        raise InputError(
            "No benchmark of this file carries a server's timings: it needs the JSON of a run with --mtp or --mtp-gpu, "
            "written by --benchmark-json FILE."
        )
    facts = {**_machine(document["machine_info"]), **origin.machine}
    at = origin.measured_at(document.get("datetime"))
    return tuple(
        origin.entry(TOOL, facts, class_entries([one for one in played if one.flag_set == name]), at=at, flag_set=name)
        for name in dict.fromkeys(one.flag_set for one in played)
    )


def _machine(info: Mapping[str, Any]) -> dict[str, str]:
    """The facts of a fingerprint that pytest-benchmark knows, too."""
    cpu = info.get("cpu")
    known = {
        "arch": info.get("machine"),
        "cpu": cpu.get("brand_raw") if isinstance(cpu, Mapping) else None,
        "system": info.get("system"),
    }
    return {name: value for name, value in known.items() if isinstance(value, str) and value}


def _played(document: Any) -> Iterator[Replayed]:
    """The benchmarks that are ours; one that a rerun wrote twice counts once."""
    found: dict[tuple[str, str, Arm], Replayed] = {}
    for row in rows(document, "benchmarks"):
        timings = _inner(row, "extra_info").values.get("timings")
        if timings is None:
            continue
        one = _benchmark(row)
        key = (one.flag_set, one.prompt_class, one.arm)
        if found.setdefault(key, one) != one:
            raise row.refusal("param", "another one than that of a benchmark before it, whose timings are not the same")
    yield from found.values()


def _benchmark(row: Row) -> Replayed:
    flag_set = row.text("group").removesuffix(_GROUP)
    if flag_set == row.text("group"):
        raise row.refusal("group", f"a flag set and {_GROUP!r}")
    prompt_class, arm = _case(row, flag_set)
    extra, stats = _inner(row, "extra_info"), _inner(row, "stats")
    told = [_timings(one) for one in rows(extra.values, "timings", f"{extra.place}.")]
    each, left = divmod(len(told), stats.count("rounds", least=1))
    if left:
        raise stats.refusal("rounds", f"a divisor of the {len(told)} timings, which are as many in every block")
    blocks = tuple(tuple(told[start : start + each]) for start in range(0, len(told), each))
    return Replayed(flag_set=flag_set, prompt_class=prompt_class, arm=arm, blocks=blocks)


def _case(row: Row, flag_set: str) -> tuple[str, Arm]:
    """The class and the arm, of a parameter such as ``n3-code-mtp`` or ``mtp-n3-code``."""
    said = row.text("param")
    for arm in Arm:
        if said.startswith(f"{flag_set}-") and said.endswith(f"-{arm.value}"):
            return said.removeprefix(f"{flag_set}-").removesuffix(f"-{arm.value}"), arm
        if said.startswith(f"{arm.value}-{flag_set}-"):
            return said.removeprefix(f"{arm.value}-{flag_set}-"), arm
    raise row.refusal(
        "param", f"of the flag set {flag_set!a}, a class and an arm, {' or '.join(arm.value for arm in Arm)}"
    )


def _timings(row: Row) -> Timings:
    """One request; a time that is not there is 0."""
    predicted = row.count("predicted_n")
    drafted, accepted = row.drafts(max(predicted - 1, 0))
    return Timings(
        prompt_n=row.count("prompt_n"),
        prompt_ms=row.amount("prompt_ms") or 0.0,
        predicted_n=predicted,
        predicted_ms=row.amount("predicted_ms") or 0.0,
        draft_n=drafted,
        draft_n_accepted=accepted,
    )


def _inner(row: Row, key: str) -> Row:
    value = row.values.get(key)
    if not isinstance(value, Mapping):
        raise InputError(f"{row.place}.{key} is no object. Give the file as pytest-benchmark wrote it.")
    return Row(value, f"{row.place}.{key}")
