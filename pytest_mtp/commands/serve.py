"""``pytest-mtp serve``: the server that the gate would start, for a person and a browser, until Ctrl-C."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pytest_mtp.commands.subject import add_subject, subject
from pytest_mtp.core import serving
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.server_spec import Arm, ServerSpec
from pytest_mtp.core.settings import Settings
from pytest_mtp.errors import BuildError, CacheError, ServerDied, ServerError, SettingsError

if TYPE_CHECKING:
    from pytest_mtp.core.build_spec import Build
    from pytest_mtp.core.capabilities import Capabilities
    from pytest_mtp.core.model import Model
    from pytest_mtp.core.source import Source
    from pytest_mtp.runtime.cache import Cache
    from pytest_mtp.runtime.progress import ProgressLine
    from pytest_mtp.runtime.server import Server

HELP = "start the gate's llama-server for you and your browser (or llama-cli, with --cli)"

_CLI = "llama-cli"
_TERMINAL = ("TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES")
_INTERRUPTED = 130  # what a shell reports of a program that Ctrl-C ended


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take a profile and what overrides it, the arm, and where to listen."""
    add_subject(parser)
    arms = [arm.value for arm in Arm]
    parser.add_argument("--arm", choices=arms, default=Arm.MTP.value, help="with MTP or without (default: mtp)")
    parser.add_argument(
        "--flag-set", dest="mtp_flag_set", action="append", metavar="NAME", help="flag set (default: the first)"
    )
    parser.add_argument("--host", metavar="HOST", help="address to listen on (default: 127.0.0.1, this machine only)")
    parser.add_argument("--port", type=int, metavar="N", help="port, 0 for any (default: the profile's, else 8910)")
    parser.add_argument("--no-ui", action="store_true", help="make no web page")
    parser.add_argument("--cli", action="store_true", help="talk to the model here, in llama-cli, without a server")


def run(parsed: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM, then 0; 1 when the server dies. With --cli this process becomes llama-cli."""
    from pytest_mtp.runtime.interrupt import sigterm_as_ctrl_c
    from pytest_mtp.runtime.progress import ProgressLine

    line = ProgressLine(sys.stderr)
    with sigterm_as_ctrl_c():
        try:
            wish = _wish(parsed)
            return _talk(wish, line) if parsed.cli else _serve(wish, line)
        except ServerError as error:
            line.clear()
            sys.stderr.write(f"pytest-mtp: {error}\n")
            return 1
        except KeyboardInterrupt:
            line.clear()
            sys.stderr.write("Interrupted.\n")
            return _INTERRUPTED
        finally:
            line.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What the command line asks for, checked before anything is built."""

    settings: Settings
    profile: Profile
    flag_set: str
    arm: Arm
    host: str
    port: int | None
    page: bool

    def spec(self, model: Path) -> ServerSpec:
        """The server of this arm as the gate would ask for it, but where the person wants it."""
        speculative = self.arm is Arm.MTP
        gate = self.profile.server_spec(self.flag_set, model=str(model.absolute()), speculative=speculative)
        return replace(gate, host=self.host, port=self.port)


def _wish(parsed: argparse.Namespace) -> _Wish:
    if parsed.cli and (parsed.host, parsed.port) != (None, None):
        raise SettingsError("--cli starts no server, so --host and --port mean nothing beside it; drop them.")
    settings, profile = subject(parsed)
    if len(settings.flag_sets) > 1:
        raise SettingsError(f"A server runs with one flag set, not with {' and '.join(settings.flag_sets)}.")
    # The profile's own host is not used: a server without a key is opened to a network by a person alone.
    host = serving.LOOPBACK if parsed.host is None else parsed.host
    return _Wish(
        settings=settings,
        profile=profile,
        flag_set=profile.measured(settings.flag_sets)[0],
        arm=Arm(parsed.arm),
        host=host,
        port=None if parsed.cli else _port(host, parsed.port, profile.server.serve_port),
        page=not parsed.no_ui,
    )


def _port(host: str, *asked: int | None) -> int:
    from pytest_mtp.runtime.port import available_port

    return available_port(host, next((port for port in asked if port is not None), serving.PORT))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """What a server, or llama-cli, is started from."""

    cache: "Cache"
    source: "Source"
    build: "Build"
    capabilities: "Capabilities"
    model: "Model"


def _get_ready(wish: _Wish, line: "ProgressLine", *targets: str) -> _Ready:
    """Source, build and model, as the gate has them; minutes the first time."""
    from pytest_mtp.equipment import build_spec_of, model_of, source_of
    from pytest_mtp.runtime.build import build
    from pytest_mtp.runtime.cache import Cache
    from pytest_mtp.runtime.probe import probe

    cache = Cache(wish.settings.cache_dir)
    source = source_of(wish.settings, wish.profile, cache, line.show)
    made = build(build_spec_of(wish.profile, targets), source, cache, line.show)
    model = model_of(wish.settings, wish.profile, cache, line.show)
    return _Ready(cache=cache, source=source, build=made, capabilities=probe(made.server), model=model)


def _serve(wish: _Wish, line: "ProgressLine") -> int:
    from pytest_mtp.runtime.server import serve

    ready = _get_ready(wish, line)
    page, lacking = _page(wish, ready, line)
    spec = wish.spec(ready.model.path)
    arguments = (*negotiate(spec, ready.capabilities), *(() if page is None else ("--path", str(page))))
    line.show("starting the server")
    timeout_s = wish.profile.measure.start_timeout_s
    launch = partial(serve, start_timeout_s=timeout_s, environment=_held(wish))
    with (
        _log_folder() as folder,
        _explaining(ready.model),
        launch(ready.build.server, arguments, spec, folder) as server,
    ):
        line.clear()
        with suppress(KeyboardInterrupt):
            _announce(wish, ready, server, lacking)
            server.process.wait()
            server.check_alive("while it served")
        sys.stderr.write("\nStopping the server.\n")
    return 0


@contextmanager
def _log_folder() -> Iterator[Path]:
    """A folder for the server's log; kept when the server failed, of which it is the only witness."""
    folder = Path(tempfile.mkdtemp(prefix="pytest-mtp-serve-"))
    kept = False
    try:
        yield folder
    except ServerError as error:
        kept = True
        whole = f"{error.message}\nIts whole log: {folder / 'server.log'}"
        raise type(error)(whole, command=error.command, log_tail=error.log_tail) from error
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def _held(wish: _Wish) -> dict[str, str]:
    """The variables that hold the server to the card that the gate would measure."""
    from pytest_mtp.runtime.cards import hold, measured_cards

    backend, gpu_id = wish.profile.build.backend, wish.settings.gpu_id
    return hold(backend, measured_cards(backend, gpu_id, wish.profile.server.extra), gpu_id)


@contextmanager
def _explaining(model: "Model") -> Iterator[None]:
    """Put in front of a server's end why it did not load the model, where file and log tell."""
    from pytest_mtp.core.mtp_layer import explained
    from pytest_mtp.runtime.header import model_header

    try:
        yield
    except ServerDied as error:
        why = explained(error.message, model_header(model.path), error.log_tail)
        raise ServerDied(why, command=error.command, log_tail=error.log_tail) from error


def _page(wish: _Wish, ready: _Ready, line: "ProgressLine") -> tuple[Path | None, str]:
    """The page's folder, or why there is none; a ready-made binary may bring its own."""
    from pytest_mtp.runtime.ui import web_page

    if not wish.page:
        return None, "--no-ui"
    if ready.source.kind.ready_made:
        return None, "this binary brings none, and there is no tree to make one from"
    if not ready.capabilities.offers("--path"):
        return None, "this build has no --path"
    try:
        return web_page(ready.source, ready.cache, line.show), "the server does not show it"
    except (BuildError, CacheError) as error:
        return None, str(error)


def _announce(wish: _Wish, ready: _Ready, server: "Server", lacking: str) -> None:
    """Say where it is and how to have the same by hand; flushed, since others wait for it."""
    url = serving.address(wish.host, server.port)
    if warning := serving.exposure(wish.host, server.port):
        sys.stderr.write(f"Warning: {warning}\n")
    parts = f"flag set {wish.flag_set}, model {ready.model.label}, llama.cpp {ready.build.label}"
    sys.stdout.write(
        f"The {wish.arm.value} server of {wish.profile.name} is ready ({parts}).\n"
        f"{serving.entrance(url, None if server.client.page() else lacking)}\n"
        f"Log: {server.log}\n"
        f"The same without pytest-mtp:\n{serving.plain_line(server.command, os.environ)}\n"
        "Ctrl-C stops it.\n"
    )
    sys.stdout.flush()


def _talk(wish: _Wish, line: "ProgressLine") -> NoReturn:
    """Become llama-cli: the terminal, its signals and the exit status are its own from here on."""
    from pytest_mtp.runtime.child import child_environment
    from pytest_mtp.runtime.probe import probe
    from pytest_mtp.runtime.process import not_startable, server_environment

    ready = _get_ready(wish, line, _CLI)
    program = ready.build.server.with_name(_CLI)
    if not program.is_file():
        raise BuildError(f"There is no {program}; give a --source that is compiled, or serve a page without --cli.")
    server_arguments = negotiate(wish.spec(ready.model.path), ready.capabilities)
    arguments = serving.cli_arguments(server_arguments, probe(program, known_by="--model"))
    command = (str(program), *arguments)
    line.clear()
    sys.stderr.write(f"The same without pytest-mtp:\n{serving.plain_line(command, os.environ)}\n")
    sys.stderr.flush()
    try:
        os.execve(program, command, {**server_environment(), **child_environment(_TERMINAL), **_held(wish)})
    except OSError as error:
        raise ServerDied(not_startable(str(program), error)) from error
