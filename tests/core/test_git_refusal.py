"""What git says of a name that it cannot fetch, and the mend that this leads to."""

import pytest

from pytest_mtp.core.git_refusal import git_mend


@pytest.mark.parametrize(
    ("said", "mend"),
    [
        ("fatal: could not read Username for 'https://x': terminal prompts disabled", "it asks for a login"),
        ("fatal: unable to access: server certificate verification failed", "GIT_SSL_CAINFO"),
        ("error: RPC failed; curl 28 Operation too slow. Less than 1000 bytes/sec", "GIT_HTTP_LOW_SPEED_TIME"),
        ("fatal: unable to access: The requested URL returned error: 302", "it redirects"),
        ("fatal: unable to access: The requested URL returned error: 429", "asked too often (HTTP 429)"),
        ("fatal: unable to access: The requested URL returned error: 503", "it fails (HTTP 5xx): try again later."),
        ("fatal: unable to access: The requested URL returned error: 404", "check the URL, the ref and the network."),
        ("fatal: couldn't find remote ref nonesuch", "check the URL, the ref and the network."),
        ("", "check the URL, the ref and the network."),
    ],
)
def test_gits_own_words_lead_to_the_mend(said: str, mend: str) -> None:
    assert mend in git_mend(said, short_sha=False)


def test_of_a_short_sha_more_is_asked_for_unless_git_names_another_cause() -> None:
    assert "a short sha must fit one commit only" in git_mend("fatal: no such ref", short_sha=True)
    assert "try again later" in git_mend("The requested URL returned error: 500", short_sha=True)
