"""The API's answers are taken as what they are, its refusals say what to do, and the key stays where it belongs."""

from http.server import BaseHTTPRequestHandler

import pytest

from pytest_mtp.core.runpod.offer import Cloud
from pytest_mtp.core.runpod.refusal import Reason, Refused
from pytest_mtp.core.secret import Secret
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.runpod.api import BASE, Api, key_of_environment
from tests.fakes.loopback import serving
from tests.fakes.runpod import KEY, Reply, RunPod
from tests.runtime.runpod.conftest import QUICK


def test_the_catalog_tells_prices_and_what_is_free(api: Api) -> None:
    first = api.gpus(Cloud.SECURE, "12.8")[0]
    assert (first.id, first.price.secure, first.price.community) == ("NVIDIA GeForce RTX 3090", 0.46, 0.22)
    assert first.availability == "HIGH"


def test_a_list_is_asked_for_again_after_a_failure(api: Api, peer: RunPod) -> None:
    peer.replies["GET /v2/pods"] = [Reply(500), Reply(429, {"Retry-After": "0"})]
    assert api.pods() == ()
    assert peer.asked == ["GET /v2/pods"] * 3


def test_a_key_that_is_refused_is_said_without_the_key(peer: RunPod) -> None:
    wrong = Secret("rpa_wrong5e1fb07c5e1fb07c5e1fb07c")
    with Api(wrong, print, base=peer.url, pace=QUICK) as api, pytest.raises(Refused, match="RUNPOD_API_KEY") as caught:
        api.pods()
    assert caught.value.reason is Reason.KEY
    assert peer.asked == ["GET /v2/pods"]
    assert wrong not in str(caught.value)
    assert wrong not in repr(api)


def test_a_key_that_is_repeated_by_an_answer_is_masked(api: Api, peer: RunPod) -> None:
    peer.replies["GET /v2/pods"] = [Reply(400, detail=f"do not send {KEY} so")]
    with pytest.raises(Refused) as caught:
        api.pods()
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("value", ["", "  ", "two\nlines", "ключ"])
def test_without_a_key_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("RUNPOD_API_KEY", value)
    with pytest.raises(SettingsError, match="RUNPOD_API_KEY"):
        key_of_environment()


def test_deleting_what_is_gone_is_no_failure(api: Api, peer: RunPod) -> None:
    api.delete("nobody")
    assert peer.asked == ["DELETE /v2/pods/nobody"]


class Elsewhere(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.1:9/v2/pods")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def test_no_redirect_takes_the_key_elsewhere() -> None:
    with (
        serving(Elsewhere) as url,
        Api(Secret(KEY), print, base=url, pace=QUICK) as api,
        pytest.raises(Refused, match="HTTP 302"),
    ):
        api.pods()


class Garbage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"pods": [{"id": "../../elsewhere", "name": "mtp-x"}]}')

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def test_an_identifier_that_is_an_address_is_no_pod() -> None:
    with (
        serving(Garbage) as url,
        Api(Secret(KEY), print, base=url, pace=QUICK) as api,
        pytest.raises(Refused, match="no identifier of a pod"),
    ):
        api.pods()


def test_the_api_is_that_of_version_two() -> None:
    assert BASE == "https://api.runpod.io"
