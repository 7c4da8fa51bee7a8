"""Does MTP slow down how a prompt is read? Longer prompts by marker."""

from collections.abc import Callable

import pytest

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import prompt_processing
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict

_LONGER = [pytest.param(tokens, marks=pytest.mark.mtp_dear) for tokens in (4096, 16384)]


@pytest.mark.parametrize("tokens", [512, *_LONGER])
def test_prompt_processing(
    tokens: int,
    mtp_studied: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    mtp_gate(mtp_study(prompt_processing.design(mtp_profile, mtp_studied, tokens)))
