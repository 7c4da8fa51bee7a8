"""mtp-bench.py: one file per server, a row per prompt, the server's own tok/s and no times.

Its rate is turned back into the time it was made of where the build tells how it was counted, else it is kept
as it is and labelled. Repeated prompts are rows of the same name. A row with ``error`` is an answer that failed.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pytest_mtp.core.history import Entry
from pytest_mtp.core.imported.answer import TAU_FORMULA, Answer, arm_of, both, class_entries
from pytest_mtp.core.imported.counting import Counting, counting_of
from pytest_mtp.core.imported.protocol import Origin, Pair, each_has
from pytest_mtp.core.imported.reading import Row, rows, told

TOOL = "mtp-bench"
# What wrappers of the script write beside its results, and what its forks write into the aggregate.
_FACTS = MappingProxyType({"model": "model", "gguf": "gguf", "toolbox": "toolbox", "spec_flags": "flags.speculation"})
_OF_AGGREGATE = MappingProxyType({"concurrency": "request.concurrency"})


def recognizes(document: object) -> bool:
    """By the list of results and the aggregate, of both files where two are given."""
    return each_has(document, results=list, aggregate=Mapping)


def entries(document: Any, origin: Origin) -> tuple[Entry, ...]:
    """One entry: of both arms, or of the one that the file is of."""
    counting = counting_of(origin.build)
    if isinstance(document, Pair):
        described: Any = document.mtp
        arms = both(_answers(document.plain, counting), _answers(document.mtp, counting))
    else:
        described, answers = document, _answers(document, counting)
        arms = {origin.arm or arm_of(answers): answers}
    facts = {**told(described, _FACTS), **told(described["aggregate"], _OF_AGGREGATE)}
    facts |= {"tok/s": counting.said, "tau": TAU_FORMULA}
    return (origin.entry(TOOL, facts, class_entries(arms)),)


def _answers(document: Any, counting: Counting) -> tuple[Answer, ...]:
    return tuple(_answer(row, counting) for row in rows(document, "results"))


def _answer(row: Row, counting: Counting) -> Answer:
    name = row.text("name")
    if row.values.get("error"):
        return Answer(prompt_class=name, request=name, tokens=0, ms=None, failed=True)
    predicted = row.count("predicted_n")
    tokens = max(predicted - 1, 0)
    drafted, accepted = row.drafts(tokens)
    return Answer(
        prompt_class=name,
        request=name,
        tokens=tokens,
        ms=counting.time_ms(predicted, row.amount("predicted_per_second")),
        drafted=drafted,
        accepted=accepted,
    )
