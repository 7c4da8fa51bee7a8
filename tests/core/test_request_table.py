"""The [request] table: whether a model thinks is said once, and is part of what a number belongs to."""

from typing import Any

import pytest

from pytest_mtp.core.request import Chat, RequestEndpoint
from pytest_mtp.core.request_table import RequestTable
from pytest_mtp.errors import SettingsError

CHAT = RequestEndpoint.CHAT


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"tokens": 1}, "request.tokens is 1; it must be at least 2"),
        ({"timeout_s": 0.5}, "request.timeout_s is 0.5"),
        ({"template": "Hi"}, r"has no \{prompt\}"),
        ({"endpoint": CHAT}, "request.thinking is not said.*set it to true or false"),
        ({"thinking": True}, "request.thinking is of the chat endpoint"),
        (
            {"endpoint": CHAT, "thinking": False, "template": "<|im_start|>user\n{prompt}<|im_end|>"},
            r"writes the marks of a chat.*set it to \{prompt\}",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(values: dict[str, Any], cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        RequestTable(**({"tokens": 8} | values))


def test_a_raw_request_has_the_key_that_baselines_have() -> None:
    assert RequestTable(tokens=8).as_circumstances() == {"tokens": "8", "seed": "42", "template": "{prompt}"}
    assert RequestTable(tokens=8).chat is None


@pytest.mark.parametrize(("thinking", "said"), [(True, "true"), (False, "false")])
def test_a_chat_adds_its_endpoint_and_thinking_to_the_key(thinking: bool, said: str) -> None:  # noqa: FBT001
    table = RequestTable(tokens=8, endpoint=CHAT, thinking=thinking)
    raw = RequestTable(tokens=8).as_circumstances()
    assert table.as_circumstances() == {**raw, "endpoint": "chat", "thinking": said}
    assert table.chat == Chat(thinking)
