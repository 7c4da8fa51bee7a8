"""Which running servers are measured: how a user says it, and which engine is behind."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from urllib.parse import SplitResult, urlsplit

from pytest_mtp.core.secret import Secret, masked
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import SettingsError

KEY_VARIABLE = "MTP_ENDPOINT_KEY"
"""The environment variable with the key of the servers: a command line can be read by every user of a machine."""

_FORMS = (
    "Write plain=URL and mtp=URL, such as mtp=http://127.0.0.1:8000, mtp=vllm:http://127.0.0.1:8000 to say the engine, "
    "or mtp=http://127.0.0.1:11434#MODEL where a server has several models."
)
_PARTS = re.compile(r"(?P<arm>[^=]*)=(?:(?P<engine>[^:/]*):(?=[A-Za-z]+://))?(?P<url>.*)", re.DOTALL)
_API = "/v1"
_PORTS = {"http": 80, "https": 443}
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
# A password may hold any letter, also those that end a host; so all up to the last @ is taken for it.
_LOGIN = re.compile(r"^((?:plain|mtp)=)?.*@", re.DOTALL)
_QUERY = re.compile(r"\?.*", re.DOTALL)


class Engine(Enum):
    """What kind of server answers; the value is how a user writes it."""

    LLAMA_SERVER = "llama-server"
    VLLM = "vllm"
    SGLANG = "sglang"
    OLLAMA = "ollama"
    OPENAI = "openai"

    @property
    def label(self) -> str:
        """As it is written in a sentence."""
        return _LABELS[self]


_LABELS: Mapping[Engine, str] = {
    Engine.LLAMA_SERVER: "llama-server",
    Engine.VLLM: "vLLM",
    Engine.SGLANG: "SGLang",
    Engine.OLLAMA: "Ollama",
    Engine.OPENAI: "an OpenAI-compatible server",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server that somebody else started; ``str()`` gives a text that ``parse_endpoint`` reads back."""

    arm: Arm
    url: str
    """Its root: neither /v1 nor a slash at the end."""
    engine: Engine | None = None
    """``None`` is found out by asking."""
    model: str | None = None
    """``None`` takes the only model that it has."""

    @property
    def place(self) -> tuple[str, int, str]:
        """Host, port and path, the same for every spelling of an address; all names of this machine are one."""
        parts = urlsplit(self.url)
        host = (parts.hostname or "").rstrip(".")
        return "localhost" if host in _THIS_MACHINE else host, parts.port or _PORTS[parts.scheme], parts.path

    def __str__(self) -> str:
        engine = "" if self.engine is None else f"{self.engine.value}:"
        model = "" if self.model is None else f"#{self.model}"
        return f"{self.arm.value}={engine}{self.url}{model}"


def parse_endpoint(text: str) -> Endpoint:
    """Read ``ARM=[ENGINE:]URL[#MODEL]``; SettingsError names all forms and repeats no secret."""
    parts = _PARTS.fullmatch(text.strip())
    if parts is None or parts["arm"] not in {arm.value for arm in Arm}:
        raise _refusal(text, "does not begin with plain= or mtp=")
    url = _split(text, parts["url"])
    return Endpoint(
        arm=Arm(parts["arm"]),
        url=f"{url.scheme}://{url.netloc}{url.path.rstrip('/').removesuffix(_API).rstrip('/')}",
        engine=None if parts["engine"] is None else _engine(text, parts["engine"]),
        model=url.fragment or None,
    )


def parse_endpoints(texts: Sequence[str]) -> Mapping[Arm, Endpoint]:
    """Read one endpoint per arm; SettingsError where one lacks, comes twice, or both are the same server."""
    found: dict[Arm, Endpoint] = {}
    for text in texts:
        endpoint = parse_endpoint(text)
        if endpoint.arm in found:
            raise SettingsError(f"There are two endpoints of the {endpoint.arm.value} arm; give one of each arm.")
        found[endpoint.arm] = endpoint
    for arm in Arm:
        if arm not in found:
            raise SettingsError(f"The {arm.value} arm has no endpoint, and a comparison needs both. {_FORMS}")
    if len({(one.place, one.model) for one in found.values()}) == 1:
        raise SettingsError(one_server_twice(found[Arm.MTP]))
    return found


def one_server_twice(endpoint: Endpoint) -> str:
    """What is said where both arms are the same model of the same server."""
    return f"Both arms are at {endpoint.url}: one server either drafts or does not; start two."


def checked_key(value: str | None) -> Secret | None:
    """The key of the servers as the environment has it, ``None`` without one; SettingsError does not repeat it."""
    key = Secret((value or "").strip())
    if any(not "!" <= letter <= "~" for letter in key):
        raise SettingsError(
            f"{KEY_VARIABLE} holds a space, a line end or a letter beyond ASCII, which no header can carry: set it to "
            "the key alone."
        )
    return key or None


def _split(text: str, url: str) -> SplitResult:
    """The parts of a URL that can be asked."""
    try:
        split = urlsplit(url)
        port, host = split.port, split.hostname
        (host or "").encode("idna")
    except ValueError:
        # Neither shown nor chained: it quotes parts of the text, and the password is among them.
        raise _refusal(text, "has no valid address") from None
    if split.username is not None or split.password is not None:
        why = f"holds a user or password, which would be shown in reports; put a key into {KEY_VARIABLE}"
        raise _refusal(text, why)
    if split.scheme not in {"http", "https"} or not host or port == 0 or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise _refusal(text, "has no URL that begins with http:// or https:// and a host")
    if split.query:
        raise _refusal(text, "has a query behind the URL, which may hold a secret; leave it out")
    return split


def _engine(text: str, name: str) -> Engine:
    try:
        return Engine(name)
    except ValueError:
        offers = ", ".join(one.value for one in Engine)
        raise _refusal(text, f"names an engine that is none of: {offers}") from None


def _refusal(text: str, why: str) -> SettingsError:
    shown = masked(_QUERY.sub("", _LOGIN.sub(r"\1...@", text)))
    return SettingsError(f"The endpoint {shown!r} {why}. {_FORMS}")
