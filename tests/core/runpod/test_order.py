"""The request for a pod keeps to the description of the API, and holds no secret."""

import json
import re
import shlex
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_mtp.core.runpod.offer import Cloud
from pytest_mtp.core.runpod.order import Order, Tenancy, body
from pytest_mtp.errors import SettingsError
from tests.fakes.runpod import SCHEMA

TENANCY = Tenancy(
    name="mtp-run-1",
    gpu="NVIDIA GeForce RTX 3090",
    public_key="ssh-ed25519 AAAA mtp-run-1",
    api="https://api.runpod.io",
    until=1_800_000_000,
    seconds=7200,
)


def breaks(value: dict[str, Any]) -> list[str]:
    document = {"$ref": "#/$defs/CreatePodRequest", "$defs": SCHEMA["$defs"]}
    return [error.message for error in Draft202012Validator(document).iter_errors(value)]


@pytest.mark.parametrize(
    "order",
    [
        Order(),
        Order(cloud=Cloud.COMMUNITY, min_cuda=None),
        Order(volume="vol_1", data_centers=("EU-RO-1", "US-KS-2")),
        Order(hf_secret="hub_token", disk_gb=1, volume_gb=10),
    ],
)
def test_every_order_is_what_the_api_takes(order: Order) -> None:
    assert breaks(body(order, TENANCY)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"gpuTypeIds": ["NVIDIA GeForce RTX 3090"]},
        {"cpu": {"id": "cpu5c"}},
        {"mounts": {"persistent": {"size": 9, "path": "/workspace"}}},
        {"ports": "22/tcp"},
        {"env": {"HF_TOKEN": None}},
        {"gpu": {"id": "x", "minCudaVersion": "12"}},
        {"gpu": {"id": "x", "minCudaVersion": "12.8", "allowedCudaVersions": ["12.8"]}},
        {"mounts": {"persistent": {"size": 10, "path": "/a"}, "network": [{"volumeId": "v", "path": "/b"}]}},
    ],
)
def test_the_schema_takes_no_other_form(change: dict[str, Any]) -> None:
    assert breaks(body(Order(), TENANCY) | change)


def test_only_ssh_is_open_so_that_no_server_can_be_reached() -> None:
    assert body(Order(), TENANCY)["ports"] == ["22/tcp"]


def test_a_token_is_a_reference_to_a_secret() -> None:
    assert body(Order(hf_secret="hub"), TENANCY)["env"]["HF_TOKEN"] == "{{ RUNPOD_SECRET_hub }}"
    assert "HF_TOKEN" not in body(Order(), TENANCY)["env"]


@pytest.mark.parametrize("name", ["hf_" + "a" * 30, "rpa_" + "A" * 30])
def test_a_token_in_the_place_of_a_name_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(SettingsError, match="looks like a token") as caught:
        Order(hf_secret=name)
    assert name not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "a}}", "ä"])
def test_a_name_of_a_secret_is_a_word(name: str) -> None:
    with pytest.raises(SettingsError, match="letters, digits and underscores"):
        Order(hf_secret=name)


def test_the_guard_begins_with_the_container_and_brings_up_its_ssh_server() -> None:
    shell, flag, script = shlex.split(body(Order(), TENANCY)["args"])
    assert (shell, flag) == ("bash", "-c")
    assert re.search(r"1800000000 - .*7200.*DELETE.*& exec /start\.sh$", script)


def test_the_command_of_the_container_has_no_brace_that_runpod_would_fill_in() -> None:
    assert "{{" not in body(Order(hf_secret="hub"), TENANCY)["args"]


def test_the_disks_that_are_paid_are_those_that_go_with_the_pod() -> None:
    assert Order().paid_gb == 140
    assert replace(Order(), volume="vol_1").paid_gb == 40


def test_the_request_can_be_sent() -> None:
    assert json.loads(json.dumps(body(Order(), TENANCY)))["name"] == "mtp-run-1"
