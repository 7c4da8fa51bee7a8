"""Have a model file: written for the phantom, downloaded from the hub, or found where it lies."""

import hashlib
from pathlib import Path

from pytest_mtp.core.model import Model, ModelKind, ModelSpec
from pytest_mtp.core.profile import PhantomTable
from pytest_mtp.errors import ModelError, SettingsError
from pytest_mtp.phantom.spec import PhantomSpec, parse_head
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.progress import Progress

_CHUNK = 1 << 22


def fetch_model(spec: ModelSpec, table: PhantomTable | None, cache: Cache, progress: Progress) -> Model:
    """The model that ``spec`` asks for; ModelError says why it cannot be had."""
    match spec.kind:
        case ModelKind.PHANTOM:
            return _phantom(phantom_spec(spec, table), cache, progress)
        case ModelKind.HUB:
            return _hub(spec, progress)
        case ModelKind.FILE:
            return _file(Path(spec.location).expanduser(), progress)


def phantom_spec(spec: ModelSpec, table: PhantomTable | None) -> PhantomSpec:
    """The parameters of a phantom: the profile's, with the fault that was asked for."""
    if table is None:
        raise SettingsError("The profile has no [model.phantom] table, so it cannot make a phantom; use --mtp-profile.")
    return PhantomSpec(
        seed=table.seed,
        layers=table.layers,
        n_embd=table.n_embd,
        n_ff=table.n_ff,
        chain_length=table.chain_length,
        weights=table.weights,
        wrong=tuple(table.wrong.items()),
        head=parse_head(spec.location),
    )


def _phantom(spec: PhantomSpec, cache: Cache, progress: Progress) -> Model:
    def make(entry: Path) -> None:
        from pytest_mtp.phantom.writer import write

        write(spec, entry / "phantom.gguf", progress)

    path = cache.entry("phantom", spec.recipe, make) / "phantom.gguf"
    label = "phantom" if str(spec.head) == "sound" else f"phantom:head={spec.head}"
    return Model(path=path, identity=f"phantom-{spec.identity}", label=label, size=path.stat().st_size)


def _hub(spec: ModelSpec, progress: Progress) -> Model:
    from huggingface_hub import hf_hub_download

    progress(f"model {spec.location}/{spec.file}: from the hub or its cache")
    try:
        # repo_id and the rest by keyword: the hub reorders parameters between versions.
        path = Path(hf_hub_download(repo_id=spec.location, filename=str(spec.file), revision=spec.revision))
    except (OSError, ValueError) as error:  # every error of the hub is an OSError or a ValueError
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"{spec.location}/{spec.file} cannot be had from the hub: {first}\n"
            "Check the name, the network, and HF_TOKEN for a gated repository; or give a path with --mtp-model."
        ) from error
    return _file(path, progress)


def _file(path: Path, progress: Progress) -> Model:
    if not path.is_file():
        raise ModelError(f"There is no model file {path}; give another with --mtp-model.")
    blob = path.resolve()
    with blob.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ModelError(f"{path} is not a GGUF file; convert it, or give another with --mtp-model.")
    return Model(path=path, identity=f"sha256-{_sha256(blob, progress)}", label=path.name, size=blob.stat().st_size)


def _sha256(path: Path, progress: Progress) -> str:
    progress(f"hashing {path.name}")
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
