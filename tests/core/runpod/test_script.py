"""The script that a pod runs is one that a shell takes, whatever a person's words hold."""

import shlex
import subprocess

import pytest

from pytest_mtp.core.runpod.look import Look, parse_look
from pytest_mtp.core.runpod.pod import Door
from pytest_mtp.core.runpod.script import Job, look_words, pytest_words, script, serve_words, start_words
from pytest_mtp.core.runpod.ssh_words import Way

HOSTILE = ("--mtp-set", "a=$(touch /tmp/x)", 'it\'s; "here"\n`x`', "{braces}")


def job(words: tuple[str, ...] = ("pytest",), grace_s: int | None = 900, folder: str = "/root/mtp") -> Job:
    return Job(
        package="pytest-mtp[report]==1", words=words, api="https://api.runpod.io", grace_s=grace_s, folder=folder
    )


@pytest.mark.parametrize("words", [(), ("pytest",), ("pytest", *HOSTILE)])
@pytest.mark.parametrize("grace_s", [None, 900])
def test_a_shell_takes_it(words: tuple[str, ...], grace_s: int | None) -> None:
    text = script(job(words, grace_s, "/root/a folder's"))
    done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_words_reach_python_as_they_are() -> None:
    line = script(job(("pytest", *HOSTILE))).split("../venv/bin/python ")[1]
    assert shlex.split(line)[: 2 + len(HOSTILE)] == ["-m", "pytest", *HOSTILE]


def test_pytest_measures_on_the_card_unless_told_otherwise_and_reports_where_it_is_fetched_from() -> None:
    assert pytest_words((), "/f") == (
        "pytest",
        "--mtp-gpu",
        "--mtp-out",
        "/f/results",
        "--junitxml",
        "/f/results/junit.xml",
    )
    assert pytest_words(("--mtp",), "/f")[:2] == ("pytest", "--mtp")


def test_a_server_listens_on_loopback_whatever_the_words_say() -> None:
    assert serve_words(("--host", "0.0.0.0"), 8910)[-4:] == ("--host", "127.0.0.1", "--port", "8910")


def test_a_pod_that_is_kept_has_no_end_after_its_work() -> None:
    assert "sleep 900" in script(job())
    assert "DELETE" not in script(job(grace_s=None))


@pytest.mark.parametrize(
    ("text", "look"),
    [
        ("a\nb\n\x1e", Look(("a", "b"), None)),
        ("a\nhalf\x1e", Look(("a",), None)),
        ("a\nhalf\x1e0\n", Look(("a", "half"), 0)),
        ("\x1e17\n", Look((), 17)),
        ("odd \x1e line\n\x1e", Look(("odd \x1e line",), None)),
        ("a\nb", None),
        ("", None),
    ],
)
def test_a_look_is_whole_lines_and_the_end(text: str, look: Look | None) -> None:
    assert parse_look(text) == look


def test_the_next_look_begins_after_the_lines_that_were_seen() -> None:
    assert look_words(job(), 7).startswith("tail -n +8 /root/mtp/log ")


def test_the_script_outlives_the_connection() -> None:
    assert start_words(job()).startswith("setsid -f bash /root/mtp/job.sh >/root/mtp/log 2>&1 </dev/null")


WAY = Way(Door("h", 22001), "/state/key", "/state/known hosts")


def test_ssh_offers_one_key_and_reads_no_file_of_the_user() -> None:
    words = WAY.command("true")
    assert words[:5] == ("ssh", "-F", "/dev/null", "-i", "/state/key")
    settings = {words[place + 1] for place, word in enumerate(words) if word == "-o"}
    assert {"IdentitiesOnly=yes", "IdentityAgent=none", "ForwardAgent=no", "BatchMode=yes"} <= settings
    assert words[-2:] == ("root@h", "true")


def test_a_tunnel_listens_on_loopback_alone() -> None:
    words = WAY.tunnel(8910, 8910)
    assert words[words.index("-L") + 1] == "127.0.0.1:8910:127.0.0.1:8910"


def test_rsync_takes_no_links_and_a_file_with_a_dash_is_a_file() -> None:
    words = WAY.fetch("/root/mtp/results", "/out")
    assert not {"-a", "-l", "-L"} & set(words)
    assert words[words.index("--") :] == ("--", "root@h:/root/mtp/results/", "/out/")


def test_an_address_of_six_is_bracketed() -> None:
    assert Way(Door("2001:db8::1", 22), "k", "h").fetch("/a", "/b")[-2] == "root@[2001:db8::1]:/a/"


def test_the_line_for_a_person_can_be_typed() -> None:
    assert shlex.split(WAY.person())[-3:] == ["-p", "22001", "root@h"]
