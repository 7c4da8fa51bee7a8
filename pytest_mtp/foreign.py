"""What is measured with engines that no llama.cpp of ours is: servers that run already, and vLLM."""

import shutil
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pytest_mtp.core.endpoint import Endpoint, Engine
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.server_spec import Arm, ServerSpec
from pytest_mtp.core.settings import Settings
from pytest_mtp.equipment import Equipment, cards_of
from pytest_mtp.errors import ServerImposter, SettingsError
from pytest_mtp.runtime.engines.attached import Attached, attach, endpoint_key
from pytest_mtp.runtime.launch import Found, Launch, Vllm
from pytest_mtp.runtime.machine import fingerprint

_ONE_LIFE = (
    "The servers ran before and run on: every block met the same life of them, so what differs from start to start "
    "is not in the intervals, and how they were started is not known."
)
_VERSION_S = 120.0
"""vLLM imports its whole self to say its version."""


@dataclass(frozen=True, slots=True)
class _Thing:
    """An engine or a model that is not a file of ours."""

    identity: str
    label: str


def running_equipment(endpoints: Mapping[Arm, Endpoint], profile: Profile, logs: Path) -> Equipment:
    """Both servers asked what they are; ServerLate and ServerImposter say which is not there, or not its arm.

    SettingsError where the profile asks by a chat endpoint that the engine is not asked by.
    """
    with ExitStack() as stack:
        servers = {arm: stack.enter_context(attach(one, endpoint_key())) for arm, one in endpoints.items()}
        mtp = servers[Arm.MTP]
        if profile.request.chat is not None and mtp.knowledge.engine is not Engine.LLAMA_SERVER:
            raise SettingsError(
                f"Of the chat endpoint only llama-server's is asked, not that of {mtp.knowledge.engine.label}: set "
                "request.endpoint to raw."
            )
        return Equipment(
            build=_engine(servers),
            model=_Thing(mtp.model, Path(mtp.model).name),
            served=mtp.model,
            header=None,
            launch=lambda spec: Found(endpoint=endpoints[spec.arm]),
            machine=Fingerprint({"endpoint": urlsplit(endpoints[Arm.MTP].url).netloc}),
            logs=logs,
            running=True,
            counts_tokens=all(one.knowledge.counts_tokens for one in servers.values()),
            notices=(_ONE_LIFE, *dict.fromkeys(" ".join(one.knowledge.sentences()) for one in servers.values())),
        )


def _engine(servers: Mapping[Arm, Attached]) -> _Thing:
    """One engine of one version; ServerImposter where the arms differ in more than their drafts."""
    words = {
        arm: " ".join(filter(None, [one.knowledge.engine.label, one.client.version])) for arm, one in servers.items()
    }
    if words[Arm.PLAIN] != words[Arm.MTP]:
        raise ServerImposter(
            f"The plain arm is {words[Arm.PLAIN]} and the mtp arm {words[Arm.MTP]}: what differs between them would "
            "be taken for the gain of MTP. Start both arms from the same engine."
        )
    return _Thing(words[Arm.MTP], f"{words[Arm.MTP]}, running")


def vllm_equipment(settings: Settings, profile: Profile, logs: Path) -> Equipment:
    """The ``vllm`` of this environment; SettingsError where there is none."""
    binary = shutil.which("vllm")
    if binary is None:
        raise SettingsError(
            f"Profile {profile.name} starts vLLM, and there is no command vllm here: install it into this environment "
            "(pip install vllm), or put it on the PATH."
        )
    version = _version(binary)
    name = settings.model or profile.model.spec

    def launch(spec: ServerSpec) -> Launch:
        return Vllm(binary=binary, spec=spec)

    return Equipment(
        build=_Thing(f"vllm {version}", f"vLLM {version}"),
        model=_Thing(name, name),
        served=name,
        header=None,
        launch=launch,
        machine=fingerprint(profile.build.backend, settings.gpu_id, profile.server.extra),
        cards=cards_of(settings, profile),
        logs=logs,
    )


def _version(binary: str) -> str:
    try:
        told = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=_VERSION_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SettingsError(f"{binary} --version fails, so vLLM cannot be used: {error}.") from error
    return told.stdout.strip().rpartition("\n")[2] or "unknown"
