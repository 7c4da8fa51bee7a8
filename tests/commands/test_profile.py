import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_mtp.commands import profile
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.profiles import load_profile, shipped

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command with these words: its status and what it wrote."""

    def run(*words: str) -> tuple[int, str]:
        parser = argparse.ArgumentParser()
        profile.add_arguments(parser)
        status = profile.run(parser.parse_args(words))
        return status, capsys.readouterr().out

    return run


def test_the_list_names_every_shipped_profile_within_80_columns(command: Command) -> None:
    status, text = command("list")
    assert status == 0
    assert {line.split()[0] for line in text.splitlines()[1:] if not line.startswith(" ")} == set(shipped())
    assert max(map(len, text.splitlines())) <= 80


def test_the_list_says_what_a_profile_takes(command: Command) -> None:
    lines = [line.split() for line in command("list")[1].splitlines()]
    assert ["phantom", "cpu", "65", "MB", "any", "machine"] in lines
    assert ["qwen3.6-27b-q6-k", "auto", "22.9", "GB", "32", "GB"] in lines
    assert ["qwen3.5-0.8b", "auto", "-", "4", "GB"] in lines


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("more", [(), ("--origin",)])
def test_what_is_shown_reads_back_as_the_same_profile(
    name: str, more: tuple[str, ...], command: Command, tmp_path: Path
) -> None:
    (tmp_path / "shown.toml").write_text(command("show", name, *more)[1])
    assert load_profile(str(tmp_path / "shown.toml")) == load_profile(name)


def test_strange_values_read_back_too(command: Command, tmp_path: Path) -> None:
    strange = [
        r'classes=[{ name = "a \"b\".c", prompt = "tab\t, \\, \"\"\", \r\n and\nan end\n" }]',
        'server.extra=["--x", "a b"]',
        r'build.options={ "a b" = "c\nd", "ä" = "ü" }',
        'flag_sets={ "n 3.x" = { n_max = 3, p_min = 0.5, server = { ctx = 99 } } }',
    ]
    words = [word for one in strange for word in ("--set", one)]
    (tmp_path / "shown.toml").write_text(command("show", "phantom", "--origin", *words)[1], newline="")
    assert load_profile(str(tmp_path / "shown.toml")) == load_profile("phantom", strange)


def test_an_override_is_shown(command: Command) -> None:
    text = command("show", "phantom", "--set", "server.ctx=333")[1]
    assert "ctx = 333\n" in text
    assert "#" not in text


def test_the_origin_of_values_is_said(command: Command) -> None:
    lines = command("show", "phantom-gpu", "--origin", "--set", "server.ctx=333")[1].splitlines()
    place = lines.index("[server]")
    assert lines[place + 1 : place + 8] == [
        "# override server.ctx=333",
        "ctx = 333",
        "# phantom-gpu.toml",
        "gpu_layers = 99",
        "# phantom.toml",
        'flash_attn = "on"',
        "# default",
    ]


def test_the_origin_of_a_classs_values_is_said(command: Command) -> None:
    text = command("show", "phantom", "--origin", "--set", "classes.miss05.floor=1.5")[1]
    assert (
        '[[classes]]\n# phantom.toml\nname = "miss05"\nprompt = "<|miss05|>"\n'
        "# override classes.miss05.floor=1.5\nfloor = 1.5\n"
    ) in text


def test_an_unknown_profile_is_refused(command: Command) -> None:
    with pytest.raises(SettingsError, match="no profile 'phantm'"):
        command("show", "phantm")


def test_every_shipped_profile_checks_clean(command: Command) -> None:
    status, text = command("check", *shipped())
    assert (status, text.splitlines()) == (0, [f"Profile {name}: no problem found." for name in shipped()])


def test_a_check_tells_all_problems_of_all_files(command: Command, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('extends = "phantom"\nname = "bad"\n[server]\nctxx = 1\n[gates]\nalpha = 2.0\n')
    status, text = command("check", str(bad), str(tmp_path / "none.toml"), "phantom")
    assert status == 1
    wrong, nameless, alpha, missing, sound = text.splitlines()
    assert "server has no 'ctxx'" in wrong
    assert "has no 'description'" in nameless
    assert "gates.alpha is a chance" in alpha
    assert sound == "Profile phantom: no problem found."
    assert "There is no profile" in missing


def test_a_check_finds_what_only_a_run_would_meet(command: Command, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(
        'extends = "phantom"\nname = "bad"\ndescription = ""\nsource.spec = "nowhere"\n'
        "model.phantom.n_ff = 7\nflag_sets.n3.n_max = 0\nflag_sets.n4 = { n_max = 4, p_min = 2.0 }\n"
    )
    status, text = command("check", str(bad))
    assert status == 1
    source, model, no_drafts, no_chance = text.splitlines()
    assert "The source 'nowhere' is of no known form" in source
    assert "n_ff is 7" in model
    assert "n_max is 0" in no_drafts
    assert "p_min is 2.0" in no_chance


def test_a_check_finds_a_class_that_the_phantom_does_not_know(command: Command, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('extends = "phantom"\nname = "bad"\ndescription = ""\nclasses = [{ name = "x", prompt = "X" }]\n')
    assert command("check", str(bad)) == (
        1,
        f"Profile {bad}: The phantom has no class 'x'; it has miss00, miss05, miss10, miss20, miss35, miss60.\n",
    )
