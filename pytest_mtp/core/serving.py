"""How a person reaches a server, and how the same server or llama-cli is started without this package."""

import ipaddress
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.errors import FlagError

LOOPBACK = "127.0.0.1"
PORT = 8910
"""Where a person's server listens when neither the profile nor the person says."""

_ANY: Mapping[str, str] = MappingProxyType({"0.0.0.0": LOOPBACK, "::": "::1"})

# A terminal has no use for them, and llama-cli may lack them.
_OF_A_SERVER = frozenset({"--host", "--port", "--metrics", "--slots", "-a", "--alias", "--path"})
# The gate wants the layers in the log; on a terminal the log would stand between the answers.
_TALKATIVE = frozenset({"-lv", "--verbosity"})


def address(host: str, port: int) -> str:
    """The URL that reaches, from this machine, what listens on ``host``."""
    reached = _ANY.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def exposure(host: str, port: int) -> str | None:
    """A warning where others than this machine can reach the server; ``None`` on loopback."""
    if host == "localhost" or _is_loopback(host):
        return None
    return (
        f"Listening on {host}: there is no key, so anyone who can reach port {port} of this machine over the network "
        "can use the model and read what others ask."
    )


def entrance(url: str, lacking: str | None) -> str:
    """The line that says where to go; ``lacking`` is why there is no page, ``None`` when there is one."""
    if lacking is None:
        return f"Web page: {url}/"
    return f"Only the API is served, at {url} (no web page: {lacking})."


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def plain_line(command: Sequence[str], variables: Iterable[str]) -> str:
    """The command for a shell; of the shell's ``variables``, those that llama.cpp reads as flags are unset for it."""
    flags = sorted(name for name in variables if name.startswith("LLAMA_ARG_"))
    unset = ["env", *(word for name in flags for word in ("-u", name))] if flags else []
    return shlex.join([*unset, *command])


def cli_arguments(arguments: Sequence[str], capabilities: Capabilities) -> tuple[str, ...]:
    """The arguments of a server as llama-cli takes them; FlagError for one that it lacks and that would change it."""
    if "--spec-type" in arguments and capabilities.mtp is None:
        raise FlagError("This build's llama-cli has no MTP; give --arm plain, or serve a page without --cli.")
    kept: list[str] = []
    for option in options(arguments):
        if option[0] in _TALKATIVE or (option[0] in _OF_A_SERVER and not capabilities.offers(option[0])):
            continue
        if not capabilities.offers(option[0]):
            raise FlagError(
                f"This build's llama-cli has no {option[0]}, which the profile sets; drop it from the profile "
                "(--set), or serve a page without --cli."
            )
        kept.extend(option)
    return tuple(kept)


def options(arguments: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each flag with its values; a negative number is a value."""
    starts = [place for place, word in enumerate(arguments) if word[:1] == "-" and not word[1:2].isdigit()]
    for start, end in zip(starts, [*starts[1:], len(arguments)], strict=True):
        yield tuple(arguments[start:end])
