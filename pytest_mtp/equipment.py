"""The way to a server that can be started: source, build, model, machine."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from pytest_mtp.core.build_spec import Build, BuildSpec
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.card import Card
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.gguf_header import Header
from pytest_mtp.core.model import Model, parse_model
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.core.settings import Settings, Vary
from pytest_mtp.core.source import Source, parse_source
from pytest_mtp.core.toolchain import cuda_architecture
from pytest_mtp.runtime.build import build
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.cards import measured_cards
from pytest_mtp.runtime.clocks import locked
from pytest_mtp.runtime.door import HOST
from pytest_mtp.runtime.header import model_header
from pytest_mtp.runtime.interrupt import sigterm_as_ctrl_c
from pytest_mtp.runtime.launch import Launch, OwnLlamaServer
from pytest_mtp.runtime.lock import measuring
from pytest_mtp.runtime.machine import devices, fingerprint
from pytest_mtp.runtime.models import fetch_model
from pytest_mtp.runtime.probe import probe
from pytest_mtp.runtime.progress import Progress, silent
from pytest_mtp.runtime.sandbox import Sandbox, find_sandbox
from pytest_mtp.runtime.sources import fetch_source


class Named(Protocol):
    """What is told apart by an identity, and read by a label."""

    @property
    def identity(self) -> str:
        """Differs wherever the thing does."""

    @property
    def label(self) -> str:
        """What people read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What is got ready before the first server starts."""

    build: Named
    """The engine under test."""
    model: Named
    served: str
    """The model as a server is told of it: a path, or a name."""
    header: Header | None
    """What the model's file says about itself; ``None`` where there is no such file."""
    launch: Callable[[ServerSpec], Launch]
    """How a server is come by; FlagError for what the engine does not offer."""
    machine: Fingerprint
    cards: tuple[Card, ...] = ()
    """Those that the servers compute on; empty on a CPU."""
    logs: Path
    """Where the servers log to."""
    isolated: bool = False
    """Whether the servers run without network and home, which may cost speed."""
    running: bool = False
    """Whether the servers are there before: their flags cannot be changed, and every block meets the same life."""
    counts_tokens: bool = True
    """Whether the engine tells the tokens of a text."""
    notices: tuple[str, ...] = ()
    """What a reader of the numbers should know of the engine."""


def source_of(settings: Settings, profile: Profile, cache: Cache, progress: Progress = silent) -> Source:
    """The llama.cpp that was asked for, else the profile's; SourceError says why it cannot be had."""
    spec = parse_source(settings.source or profile.source.spec)
    return fetch_source(replace(spec, backend=profile.build.backend), cache, progress)


def build_spec_of(profile: Profile, extra_targets: Sequence[str] = (), cards: Sequence[Card] = ()) -> BuildSpec:
    """How the profile wants llama.cpp compiled; with further targets it is another build than the gate's.

    CUDA is compiled for ``cards``; for all of the machine's where none are named.
    """
    plain = BuildSpec(backend=profile.build.backend, options=tuple(profile.build.options.items()))
    told = sorted({card.compute_capability for card in cards if card.compute_capability is not None})
    return replace(
        plain,
        targets=(*plain.targets, *extra_targets),
        cuda_architectures=tuple(map(cuda_architecture, told)),
    )


def cards_of(settings: Settings, profile: Profile) -> tuple[Card, ...]:
    """The cards that the servers will compute on; empty on a CPU."""
    return measured_cards(profile.build.backend, settings.gpu_id, profile.server.extra)


def model_of(settings: Settings, profile: Profile, cache: Cache, progress: Progress = silent) -> Model:
    """The model that was asked for, else the profile's; ModelError says why it cannot be had.

    Before a baseline is recorded the file is hashed anew.
    """
    spec = parse_model(settings.model or profile.model.spec)
    verify = settings.update is not None
    return fetch_model(spec, profile.model.phantom, cache, progress, refresh=settings.refresh, verify=verify)


def build_of(
    profile: Profile,
    source: Source,
    cache: Cache,
    progress: Progress = silent,
    cards: Sequence[Card] = (),
    sandbox: Sandbox | None = None,
) -> Build:
    """The build of ``source`` that the gate would measure: compiled once, then found."""
    return build(build_spec_of(profile, cards=cards), source, cache, progress, sandbox)


def sandbox_of(settings: Settings, profile: Profile) -> Sandbox | None:
    """What strangers' code runs in, where that was asked for; SettingsError where it cannot be had."""
    return find_sandbox(profile.build.backend) if settings.isolate else None


def equipment_of(
    settings: Settings, profile: Profile, made: Build, capabilities: Capabilities, model: Model, logs: Path
) -> Equipment:
    """Build and model together with what they and the machine say about themselves; seconds."""
    sandbox = sandbox_of(settings, profile)

    def launch(spec: ServerSpec) -> Launch:
        spec = spec if sandbox is None else replace(spec, host=HOST, port=None)
        arguments = negotiate(spec, capabilities)
        return OwnLlamaServer(
            binary=made.server, capabilities=capabilities, spec=spec, arguments=arguments, sandbox=sandbox
        )

    return Equipment(
        build=made,
        model=model,
        served=str(model.path),
        header=model_header(model.path),
        launch=launch,
        machine=fingerprint(profile.build.backend, settings.gpu_id, profile.server.extra),
        cards=cards_of(settings, profile),
        logs=logs,
        isolated=sandbox is not None,
    )


def opposite(settings: Settings, profile: Profile, head: Equipment, progress: Progress = silent) -> Equipment:
    """What the base of a comparison is measured with; of two flag sets of one build that is the head's own."""
    if settings.vary is Vary.FLAG_SET:
        return head
    return equip(settings.of_base, profile, Cache(settings.cache_dir), head.logs, progress)


def equip(settings: Settings, profile: Profile, cache: Cache, logs: Path, progress: Progress = silent) -> Equipment:
    """All that a campaign needs; minutes the first time, then seconds."""
    source = source_of(settings, profile, cache, progress)
    sandbox = sandbox_of(settings, profile)
    made = build_of(profile, source, cache, progress, cards_of(settings, profile), sandbox)
    model = model_of(settings, profile, cache, progress)
    return equipment_of(settings, profile, made, probe(made.server, sandbox=sandbox), model, logs)


@contextmanager
def to_itself(equipment: Equipment, settings: Settings, progress: Progress) -> Iterator[int | None]:
    """Hold the devices that are measured on, and their clocks where that was asked for; yields the clock in MHz."""
    with ExitStack() as stack:
        for one in devices(equipment.machine):
            stack.enter_context(measuring(one, progress))
        if not settings.lock_clocks:
            yield None
            return
        stack.enter_context(sigterm_as_ctrl_c())  # else the clocks would stay locked
        yield stack.enter_context(locked(equipment.cards))
