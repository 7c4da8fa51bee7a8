"""What a machine has for a profile, looked up without building, downloading or starting anything."""

import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import Card, CardProcess
from pytest_mtp.core.doctor import Facts, ModelFacts, Server, Tools
from pytest_mtp.core.model import ModelKind, parse_model
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.served_tables import Serving
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.settings import Settings
from pytest_mtp.core.source import SourceKind, parse_source
from pytest_mtp.core.toolchain import spelled, suggestion
from pytest_mtp.equipment import build_spec_of
from pytest_mtp.errors import BuildError, MtpError
from pytest_mtp.resolution import backend_of
from pytest_mtp.runtime.build import complaints
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.cards import cards, measured_cards, telemetry_source
from pytest_mtp.runtime.engines.vllm_launch import find_vllm
from pytest_mtp.runtime.machine import fingerprint
from pytest_mtp.runtime.models import HubFetcher, glance_at
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.sources import fetch_source
from pytest_mtp.runtime.telemetry import watch_of
from pytest_mtp.runtime.toolchain import find_tools, read_toolchain
from pytest_mtp.runtime.upkeep import contents


def inspect(settings: Settings, profile: Profile, progress: Progress) -> Facts:
    """Everything that the doctor judges; what cannot be looked up is a fact too."""
    import psutil

    backend, problem = _device(settings, profile)
    profile = replace(profile, build=replace(profile.build, backend=backend))
    chosen = () if problem else measured_cards(backend, settings.gpu_id, profile.server.extra)
    cache, hub_cache = Cache(settings.cache_dir), HubFetcher().client.cache
    memory = psutil.virtual_memory()
    progress("reading the model's header")
    return Facts(
        machine=_machine(),
        memory_total_bytes=memory.total,
        memory_free_bytes=memory.available,
        backend=backend,
        tools=_tools(settings, profile),
        cards=chosen,
        other_cards=0 if problem else len(cards(backend)) - len(chosen),
        card_problem=problem,
        processes=_strangers(backend, chosen),
        model=_model(settings, profile, cache, progress),
        servers=_servers(settings, profile),
        cache=str(cache.root),
        cache_free_bytes=_free(cache.root),
        cache_holds=contents(cache),
        cache_problem=_unusable(cache.root),
        source_problem=_source_problem(settings, profile, cache),
        hub_cache=str(hub_cache),
        hub_free_bytes=_free(hub_cache),
    )


def _device(settings: Settings, profile: Profile) -> tuple[Backend, str | None]:
    """What computes; where that cannot be had, what would and why not."""
    try:
        return backend_of(settings, profile), None
    except MtpError as error:
        asked = settings.backend or profile.build.backend
        return (Backend.CUDA if asked is Backend.AUTO else asked), str(error)


def _machine() -> str:
    facts = fingerprint(Backend.CPU).facts
    return f"{facts['system']} {facts['arch']}, {facts['cpu']}, {facts['cores']} cores"


def _tools(settings: Settings, profile: Profile) -> Tools:
    if profile.serving is Serving.RUNNING:
        return Tools(words="none needed: the servers run already")
    if profile.serving is Serving.VLLM:
        return _vllm()
    if parse_source(settings.source or profile.source.spec).kind.ready_made:
        return Tools(words="none needed: the source is compiled already")
    spec = build_spec_of(profile)
    try:
        chain = read_toolchain(find_tools(), spec.backend, spec.options)
        lacks = complaints(spec)
    except BuildError as error:
        return Tools(words="not complete", lacks=(str(error),))
    cmake = "CMake of unknown version" if chain.cmake is None else f"CMake {spelled(chain.cmake)}"
    words = [
        chain.compilers[0],
        *([f"nvcc {spelled(chain.nvcc)}"] if chain.nvcc else chain.compilers[1:]),
        cmake,
        "ninja" if chain.ninja else "make",
        *([chain.launcher.value] if chain.launcher else []),
    ]
    hint = suggestion(chain.launcher)
    return Tools(words=", ".join(words), lacks=lacks, hints=(hint,) if hint else ())


def _vllm() -> Tools:
    found = find_vllm()
    if found is None:
        return Tools(words="not complete", lacks=("There is no command vllm here: install it (pip install vllm).",))
    return Tools(words=found)


def _strangers(backend: Backend, chosen: tuple[Card, ...]) -> tuple[CardProcess, ...] | None:
    """Who else computes on the cards; ``None``: the driver does not tell."""
    if not chosen:
        return ()
    with watch_of(telemetry_source(backend), chosen)() as watcher:
        return watcher.read(frozenset({os.getpid()})).foreign


def _model(settings: Settings, profile: Profile, cache: Cache, progress: Progress) -> ModelFacts:
    asked = settings.model or profile.model.spec
    if profile.serving is not Serving.LLAMA_CPP:
        return ModelFacts(label=asked)
    spec = parse_model(asked)
    from_hub = spec.kind is ModelKind.HUB
    token = _has_token() if from_hub else None
    published = profile.model.size if asked == profile.model.spec else None
    try:
        seen = glance_at(spec, profile.model.phantom, cache, progress)
    except MtpError as error:
        return ModelFacts(label=asked, size=published, problem=str(error), from_hub=from_hub, token=token)
    size = published if seen.size is None else seen.size
    return ModelFacts(label=asked, size=size, here=seen.here, header=seen.header, from_hub=from_hub, token=token)


def _has_token() -> bool:
    """Whether huggingface_hub finds a token; its value is not kept."""
    from huggingface_hub import get_token

    return get_token() is not None


def _servers(settings: Settings, profile: Profile) -> tuple[Server, ...]:
    return tuple(
        Server(flag_set=name, spec=profile.server_spec(name, model="any", speculative=arm is Arm.MTP))
        for name in profile.measured(settings.flag_sets)
        for arm in Arm
    )


def _source_problem(settings: Settings, profile: Profile, cache: Cache) -> str | None:
    """Why a tree or binary of this disk cannot be used; nothing is fetched to find out about others."""
    if profile.serving is not Serving.LLAMA_CPP:
        return None
    spec = parse_source(settings.source or profile.source.spec)
    if spec.kind not in {SourceKind.DIR, SourceKind.BIN}:
        return None
    try:
        fetch_source(spec, cache)
    except MtpError as error:
        return str(error)
    return None


def _free(folder: Path) -> int:
    """Bytes that the disk has left, also for a folder that is not there yet."""
    return shutil.disk_usage(_nearest(folder)).free


def _unusable(folder: Path) -> str | None:
    """Why nothing can be kept in a folder, which need not be there yet."""
    there = _nearest(folder)
    if there.is_dir() and os.access(there, os.R_OK | os.W_OK | os.X_OK):
        return None
    return f"{folder} cannot be used: {there} cannot be written, or is no folder. Name another with --cache-dir."


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    for one in (folder.absolute(), *folder.absolute().parents):
        with suppress(OSError):  # no right to look, or a name that is too long
            if one.stat():
                return one
    return Path("/")
