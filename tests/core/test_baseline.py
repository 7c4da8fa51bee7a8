from dataclasses import replace

import pytest

from pytest_mtp.core.baseline import BASELINE_VERSION, BaselineFile, Recorded, narrowed
from pytest_mtp.core.sample import Campaign
from pytest_mtp.errors import InputError
from tests.campaigns import campaign, circumstances

NOW = campaign({"a": (2.0, 2.0), "b": (1.0, 1.0)})


def file(*recorded: Campaign) -> BaselineFile:
    records = tuple(Recorded("2026-01-01T00:00:00+00:00", "test", one) for one in recorded)
    return BaselineFile(version=BASELINE_VERSION, profile="p", fingerprint={}, recorded=records)


def with_circumstances(**changes: object) -> Campaign:
    return replace(NOW, circumstances=circumstances(**changes))


def test_the_same_circumstances_match() -> None:
    found = file(NOW).sessions(with_circumstances(build="another build", model_label="phantom:head=broken"))
    assert [one.campaign for one in found] == [NOW]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "m2"}, "model was m1, is m2"),
        ({"fingerprint": "there"}, "fingerprint was here, is there"),
        ({"isolation": "alternate"}, "isolation was side-by-side, is alternate"),
        ({"flags": {"ctx": "2048", "n_max": "3"}}, "ctx was 1024, is 2048"),
        ({"request": {"tokens": "48"}}, "tokens was 97, is 48"),
    ],
)
def test_other_circumstances_never_match_and_are_named(changes: dict[str, object], said: str) -> None:
    now = with_circumstances(**changes)
    assert file(NOW).sessions(now) == ()
    assert file(NOW).mismatch(now) == said


def test_a_record_takes_the_place_of_what_it_replaces() -> None:
    other = replace(NOW, flag_set="n5")
    newer = replace(NOW, started_at="2026-02-02T00:00:00+00:00")
    changed = file(NOW, other).with_record(Recorded("2026-02-02T00:00:00+00:00", "test", newer))
    assert [one.campaign.started_at for one in changed.recorded] == [other.started_at, newer.started_at]


def test_a_class_whose_prompt_changed_has_no_baseline() -> None:
    then, now = with_circumstances(prompts={"a": "1", "b": "2"}), with_circumstances(prompts={"a": "1", "b": "3"})
    assert narrowed(then, now).classes == ("a",)


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(InputError, match="update pytest-mtp"):
        BaselineFile(version=BASELINE_VERSION + 1, profile="p", fingerprint={})
