"""What the tests of engines share: stand-ins of the same dialect, asked over real HTTP."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pytest_mtp.core.endpoint import parse_endpoint
from pytest_mtp.runtime.engines.attached import Attached, attach
from tests.fakes.engines.peer import Peer, handler
from tests.fakes.loopback import serving

At = Callable[..., Attached]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def at(stack: ExitStack) -> At:
    """Attach to a stand-in, the mtp arm unless told else; both end with the test."""

    def attached(state: Peer, said: str = "mtp={url}", api_key: str | None = None) -> Attached:
        url = stack.enter_context(serving(handler(state)))
        stack.callback(state.done.set)
        return stack.enter_context(attach(parse_endpoint(said.format(url=url)), api_key))

    return attached
