"""Prompt classes of a file that somebody gives, in any of the forms that people have.

Rows of JSON, one a line: ``{"class": ..., "prompt": ...}``, or SPEED-Bench's data with its categories and turns. Or
one JSON text: a list of such rows, or what ``mtp-bench.py`` holds, ``[["name", "text"], ...]`` or ``{name: text}``.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pytest_mtp.core.profile import Profile, PromptClass
from pytest_mtp.errors import InputError

_ONE_ROW = '{"class": "poem", "prompt": "Write a poem."}'
_FORMS = f'write rows such as {_ONE_ROW}, one a line, or one list [["poem", "..."], ...]'
_ROW_KEYS = frozenset({"class", "prompt", "category", "turns", "question_id"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
_TOLD_AT_ONCE = 10
MOST_BYTES = 64 * 2**20
"""Of a file of prompts: SPEED-Bench with prompts of 32,000 tokens has half of that."""
_MOST_ROWS = 100_000
_NOT_FETCHED = "FULL BENCHMARK DATA SHOULD BE FETCHED"
"""How rows of SPEED-Bench begin that its licences do not let it hold."""


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    name: str
    prompt: str
    mark: str | None = None
    """What tells questions of one category apart; ``None`` where the name is a class's own."""


def prompt_classes(text: str) -> tuple[PromptClass, ...]:
    """The classes in the order of the file; one InputError names every bad row by its line."""
    rows: list[_Row] = []
    wrong: list[tuple[int, str]] = []
    for count, (line, value) in enumerate(_entries(text.removeprefix("\ufeff"))):
        if count == _MOST_ROWS:
            raise InputError(f"It has more than {_MOST_ROWS:,} rows, and every one is asked. Give a file with fewer.")
        try:
            rows.append(_row(line, value))
        except InputError as error:
            wrong.append((line, str(error)))
    rows = _named_apart(rows)
    wrong += _wrong_names(rows)
    if wrong:
        raise InputError(_told(sorted(wrong)))
    if not rows:
        raise InputError(f"It holds no prompt: {_FORMS}.")
    return tuple(PromptClass(name=row.name, prompt=row.prompt) for row in rows)


def with_prompts(profile: Profile, classes: Sequence[PromptClass]) -> Profile:
    """The profile with these classes; floor and reference stay with a class that is asked what it was asked."""
    known = {(one.name, one.prompt): one for one in profile.classes}
    return replace(profile, classes=tuple(known.get((one.name, one.prompt), one) for one in classes))


def _entries(text: str) -> Iterable[tuple[int, Any]]:
    """Each row with its line; a line that is no JSON as the InputError that says so."""
    try:
        document = json.loads(text)
        if isinstance(document, dict) and (_ROW_KEYS & document.keys() or _is_conversation(document)):
            return [(_line(text, _skip(text, 0)), document)]
        if isinstance(document, dict | list):
            return list(islice(_elements(text), _MOST_ROWS + 1))
    except (ValueError, RecursionError) as error:
        if not any(line.startswith("{") and line.rstrip().endswith("}") for line in text.split("\n")):
            raise InputError(_no_json(text, error)) from error
        # Not splitlines: a text may hold other ends of lines than JSON has.
        return ((number, _parsed(line)) for number, line in enumerate(text.split("\n"), 1) if line.strip())
    raise InputError(f"It holds one JSON value that is no list: {_FORMS}.")


def _elements(text: str) -> Iterator[tuple[int, Any]]:
    """What a sound JSON list holds; of an object each pair, as a list of two."""
    decoder = json.JSONDecoder()
    at = _skip(text, 0)
    pairs = text[at] == "{"
    line, counted = 1, 0
    at = _skip(text, at + 1)
    while text[at] not in "]}":
        line, counted = line + text.count("\n", counted, at), at
        value, at = decoder.raw_decode(text, at)
        if pairs:
            second, at = decoder.raw_decode(text, _skip(text, at))
            value = [value, second]
        yield line, value
        at = _skip(text, at)


def _skip(text: str, at: int) -> int:
    """The place of the next value; the text is known to be sound, so that commas may be skipped like blanks."""
    while at < len(text) and text[at] in " \t\r\n,:":
        at += 1
    return at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return InputError(f"it is not JSON ({_why(error)}); {_FORMS}.")


def _no_json(text: str, error: Exception) -> str:
    if not text.strip():
        return f"It is empty: {_FORMS}."
    line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
    mend = (
        "this looks like Python, whose lists of tuples JSON writes as lists of lists" if "PROMPTS" in text else _FORMS
    )
    return f"Line {line}: it is not JSON ({_why(error)}); {mend}."


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "nested too deep" if isinstance(error, RecursionError) else "a number too long to read"


def _row(line: int, value: Any) -> _Row:
    if isinstance(value, InputError):
        raise value
    if isinstance(value, list) and len(value) == 2:  # noqa: PLR2004 - name and text
        name = _name(value[0], "the name of the class")
        return _Row(line, name, _prompt(value[1], f"the prompt of {name}"))
    if not isinstance(value, dict):
        raise InputError(f"it is no row; {_FORMS}.")
    if _is_conversation(value):
        raise InputError(f"a conversation is not taken; write class and prompt, such as {_ONE_ROW}.")
    if "turns" in value or "category" in value:
        return _question(line, value)
    name = _name(_held(value, "class"), '"class"')
    return _Row(line, name, _prompt(_held(value, "prompt"), '"prompt"'))


def _is_conversation(value: dict[str, Any]) -> bool:
    """Whether it is a row of chat data, whose later messages answer what nobody has said yet."""
    return "prompt" not in value and isinstance(value.get("messages"), list)


def _question(line: int, value: dict[str, Any]) -> _Row:
    """A row of SPEED-Bench; its first turn, since the later ones go on from answers that nobody has given yet."""
    turns = _held(value, "turns")
    if not isinstance(turns, list) or not turns:
        raise InputError('"turns" is not a list of texts; give at least one.')
    prompt = _prompt(turns[0], 'the first of "turns"')
    if prompt.startswith(_NOT_FETCHED):
        raise InputError("SPEED-Bench leaves this prompt to be fetched from its source; prepare the data first.")
    mark = value.get("question_id", value.get("id"))
    told = str(mark) if isinstance(mark, str | int) and not isinstance(mark, bool) else ""
    return _Row(line, _name(_held(value, "category"), '"category"'), prompt, told)


def _held(value: dict[str, Any], key: str) -> Any:
    if key not in value:
        other = ' (it has "name": write "class")' if key == "class" and "name" in value else ""
        raise InputError(f'it has no "{key}"{other}; {_FORMS}.')
    return value[key]


def _prompt(value: Any, what: str) -> str:
    """A prompt as it stands, control characters included."""
    if not isinstance(value, str):
        raise InputError(f"{what} is not a text; put it in quotation marks.")
    if not value.strip():
        raise InputError(f"{what} is empty; write what the model shall be asked.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} holds half a character (\\u{ord(value[error.start]):04x}); write it whole."
        ) from error
    return value


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} is not a text; put it in quotation marks.")
    if _NAME.fullmatch(value) is None:
        raise InputError(
            f"{what} is {value[:60]!a}, which cannot stand in the name of a test; "
            "write up to 100 letters a to z, digits, and _ . + -, the first a letter or digit."
        )
    return value


def _named_apart(rows: Sequence[_Row]) -> list[_Row]:
    """Each question of a category that has several as a class of its own, since a class holds one prompt."""
    counted = Counter(row.name for row in rows if row.mark is not None)
    return [replace(row, name=f"{row.name}-{row.mark}") if row.mark and counted[row.name] > 1 else row for row in rows]


def _wrong_names(rows: Sequence[_Row]) -> Iterator[tuple[int, str]]:
    first: dict[str, int] = {}
    for row in rows:
        try:
            _name(row.name, "the name of the class")
        except InputError as error:
            yield row.line, str(error)
            continue
        if row.name in first:
            mend = "give each question of a category a question_id of its own" if row.mark is not None else ""
            mend = mend or f"give it a name of its own, such as {row.name[:90]}-2"
            yield row.line, f"the class {row.name} is in line {first[row.name]} too, and holds one prompt; {mend}."
        first.setdefault(row.name, row.line)


def _told(wrong: Sequence[tuple[int, str]]) -> str:
    lines = [f"Line {line}: {sentence}" for line, sentence in wrong[:_TOLD_AT_ONCE]]
    more = len(wrong) - len(lines)
    return "\n".join([*lines, *([f"And {more} more lines like these."] if more else [])])
