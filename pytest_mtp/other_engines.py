"""What is measured with engines that no llama.cpp of ours is: servers that run already, and vLLM."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from pytest_mtp.core.endpoint import Endpoint, Engine, one_server_twice
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.server_spec import Arm, ServerSpec
from pytest_mtp.core.settings import Settings
from pytest_mtp.equipment import Equipment, cards_of
from pytest_mtp.errors import ServerImposter, SettingsError
from pytest_mtp.runtime.engines.attached import Attached, attach, endpoint_key
from pytest_mtp.runtime.engines.vllm_launch import find_vllm, vllm_version
from pytest_mtp.runtime.launch import Found, Launch, OwnVllm
from pytest_mtp.runtime.machine import fingerprint

_ONE_LIFE = (
    "The servers ran before and run on: every block met the same life of them, so what differs from start to start "
    "is not in the intervals, and how they were started is not known."
)


@dataclass(frozen=True, slots=True)
class _ByName:
    """An engine or a model that is no file of ours, and known by its name alone."""

    identity: str
    label: str


def running_equipment(endpoints: Mapping[Arm, Endpoint], profile: Profile, logs: Path) -> Equipment:
    """Both servers asked what they are; ServerLate and ServerImposter say which is not there, or not its arm.

    SettingsError where the profile asks by a chat endpoint that the engine is not asked by.
    """
    with ExitStack() as stack:
        servers = {arm: stack.enter_context(attach(one, endpoint_key())) for arm, one in endpoints.items()}
        mtp = servers[Arm.MTP]
        _refuse_one_server(servers)
        if profile.request.chat is not None and mtp.knowledge.engine is not Engine.LLAMA_SERVER:
            raise SettingsError(
                f"Of the chat endpoint only llama-server's is asked, not that of {mtp.knowledge.engine.label}: set "
                "request.endpoint to raw."
            )
        return Equipment(
            build=_engine(servers),
            model=_ByName(mtp.model, _short(mtp.model)),
            served=mtp.model,
            header=None,
            launch=lambda spec: Found(endpoint=endpoints[spec.arm]),
            machine=Fingerprint({"endpoint": urlsplit(endpoints[Arm.MTP].url).netloc}),
            logs=logs,
            running=True,
            counts_tokens=all(one.knowledge.counts_tokens for one in servers.values()),
            notices=tuple(_notices(servers)),
        )


def _notices(servers: Mapping[Arm, Attached]) -> Iterator[str]:
    """What to know of both servers: all that the mtp arm's tells, and what the plain arm's lacks beside it."""
    plain, mtp = servers[Arm.PLAIN], servers[Arm.MTP]
    yield _ONE_LIFE
    if _short(plain.model) != _short(mtp.model):
        yield (
            f"The plain arm serves {plain.model} and the mtp arm {mtp.model}: unless these are two names of one model, "
            "what differs between the models is in the speedup."
        )
    said = mtp.knowledge.sentences()
    yield " ".join(said)
    if more := [one for one in plain.knowledge.beside_drafts() if one not in said]:
        yield f"Of the plain arm's server: {' '.join(more)}"


def _short(model: str) -> str:
    """The name of a model without the folders or the owner before it."""
    return PurePath(model).name


def _refuse_one_server(servers: Mapping[Arm, Attached]) -> None:
    """ServerImposter where both arms found the same model at one address."""
    if len({(one.endpoint.place, one.model) for one in servers.values()}) == 1:
        raise ServerImposter(one_server_twice(servers[Arm.MTP].endpoint))


def _engine(servers: Mapping[Arm, Attached]) -> _ByName:
    """One engine of one version; ServerImposter where the arms differ in more than their drafts."""
    words = {
        arm: " ".join(filter(None, [one.knowledge.engine.label, one.client.version])) for arm, one in servers.items()
    }
    if words[Arm.PLAIN] != words[Arm.MTP]:
        raise ServerImposter(
            f"The plain arm is {words[Arm.PLAIN]} and the mtp arm {words[Arm.MTP]}: what differs between them would "
            "be taken for the gain of MTP. Start both arms from the same engine."
        )
    return _ByName(words[Arm.MTP], f"{words[Arm.MTP]}, running")


def vllm_equipment(settings: Settings, profile: Profile, logs: Path) -> Equipment:
    """The ``vllm`` of this environment; SettingsError where there is none."""
    binary = find_vllm()
    if binary is None:
        raise SettingsError(
            f"Profile {profile.name} starts vLLM, and there is no command vllm here: install it into this environment "
            "(pip install vllm), or put it on the PATH."
        )
    version = vllm_version(binary)
    name = settings.model or profile.model.spec

    def launch(spec: ServerSpec) -> Launch:
        return OwnVllm(binary=binary, spec=spec)

    return Equipment(
        build=_ByName(f"vllm {version}", f"vLLM {version}"),
        model=_ByName(name, name),
        served=name,
        header=None,
        launch=launch,
        machine=fingerprint(profile.build.backend, settings.gpu_id, profile.server.extra),
        cards=cards_of(settings, profile),
        logs=logs,
    )
