"""Does MTP slow down how a prompt is read? The head passes over it too."""

from dataclasses import replace

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.study import Bound, Evidence, Study, Suite
from pytest_mtp.core.suites.paired import both_arms
from pytest_mtp.core.suites.protocol import Arrangement, Design, asked, raw, studied, with_context

_ANSWER_TOKENS = 8
"""A few, so that the prompt is what is measured; more than one, so that there is a rate at all."""


def design(profile: Profile, flag_set: str, tokens: int) -> Design:
    """Prompts of ``tokens`` tokens, with hardly an answer."""
    classes = tuple(replace(one, length=tokens, floor=None) for one in asked(profile)[:1])
    request = replace(raw(profile).request, tokens=_ANSWER_TOKENS)
    asking = with_context(replace(studied(profile, classes), request=request), tokens)
    return Design(
        suite=Suite.PROMPT_PROCESSING,
        flag_set=flag_set,
        subject=f"{tokens} tokens",
        arrangements=(Arrangement(name="prompt", profile=asking, flag_set=flag_set),),
        bounds={"prompt": Bound(limit=profile.suites.prompt_processing.floor)},
    )


def evidence(study: Study) -> Evidence:
    """Prompt tokens per second of both arms."""
    campaign = study.variants[0].campaign
    speed = both_arms(campaign, "prompt tok/s", "prompt", "tok/s", lambda one: one.timings.prompt_tps)
    return Evidence(quantities=(speed,))
