"""From what a run was asked to do to the plan of one campaign, with every circumstance that belongs to its numbers."""

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import may_spill, memory_of
from pytest_mtp.core.footprint import DEVICE_MARGIN, footprint
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.model import ModelKind, parse_model
from pytest_mtp.core.profile import Profile, PromptClass
from pytest_mtp.core.sample import Circumstances
from pytest_mtp.core.served_tables import Serving
from pytest_mtp.core.server_spec import MTP_ALONE, Arm, ServerSpec, Speculation
from pytest_mtp.core.settings import Settings
from pytest_mtp.core.side import Side
from pytest_mtp.core.traffic import bytes_per_token
from pytest_mtp.core.validity import Conditions
from pytest_mtp.equipment import Equipment
from pytest_mtp.runtime.bandwidth import read_bandwidth
from pytest_mtp.runtime.cards import hold, telemetry_source
from pytest_mtp.runtime.machine import memory
from pytest_mtp.runtime.models import phantom_spec
from pytest_mtp.runtime.plan import Plan, Seat, against
from pytest_mtp.runtime.process import accelerator_environment
from pytest_mtp.runtime.telemetry import watch_of

_NOT_IN_KEY = {"model", "alias", "host", "port", "speculation", "sampled"}


def campaign_plan(
    settings: Settings,
    profile: Profile,
    equipment: Equipment,
    flag_set: str,
    classes: tuple[PromptClass, ...],
    locked_mhz: int | None,
) -> Plan:
    """The campaign of ``classes`` under one flag set, without a deadline; FlagError where the build lacks a flag."""
    backend, cards = profile.build.backend, equipment.cards
    held = hold(backend, cards, settings.gpu_id)
    seen = {**accelerator_environment(), **held}
    specs = {arm: profile.server_spec(flag_set, model=equipment.served, speculative=arm is Arm.MTP) for arm in Arm}
    seats = tuple(_seat(arm, spec, equipment) for arm, spec in specs.items())
    # Those that run already are all up, whatever is asked.
    isolation = Isolation.SIDE_BY_SIDE if equipment.running else _isolation(settings, profile, seats)
    circumstances = _circumstances(profile, equipment, classes, specs[Arm.MTP])
    return Plan(
        flag_set=flag_set,
        seats=seats,
        circumstances={Side.HEAD: replace(circumstances, isolation=isolation.value, environment=seen)},
        classes=classes,
        request=profile.request,
        measure=profile.measure,
        isolation=isolation,
        logs=equipment.logs,
        looks=profile.gates.looks,
        replacements=profile.gates.replacements,
        conditions=Conditions(
            backend=backend,
            # Only a llama-server's log says where its layers are.
            gpu_layers=specs[Arm.PLAIN].gpu_layers if profile.serving is Serving.LLAMA_CPP else 0,
            isolation=isolation,
            card_memory_bytes=memory_of(cards),
            may_spill=may_spill(platform.release(), seen),
            locked_mhz=locked_mhz,
        ),
        watch=watch_of(telemetry_source(backend), cards),
        bandwidth=None if cards or equipment.running else read_bandwidth,
        environment=held,
    )


def _circumstances(
    profile: Profile, equipment: Equipment, classes: Sequence[PromptClass], spec: ServerSpec
) -> Circumstances:
    """What the numbers belong to, before it is known how servers share the machine; ``spec`` is the mtp arm's."""
    cards = equipment.cards
    return Circumstances(
        build=equipment.build.identity,
        build_label=equipment.build.label,
        model=equipment.model.identity,
        model_label=equipment.model.label,
        fingerprint=equipment.machine.slug,
        isolation=Isolation.AUTO.value,
        flags=_asked(spec) if equipment.running else _flags(spec) | _asked(spec) | _walls(equipment),
        request=profile.request.as_circumstances(),
        prompts={one.name: hashlib.sha256(one.prompt.encode()).hexdigest()[:16] for one in classes},
        bytes_per_token=None if equipment.header is None else bytes_per_token(equipment.header),
        card_memory_bytes=memory_of(cards),
        memory_bandwidth=cards[0].memory_bandwidth if cards else None,
    )


def _walls(equipment: Equipment) -> dict[str, str]:
    """What stands between the servers and the machine: it may cost speed, so it is part of a baseline's key."""
    return {"isolated": "bubblewrap"} if equipment.isolated else {}


def _seat(arm: Arm, spec: ServerSpec, equipment: Equipment) -> Seat:
    return Seat(arm=arm, spec=spec, launch=equipment.launch(spec), header=equipment.header)


def comparison_plan(settings: Settings, profile: Profile, head: Plan, base: Plan) -> Plan:
    """Both plans in the same blocks, with a control; side by side where the memory holds all five servers."""
    seats = (*head.seats, *base.seats, base.seat(Arm.MTP))
    return against(head, base, _isolation(settings, profile, seats))


def expected_tau(settings: Settings, profile: Profile, plan: Plan) -> dict[str, float]:
    """Tokens per step of a sound phantom, by arithmetic; nothing for other models."""
    if profile.serving is not Serving.LLAMA_CPP:
        return {}
    spec = parse_model(settings.model or profile.model.spec)
    chosen = profile.flag_sets[plan.flag_set]
    if spec.kind is not ModelKind.PHANTOM or not chosen.by_arithmetic:
        return {}
    phantom = phantom_spec(parse_model("phantom"), profile.model.phantom)
    walks = {one.name: phantom.expected(one.name, plan.request.tokens, chosen.n_max) for one in plan.classes}
    return {name: walk.tau for name, walk in walks.items()}


def _isolation(settings: Settings, profile: Profile, seats: Sequence[Seat]) -> Isolation:
    """As asked; AUTO is side by side where the memory of the device holds every server of a block."""
    asked = settings.isolation or profile.measure.isolation
    if asked is not Isolation.AUTO:
        return asked
    on_cards = profile.build.backend is not Backend.CPU
    places = [footprint(seat.header, seat.spec).whole for seat in seats if seat.header is not None]
    needed = sum((place.device if on_cards else place.total) + DEVICE_MARGIN for place in places)
    return Isolation.SIDE_BY_SIDE if needed < _memory(settings, profile) else Isolation.ALTERNATE


def _memory(settings: Settings, profile: Profile) -> int:
    return memory(profile.build.backend, settings.gpu_id, profile.server.extra)


def _flags(spec: ServerSpec) -> dict[str, str]:
    """The flags as a baseline is keyed by them: canonical names, nothing that only labels."""
    names = [name for name in ServerSpec.__slots__ if name not in _NOT_IN_KEY]
    flags = {name: str(getattr(spec, name)) for name in names if getattr(spec, name) not in (None, ())}
    if spec.speculation is not None:
        flags |= {"n_max": str(spec.speculation.n_max), "p_min": str(spec.speculation.p_min)}
        if spec.speculation.synth_rates:
            flags["synth_rates"] = ",".join(f"{rate:g}" for rate in spec.speculation.synth_rates)
        flags |= _further(spec.speculation)
    return flags


def _asked(spec: ServerSpec) -> dict[str, str]:
    """What belongs to the requests, so that it is known of servers that run already too.

    Whatever came later is named only where it is set, so that what is on record keeps its key.
    """
    return {"sampled": "true"} if spec.sampled else {}


def _further(speculation: Speculation) -> dict[str, str]:
    """What a speculation has beside MTP's own two numbers."""
    told = {
        "kinds": "" if speculation.kinds == MTP_ALONE else ",".join(speculation.kinds),
        "draft_model": PurePath(speculation.draft_model or "").name,
        "speculation_extra": " ".join(speculation.extra),
    }
    return {name: value for name, value in told.items() if value}
