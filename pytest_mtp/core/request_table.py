"""The ``[request]`` table of a profile: what every measured request has in common."""

from dataclasses import dataclass

from pytest_mtp.core.request import Chat, RequestEndpoint
from pytest_mtp.errors import SettingsError

_CHAT_MARK = "<|"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTable:
    """One measured request; whether a model thinks is always by our word: by ``template``, or by ``thinking``."""

    tokens: int
    seed: int = 42
    timeout_s: float = 300.0
    template: str = "{prompt}"
    """What is written around a prompt; to the chat endpoint, what is written around it in the user's message."""
    endpoint: RequestEndpoint = RequestEndpoint.RAW
    thinking: bool | None = None
    """Whether the chat template lets the model think; said for every chat, ``None`` for raw requests."""
    stream: bool = False
    """Whether answers are streamed, and the arrival of every token is kept."""

    def __post_init__(self) -> None:
        for key, value, least in (("tokens", self.tokens, 2), ("timeout_s", self.timeout_s, 1)):
            if value < least:
                raise SettingsError(f"request.{key} is {value}; it must be at least {least}.")
        if "{prompt}" not in self.template:
            raise SettingsError("request.template has no {prompt}, so every class would ask the same.")
        if self.endpoint is RequestEndpoint.CHAT:
            self._check_chat()
        elif self.thinking is not None:
            raise SettingsError('request.thinking is of the chat endpoint: set request.endpoint to "chat", or drop it.')

    @property
    def chat(self) -> Chat | None:
        """How the chat endpoint is asked; ``None``: the raw one is."""
        return None if self.thinking is None else Chat(self.thinking)

    def as_circumstances(self) -> dict[str, str]:
        """What belongs to the numbers, as texts; a raw request says what it said before there was another."""
        said = {"tokens": str(self.tokens), "seed": str(self.seed), "template": self.template}
        if self.chat is None:
            return said
        return {**said, "endpoint": self.endpoint.value, "thinking": str(self.chat.thinking).lower()}

    def _check_chat(self) -> None:
        if self.thinking is None:
            raise SettingsError(
                "request.thinking is not said, and models differ in what they do without it: set it to true or false."
            )
        if _CHAT_MARK in self.template:
            raise SettingsError(
                "request.template writes the marks of a chat, and so does the chat endpoint: set it to {prompt}."
            )
