"""What the further suites ask of which servers, before anything is measured."""

from dataclasses import replace

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.request import RequestEndpoint
from pytest_mtp.core.suites import context, latency, parallel, prompt_processing
from pytest_mtp.core.suites.protocol import Design, changes_servers, gives_lengths
from pytest_mtp.runtime.profiles import load_profile

PHANTOM = load_profile("phantom")


def profiles(design: Design) -> dict[str, Profile]:
    """How each campaign of it is asked."""
    return {one.name: one.profile for one in design.arrangements}


def with_prompt(tokens: int) -> Profile:
    """The phantom with a latency suite of such prompts."""
    suites = replace(PHANTOM.suites, latency=replace(PHANTOM.suites.latency, prompt_tokens=tokens))
    return replace(PHANTOM, suites=suites)


def test_the_first_token_is_waited_for_behind_a_prompt_that_takes_time() -> None:
    design = latency.design(with_prompt(2000), "n3")
    (streamed,) = profiles(design).values()
    assert streamed.request.stream
    assert {one.length for one in streamed.classes} == {2000}
    assert streamed.server.ctx >= 2000 + streamed.request.tokens
    assert gives_lengths(design)


def test_without_prompt_tokens_the_classes_are_asked_as_they_are() -> None:
    design = latency.design(with_prompt(0), "n3")
    assert not gives_lengths(design)
    assert not changes_servers(design, PHANTOM)


def test_alone_is_a_server_of_one_slot_so_that_a_broken_slot_is_not_broken_there_too() -> None:
    found = profiles(parallel.design(PHANTOM, "n3", 4))
    alone, together = found["alone"], found["at once"]
    assert (alone.server.parallel, alone.server.ctx, alone.measure.at_once) == (1, PHANTOM.server.ctx, False)
    assert (together.server.parallel, together.server.ctx, together.measure.at_once) == (
        4,
        4 * PHANTOM.server.ctx,
        True,
    )
    assert [one.name for one in alone.classes] == [one.name for one in together.classes]


def test_a_prompt_of_a_length_is_asked_raw_also_of_a_profile_that_chats() -> None:
    chat = replace(PHANTOM, request=replace(PHANTOM.request, endpoint=RequestEndpoint.CHAT, thinking=False))
    designs = (latency.design(chat, "n3"), context.design(chat, "n3"), prompt_processing.design(chat, "n3", 512))
    asked = [one.request for design in designs for one in profiles(design).values()]
    assert {(one.endpoint, one.thinking) for one in asked} == {(RequestEndpoint.RAW, None)}
