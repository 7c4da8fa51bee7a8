"""Which profile is in force: the file, its overrides, and the device that this machine has."""

import platform
from dataclasses import replace
from pathlib import Path

from pytest_mtp.core.accelerator import resolve_backend
from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.model import ModelKind, parse_model
from pytest_mtp.core.platform_support import platform_sentence
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.prompt_file import MOST_BYTES, prompt_classes, with_prompts
from pytest_mtp.core.served_tables import Serving
from pytest_mtp.core.settings import Mode, Settings, Vary
from pytest_mtp.core.source import parse_source
from pytest_mtp.errors import InputError, SettingsError
from pytest_mtp.runtime.cards import measured_cards
from pytest_mtp.runtime.models import phantom_spec
from pytest_mtp.runtime.profiles import load_profile
from pytest_mtp.runtime.toolchain import accelerators


def effective_profile(settings: Settings) -> Profile:
    """The profile as it will be measured, on a device that is here; SettingsError says at once what cannot be."""
    profile = checked_profile(settings)
    if profile.serving is Serving.RUNNING:
        return replace(profile, build=replace(profile.build, backend=Backend.CPU))
    return replace(profile, build=replace(profile.build, backend=backend_of(settings, profile)))


def checked_profile(settings: Settings) -> Profile:
    """The profile with its overrides, for whatever machine; SettingsError says what is wrong with it."""
    profile = _with_prompts_of(settings.prompts, load_profile(settings.profile, settings.assignments))
    renamed = any(one.partition("=")[0].strip() == "name" for one in settings.assignments)
    if settings.prompts is not None and settings.update is not None and not renamed:
        raise SettingsError(
            f"A baseline of other prompts would take the place of {profile.name}'s own: give it a name of its own with "
            "--mtp-set name=my-prompts."
        )
    if settings.endpoints:
        profile = replace(profile, serving=Serving.RUNNING)
    if settings.mode is Mode.CPU:
        _refuse_wishes_for_a_card(settings)
    if profile.serving is Serving.LLAMA_CPP:
        parse_source(settings.source or profile.source.spec)
        _check_model(settings, profile)
    else:
        _refuse_wishes_for_a_build(settings, profile)
    unknown = [name for name in settings.flag_sets if name not in profile.flag_sets]
    if unknown:
        offers = ", ".join(profile.flag_sets)
        raise SettingsError(f"--mtp-flag-set {unknown[0]}: the profile {profile.name} has {offers}.")
    if settings.compare_to is not None:
        _check_base(settings, profile)
    _check_chat(settings, profile)
    for flag_set in profile.measured(settings.flag_sets):
        profile.server_spec(flag_set, model="any", speculative=True)  # its checks, before a build of minutes
        _check_draft_model(flag_set, profile.flag_sets[flag_set].draft_model)
    return profile


def _check_draft_model(flag_set: str, path: str | None) -> None:
    """A file that is not there would keep the mtp arm from starting, which is red and says nothing of MTP."""
    if path is not None and not Path(path).is_file():
        raise SettingsError(
            f"The draft model of flag set {flag_set}, {path}, is no file: correct flag_sets.{flag_set}.draft_model."
        )


def _check_chat(settings: Settings, profile: Profile) -> None:
    """What only raw requests can be: of a given length, to vLLM, and to the embedded model as it is."""
    if profile.request.chat is None:
        return
    for one in profile.classes:
        if one.length is not None:
            raise SettingsError(
                f"Class {one.name} is to have a prompt of {one.length} tokens, which only raw requests can be cut to: "
                "drop its length, or set request.endpoint to raw."
            )
    if profile.serving is Serving.VLLM:
        raise SettingsError("Of the chat endpoint only llama-server's is asked: set request.endpoint to raw for vLLM.")
    model = settings.model or profile.model.spec
    embedded = profile.serving is Serving.LLAMA_CPP and parse_model(model).kind is ModelKind.PHANTOM
    if embedded and "--chat-template" not in profile.server.extra:
        raise SettingsError(
            "The embedded model has no words for the marks of a chat, so its classes would be one: set server.extra to "
            """["--jinja", "--chat-template", "{{ messages[-1]['content'] }}"]."""
        )


def _check_model(settings: Settings, profile: Profile) -> None:
    """The model's name; of the embedded one also that it knows the prompts, and is sound where it is recorded."""
    model = parse_model(settings.model or profile.model.spec)
    if model.kind is not ModelKind.PHANTOM:
        return
    phantom = phantom_spec(model, profile.model.phantom)
    if settings.prompts is not None:
        _refuse_other_prompts(profile, {phantom.prompt(name) for name in phantom.names})
    if settings.update is not None and model.location != "sound":
        raise SettingsError("A phantom with a planted fault cannot be recorded as a baseline; record the sound one.")


def _refuse_wishes_for_a_build(settings: Settings, profile: Profile) -> None:
    """What only servers of a llama.cpp that is compiled here can be asked."""
    whose = "servers that run already" if profile.serving is Serving.RUNNING else "vLLM"
    wishes: dict[str, object] = {
        "--mtp-source": settings.source,
        "--mtp-compare-to": settings.compare_to,
        "--mtp-isolate": settings.isolate or None,
    }
    if profile.serving is Serving.RUNNING:
        if not settings.endpoints:
            raise SettingsError(
                f"Profile {profile.name} measures servers that run already: name them with --mtp-endpoint plain=URL "
                "--mtp-endpoint mtp=URL."
            )
        wishes |= {
            "--mtp-model": settings.model,
            "--mtp-backend": settings.backend,
            "--mtp-gpu-id": settings.gpu_id,
            "--mtp-isolation": settings.isolation,
            "--mtp-lock-clocks": settings.lock_clocks or None,
        }
    for option, value in wishes.items():
        if value is not None:
            raise SettingsError(f"{option} has no meaning for {whose}: drop it.")


def _with_prompts_of(path: Path | None, profile: Profile) -> Profile:
    if path is None:
        return profile
    from pytest_mtp.runtime.store import content_of

    try:
        return with_prompts(profile, prompt_classes(content_of(path, MOST_BYTES).decode()))
    except OSError as error:
        raise InputError(f"--mtp-prompts {path} cannot be read: {error.strerror}. Name another file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"--mtp-prompts {path} is not UTF-8 from byte {error.start} on: save it as UTF-8.") from error
    except ValueError as error:
        raise InputError(f"--mtp-prompts {path} cannot be read: {error}. Name another file.") from error
    except InputError as error:
        raise InputError(f"--mtp-prompts {path} cannot be used.\n{error}") from error


def _refuse_other_prompts(profile: Profile, known: set[str]) -> None:
    """The embedded model continues its own prompts alone, each of them the name of its class."""
    for one in profile.classes:
        if one.prompt not in known or one.prompt != f"<|{one.name}|>":
            raise SettingsError(
                f"--mtp-prompts has the class {one.name}, and the embedded model continues no prompts but its own, "
                f"such as {min(known)}: name another model with --mtp-model, or another profile."
            )


def _check_base(settings: Settings, profile: Profile) -> None:
    """What a comparison cannot be: of nothing, or one that is recorded."""
    if settings.update is not None:
        raise SettingsError("A comparison records no baseline: drop --mtp-update-baselines or --mtp-compare-to.")
    match settings.vary:
        case Vary.SOURCE:
            parse_source(str(settings.compare_to))
        case Vary.MODEL:
            parse_model(str(settings.compare_to))
        case Vary.FLAG_SET if settings.compare_to not in profile.flag_sets:
            offers = ", ".join(profile.flag_sets)
            raise SettingsError(f"The profile {profile.name} has no flag set {settings.compare_to}; it has {offers}.")
        case Vary.FLAG_SET if len(settings.flag_sets) != 1:
            raise SettingsError("Two flag sets are compared one with one: name the head's with --mtp-flag-set.")


def _refuse_wishes_for_a_card(settings: Settings) -> None:
    if settings.gpu_id is not None:
        raise SettingsError(f"--mtp-gpu-id {settings.gpu_id} chooses a card, and the backend cpu has none to choose.")
    if settings.lock_clocks:
        raise SettingsError("--mtp-lock-clocks needs a card, and the backend cpu has none: drop it.")


def backend_of(settings: Settings, profile: Profile) -> Backend:
    """What computes on this machine, never AUTO; SettingsError and BuildError say why it cannot be what was asked."""
    asked = settings.backend or profile.build.backend
    if settings.mode is Mode.CPU:
        if asked not in (Backend.CPU, Backend.AUTO):
            said = f"The profile {profile.name} is for a card: use --mtp-gpu, or another profile with --mtp."
            raise SettingsError(said if settings.backend is None else "--mtp measures on the CPU: use --mtp-gpu.")
        return Backend.CPU
    if asked is Backend.CPU:
        raise SettingsError(
            f"--mtp-gpu measures on a card, the profile {profile.name} is for the CPU: "
            "use --mtp, or a profile with a GPU backend."
        )
    return _on_a_card(asked, settings, profile)


def _on_a_card(asked: Backend, settings: Settings, profile: Profile) -> Backend:
    if (sentence := platform_sentence(platform.system(), asked)) is not None:
        raise SettingsError(sentence)
    if asked is not Backend.AUTO:
        # Where there is none, or none of that number, this ends the run at once, in one sentence.
        measured_cards(asked, settings.gpu_id)
    if profile.serving is Serving.VLLM:
        measured_cards(Backend.CUDA, settings.gpu_id)
        return Backend.CUDA
    compiled = not parse_source(settings.source or profile.source.spec).kind.ready_made
    found = accelerators(tuple(profile.build.options.items()))
    backend = resolve_backend(asked, found, compiled=compiled)
    if backend is Backend.CPU:
        # What is missing is told for the cards that most machines have.
        measured_cards(Backend.CUDA, settings.gpu_id)
        backend = resolve_backend(Backend.CUDA, found, compiled=compiled)
    return backend
