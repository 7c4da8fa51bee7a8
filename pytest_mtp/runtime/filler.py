"""Prompts of a given length: running text, cut to the token, before what is asked."""

from dataclasses import replace

from pytest_mtp.core.long_text import long_text
from pytest_mtp.core.profile import PromptClass
from pytest_mtp.core.request import Request
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.engines.protocol import Counting

_SEED = 2048


class Filler:
    """The requests of the classes that have a length, made with the first server that is asked and kept by model."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Request] = {}

    def fill(self, request: Request, prompt_class: PromptClass, template: str, model: str, client: Counting) -> Request:
        """The same request with as many tokens as its class wants; SettingsError where its own text has more."""
        if prompt_class.length is None:
            return request
        key = model, prompt_class.name
        if key not in self._made:
            before, _, after = template.partition("{prompt}")
            self._made[key] = replace(request, prompt=_filled(prompt_class, before, after, client))
        return self._made[key]


def _filled(prompt_class: PromptClass, before: str, after: str, client: Counting) -> tuple[str | int, ...]:
    wanted, asked = prompt_class.length or 0, prompt_class.prompt + after
    missing = wanted - sum(len(client.tokens(text)) for text in (before, asked) if text)
    if missing < 0:
        raise SettingsError(
            f"Class {prompt_class.name} is to have a prompt of {wanted} tokens, and what it asks has "
            f"{wanted - missing} already: give it a greater length."
        )
    # No word is less than a token.
    ids = client.tokens(long_text(_SEED, missing))[:missing]
    return (*([before] if before else []), *ids, *([asked] if asked else []))
