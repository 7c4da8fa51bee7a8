"""A phantom: written once for its parameters, then an entry of the cache."""

from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.model import Glance, Model, ModelSpec
from pytest_mtp.core.served_tables import PhantomTable
from pytest_mtp.errors import SettingsError
from pytest_mtp.phantom.spec import PhantomSpec, parse_head
from pytest_mtp.phantom.tensors import tensors
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.header import model_header
from pytest_mtp.runtime.progress import Progress

_KIND, _FILE = "phantom", "phantom.gguf"


@dataclass(frozen=True, slots=True)
class PhantomFetcher:
    """Write the phantom of the profile's table, with the fault that is asked for."""

    table: PhantomTable | None

    def fetch(self, spec: ModelSpec, cache: Cache, progress: Progress, *, refresh: bool, verify: bool) -> Model:
        """A finished entry of the cache, made when there is none; nothing of it can be refreshed."""
        del refresh, verify
        return _written(phantom_spec(spec, self.table), cache, progress)

    def glance(self, spec: ModelSpec, cache: Cache, progress: Progress) -> Glance:
        """Its size by arithmetic; its header once it is written."""
        del progress
        phantom = phantom_spec(spec, self.table)
        size = sum(tensor.stored_bytes() for tensor in tensors(phantom))
        entry = cache.lookup(_KIND, phantom.recipe)
        if entry is None:
            return Glance(here=False, size=size)
        return Glance(here=True, size=size, header=model_header(entry / _FILE))


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


def _written(spec: PhantomSpec, cache: Cache, progress: Progress) -> Model:
    def make(entry: Path) -> None:
        from pytest_mtp.phantom.writer import write

        write(spec, entry / _FILE, progress)

    path = cache.entry(_KIND, spec.recipe, make, progress, sealed=True) / _FILE
    label = "phantom" if str(spec.head) == "sound" else f"phantom:head={spec.head}"
    return Model(path=path, identity=f"phantom-{spec.identity}", label=label, size=path.stat().st_size)
