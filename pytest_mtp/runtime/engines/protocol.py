"""What the campaign needs of a server, whoever started it, and what every engine's adapter does for it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from pytest_mtp.core.endpoint import Endpoint
from pytest_mtp.core.engine_answer.knowledge import Knowledge
from pytest_mtp.core.engine_answer.protocol import Told
from pytest_mtp.core.request import Answer, Request
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.runtime.engines.connection import Connection


class Counting(Protocol):
    """The side of a server that is asked beside completions."""

    def tokens(self, text: str) -> list[int]:
        """The ids of a text; MeasureError where the engine does not tell them."""

    def accepted_per_position(self) -> tuple[int, ...] | None:
        """Accepted drafts by place, growing from request to request; ``None`` where they are not counted."""


class Running(Protocol):
    """A server that a campaign can ask: ``runtime.server.Server``, ``Attached`` and ``Launched`` are such."""

    @property
    def arm(self) -> Arm:
        """Which of the two it is."""

    @property
    def model(self) -> str:
        """Path or name of its model."""

    @property
    def pid(self) -> int | None:
        """Its process, for telemetry; ``None`` where it is not ours."""

    @property
    def load_s(self) -> float:
        """From its start until it was ready; 0 where it was there before."""

    @property
    def command_line(self) -> str:
        """How it was started, or where it was found."""

    @property
    def client(self) -> Counting:
        """What is asked beside completions."""

    def ask(self, request: Request) -> Answer:
        """Ask for one completion."""

    def answering(self) -> AbstractContextManager[None]:
        """Whatever else it is asked; a process of ours that died of it is named as such."""

    def log_text(self) -> str:
        """Its log; empty where it is not ours."""

    def tail(self, lines: int = 20) -> str:
        """The end of its log."""


class Adapter(Counting, Protocol):
    """One engine at one address; errors are MeasureError and ServerLate."""

    @property
    def knowledge(self) -> Knowledge:
        """What this server tells."""

    @property
    def version(self) -> str:
        """As the server says it; empty where it does not."""

    @property
    def model(self) -> str:
        """The name or path by which it serves its model."""

    def complete(self, request: Request) -> Told:
        """Ask for one completion and wait for all of it; nothing is asked twice."""

    def speculative(self) -> bool | None:
        """Whether the server says that it speculates; ``None`` where it does not say."""

    def close(self) -> None:
        """Drop what it holds besides the connection that it was given."""


Recogniser = Callable[[Connection, Endpoint], Adapter | None]
"""Asks a server what it is: its adapter, or ``None`` where it is another engine."""
