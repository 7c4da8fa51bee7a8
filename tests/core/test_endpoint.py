"""How a user says which running servers are measured."""

import pytest

from pytest_mtp.core.endpoint import Endpoint, Engine, parse_endpoint, parse_endpoints
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("mtp=http://host:8000", Endpoint(arm=Arm.MTP, url="http://host:8000")),
        ("plain=http://host:8000/", Endpoint(arm=Arm.PLAIN, url="http://host:8000")),
        ("mtp=http://host:8000/v1", Endpoint(arm=Arm.MTP, url="http://host:8000")),
        ("mtp=https://host/vllm/v1/", Endpoint(arm=Arm.MTP, url="https://host/vllm")),
        ("mtp=http://[::1]:8000", Endpoint(arm=Arm.MTP, url="http://[::1]:8000")),
        ("mtp=vllm:http://host:1", Endpoint(arm=Arm.MTP, url="http://host:1", engine=Engine.VLLM)),
        (
            "plain=llama-server:http://host:1",
            Endpoint(arm=Arm.PLAIN, url="http://host:1", engine=Engine.LLAMA_SERVER),
        ),
        (
            "mtp=ollama:http://127.0.0.1:11434#hf.co/a/b:Q4_K_M",
            Endpoint(arm=Arm.MTP, url="http://127.0.0.1:11434", engine=Engine.OLLAMA, model="hf.co/a/b:Q4_K_M"),
        ),
    ],
)
def test_an_endpoint_is_an_arm_an_engine_a_root_and_a_model(text: str, endpoint: Endpoint) -> None:
    assert parse_endpoint(text) == endpoint
    assert parse_endpoint(str(endpoint)) == endpoint


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("http://host:8000", r"does not begin with plain= or mtp="),
        ("base=http://host:8000", r"does not begin with plain= or mtp="),
        ("mtp=", r"has no URL that begins with http:// or https:// and a host"),
        ("mtp=host:8000", r"has no URL"),
        ("mtp=ftp://host", r"has no URL"),
        ("mtp=http://", r"has no URL"),
        ("mtp=http://ho st", r"has no URL"),
        ("mtp=http://host:0", r"has no URL"),
        ("mtp=http://host:99999", r"has no valid address"),
        ("mtp=http://[::1", r"has no valid address"),
        ("mtp=http://a..b", r"has no valid address"),
        (f"mtp=http://{'a' * 70}.com", r"has no valid address"),
        ("mtp=http://host/\x00", r"has no URL"),
        ("mtp=nobody:http://host", r"names an engine that is none of: llama-server, vllm"),
    ],
)
def test_a_wrong_endpoint_says_what_is_wrong_and_how_to_write_it(text: str, cause: str) -> None:
    with pytest.raises(SettingsError, match=rf"^The endpoint .*{cause}.*Write plain=URL and mtp=URL"):
        parse_endpoint(text)


@pytest.mark.parametrize(
    "text",
    [
        "mtp=http://secret@host",
        "mtp=http://user:secret@host:8000",
        "mtp=vllm:https://user:secret@host/v1",
        "mtp=http://user:secret@host:99999",
        "secret=http://user:secret@host".replace("secret=", "x="),
        "mtp=http://host?key=secret",
        "mtp=nope:http://x:in/secret@host",
        "mtp=http://user:in'secret@host",
        "mtp=http://user:in?secret@host",
        "mtp=http://user:in#secret@host",
        "user:secret@host",
        "mtp=http://host:x?key=secret",
    ],
)
def test_a_secret_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_endpoint(text)
    assert "secret@" not in str(caught.value)
    assert "=secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_user_in_a_url_is_sent_to_the_variable_for_keys() -> None:
    with pytest.raises(SettingsError, match="put a key into MTP_ENDPOINT_KEY"):
        parse_endpoint("mtp=http://user:secret@host")


def test_both_arms_have_an_endpoint_each() -> None:
    found = parse_endpoints(["mtp=http://host:2", "plain=vllm:http://host:1"])
    assert (found[Arm.PLAIN].url, found[Arm.MTP].url) == ("http://host:1", "http://host:2")


@pytest.mark.parametrize(
    ("texts", "cause"),
    [
        (["mtp=http://h:1"], "plain arm has no endpoint"),
        (["plain=http://h:1"], "mtp arm has no endpoint"),
        (["mtp=http://h:1", "mtp=http://h:2", "plain=http://h:3"], "two endpoints of the mtp arm"),
        (["mtp=http://h:1", "plain=http://h:1/v1"], "one server either drafts or does not"),
        (["mtp=http://h", "plain=http://H:80"], "one server either drafts or does not"),
        (["mtp=http://localhost:1", "plain=vllm:http://127.0.0.1:1"], "one server either drafts or does not"),
    ],
)
def test_endpoints_that_are_no_comparison_are_refused(texts: list[str], cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        parse_endpoints(texts)


def test_two_models_of_one_server_can_be_compared() -> None:
    assert len(parse_endpoints(["mtp=http://h:1#with", "plain=http://h:1#without"])) == 2


def test_every_engine_has_a_name_for_sentences() -> None:
    assert all(one.label for one in Engine)
