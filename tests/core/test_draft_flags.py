"""The flags that a measured server drafted with, out of its command."""

from pytest_mtp.core.draft_flags import drafting, serving

_SERVER = "/bin/llama-server -m /m.gguf -c 1024 -a {0} --metrics --host ::1"
PLAIN = f"{_SERVER.format('n3-plain')} -b 512 --api-key-file /tmp/plain --port 1"


def test_what_the_mtp_arm_alone_has_are_its_flags_in_their_order() -> None:
    mtp = f"{_SERVER.format('n3-mtp')} --spec-type draft-mtp --spec-draft-n-max 3 -b 512 --note 'a b' --port 2"
    assert drafting(mtp, PLAIN) == "--spec-type draft-mtp --spec-draft-n-max 3 --note 'a b'"


def test_another_spelling_is_told_as_that_build_takes_it() -> None:
    mtp = f"{_SERVER.format('n3-mtp')} --spec-type mtp:n_max=3,p_min=0.5 -b 512 --port 2"
    assert drafting(mtp, PLAIN) == "--spec-type mtp:n_max=3,p_min=0.5"


def test_of_the_plain_arm_what_bears_on_speed_is_told() -> None:
    assert serving(PLAIN) == "-c 1024 -b 512"
