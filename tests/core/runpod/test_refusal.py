"""What each refusal of the API means and what mends it."""

import pickle

import pytest

from pytest_mtp.core.runpod.refusal import ANOTHER_KIND, PASSING, UNCERTAIN, Reason, Refused, asked_wait_s, reason_of


@pytest.mark.parametrize(
    ("status", "reason", "another", "passing", "uncertain"),
    [
        (400, Reason.NO_PLACE, True, False, False),
        (401, Reason.KEY, False, False, False),
        (402, Reason.BALANCE, False, False, False),
        (403, Reason.FORBIDDEN, True, False, False),
        (404, Reason.GONE, False, False, False),
        (410, Reason.REQUEST, False, False, False),
        (422, Reason.REQUEST, False, False, False),
        (429, Reason.TOO_OFTEN, False, True, False),
        (500, Reason.FAULT, False, True, True),
        (503, Reason.FAULT, False, True, True),
    ],
)
def test_a_status_has_a_reason(status: int, reason: Reason, *, another: bool, passing: bool, uncertain: bool) -> None:
    assert reason_of(status) is reason
    assert (reason in ANOTHER_KIND, reason in PASSING, reason in UNCERTAIN) == (another, passing, uncertain)


def test_only_a_request_that_was_sent_may_have_been_done() -> None:
    assert Reason.CUT in UNCERTAIN
    assert Reason.UNREACHABLE not in UNCERTAIN


@pytest.mark.parametrize("reason", Reason)
def test_every_refusal_says_why_and_what_to_do(reason: Reason) -> None:
    said = str(Refused(reason, "RunPod makes no pod", "because\nof that"))
    assert said.startswith(f"RunPod makes no pod: {reason.value} (because of that). ")
    assert said.endswith(".")


def test_what_runpod_says_is_masked_and_short() -> None:
    said = str(Refused(Reason.FAULT, "It fails", f"rpa_{'A' * 30} {'x' * 5000}"))
    assert "rpa_A" not in said
    assert len(said) < 500


@pytest.mark.parametrize(
    ("value", "wait_s"), [("12", 12.0), ("0", 0.0), ("", None), ("-1", None), ("soon", None), ("1" * 10, None)]
)
def test_a_pause_is_whole_seconds(value: str, wait_s: float | None) -> None:
    assert asked_wait_s({"retry-after": value}) == wait_s


def test_a_refusal_survives_being_pickled() -> None:
    again = pickle.loads(pickle.dumps(Refused(Reason.TOO_OFTEN, "what", "detail", 3.0)))
    assert (again.reason, again.what, again.detail, again.wait_s) == (Reason.TOO_OFTEN, "what", "detail", 3.0)
