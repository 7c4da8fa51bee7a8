"""speed_bench.py of llama.cpp: one file per server, a row per sample, and of each its times.

A sample may have several turns, each with a free first token, so that rates are computed here from tokens and times.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pytest_mtp.core.history import Entry
from pytest_mtp.core.imported.answer import TAU_FORMULA, Answer, arm_of, both, class_entries
from pytest_mtp.core.imported.counting import Counting
from pytest_mtp.core.imported.protocol import Origin, Pair, each_has
from pytest_mtp.core.imported.reading import Row, rows, told
from pytest_mtp.errors import InputError

TOOL = "speed_bench"
# Not its URL: a port is no circumstance.
_CONFIG = MappingProxyType(
    {
        "model": "model",
        "bench": "request.bench",
        "osl": "request.tokens",
        "concurrency": "request.concurrency",
        "extra_inputs": "request.extra",
    }
)


def recognizes(document: object) -> bool:
    """By the list of results and the configuration, of both files where two are given."""
    return each_has(document, results=list, config=Mapping)


def entries(document: Any, origin: Origin) -> tuple[Entry, ...]:
    """One entry, its classes the categories: of both arms, or of the one that the file is of."""
    if isinstance(document, Pair):
        facts = _same_request(document)
        arms = both(_answers(document.plain), _answers(document.mtp))
    else:
        facts, answers = told(document["config"], _CONFIG), _answers(document)
        arms = {origin.arm or arm_of(answers): answers}
    facts |= {"tok/s": Counting.WITHOUT_FREE.value, "tau": TAU_FORMULA}
    return (origin.entry(TOOL, facts, class_entries(arms)),)


def _same_request(document: Pair) -> dict[str, str]:
    """What both arms were asked; InputError names what only one was."""
    plain, mtp = (told(one["config"], _CONFIG) for one in _files(document))
    for name in {**plain, **mtp}:
        # The name of a model is what the server was told to call it.
        if name != "model" and plain.get(name) != mtp.get(name):
            raise InputError(
                f"The two files differ in {name}: {plain.get(name)} without drafts, {mtp.get(name)} with them. "
                "Only answers to the same requests make a speedup; import each file alone, or measure one anew."
            )
    return mtp


def _files(document: Pair) -> tuple[Any, Any]:
    return document.plain, document.mtp


def _answers(document: Any) -> tuple[Answer, ...]:
    return tuple(_answer(row) for row in rows(document, "results"))


def _answer(row: Row) -> Answer:
    category, sample = row.text("category"), row.text("id")
    if row.values.get("ok") is False:
        return Answer(prompt_class=category, request=sample, tokens=0, ms=None, failed=True)
    turns = row.count("turns", least=1)
    tokens = max(row.count("completion_tokens") - turns, 0)
    drafted, accepted = row.drafts(tokens)
    prompt_tokens, prompt_ms = _prompt(row, turns)
    return Answer(
        prompt_class=category,
        request=sample,
        tokens=tokens,
        ms=row.amount("predicted_ms"),
        drafted=drafted,
        accepted=accepted,
        prompt_tokens=prompt_tokens,
        prompt_ms=prompt_ms,
    )


def _prompt(row: Row, turns: int) -> tuple[float, float | None]:
    """Tokens of the prompt that were computed, and how long that took; nothing of several turns, which share a cache.

    ``prompt_tokens`` counts cached tokens too; the server's rate is of those that were computed, at every build.
    """
    ms, per_second = row.amount("prompt_ms"), row.amount("prompt_per_second")
    if turns > 1 or ms is None or per_second is None:
        return 0.0, None
    return per_second * ms / 1000, ms
