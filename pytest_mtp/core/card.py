"""Which cards a machine has, which of them a measurement uses, and how a server is held to those."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.errors import SettingsError

_SPLIT_MODE = ("-sm", "--split-mode")
_TENSOR_SPLIT = ("-ts", "--tensor-split")
# The base clock of a GeForce is about two thirds of its highest (1395 of 2100 MHz on an RTX 3090): it is held
# under any load within the power limit.
_SUSTAINABLE_SHARE = 2 / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One GPU as its driver describes it; ``None`` is what this card does not tell."""

    index: int
    """Place in the order of the bus, as nvidia-smi counts."""
    uuid: str
    """What no other card has; the address on the bus where a card has no number of its own."""
    name: str
    driver: str | None = None
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_bandwidth: float | None = None
    """Bytes per second, from the highest clock and the width of its memory."""
    compute_capability: tuple[int, int] | None = None
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    persistence: bool | None = None
    pci_address: str | None = None
    pcie_generation: int | None = None
    """The highest that card and board agree on; the current one drops when the card is idle."""
    pcie_width: int | None = None

    def __str__(self) -> str:
        return f"{self.index} ({self.name}, {self.uuid})"


@dataclass(frozen=True, slots=True)
class CardProcess:
    """A process that computes on a card."""

    pid: int
    name: str = "unknown"
    memory_bytes: int | None = None

    def __str__(self) -> str:
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 2**20:.0f} MiB"
        return f"{self.name} (pid {self.pid}{memory})"


def choose(cards: Sequence[Card], gpu_id: str | None) -> Card:
    """The card of that index, UUID or beginning of a UUID; the first for ``None``; else SettingsError."""
    if gpu_id is None and cards:
        return cards[0]
    found = [card for card in cards if gpu_id is not None and _called(card, gpu_id.strip())]
    if len(found) != 1:
        trouble = "is more than one card" if found else "is no card of this machine"
        raise SettingsError(f"--mtp-gpu-id {gpu_id} {trouble}; it has {_listed(cards)}.")
    return found[0]


def visible(cards: Sequence[Card], variable: str, value: str | None) -> tuple[Card, ...]:
    """The cards that the user's own variable leaves, in its order; all where it is not set.

    Indices are read in the order of the bus, which ``card_environment`` then makes true for the server.
    """
    if value is None:
        return tuple(cards)
    chosen: list[Card] = []
    for word in filter(None, (word.strip() for word in value.split(","))):
        found = [card for card in cards if _called(card, word)]
        if len(found) != 1:
            raise SettingsError(f"{variable}={value} names {word}, which is no card here; there is {_listed(cards)}.")
        chosen.extend(found)
    if not chosen:
        raise SettingsError(f"{variable} is empty, which hides every card; unset it, or name one of {_listed(cards)}.")
    return tuple(chosen)


def measured(cards: Sequence[Card], gpu_id: str | None, flags: Sequence[str] = ()) -> tuple[Card, ...]:
    """The cards that a server will use: the one asked for; else all if ``flags`` split the model, else the first."""
    if gpu_id is None and splits(flags):
        return tuple(cards)
    return (choose(cards, gpu_id),)


def splits(flags: Sequence[str]) -> bool:
    """Whether the profile's own flags spread a model over several cards."""
    words = [part for flag in flags for part in flag.split("=", 1)]
    values = dict(pairwise(words))
    modes = [values[name] for name in _SPLIT_MODE if name in values]
    return "none" not in modes and bool(modes or any(name in words for name in _TENSOR_SPLIT))


def card_environment(cards: Sequence[Card], backend: Backend) -> dict[str, str]:
    """The variables that hold a server to these cards; llama.cpp spreads over every card that it sees."""
    uuids = ",".join(card.uuid for card in cards)
    indices = ",".join(str(card.index) for card in cards)
    if backend is Backend.CUDA:
        return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": uuids}
    if backend is Backend.HIP:
        by_uuid = all(card.uuid.startswith("GPU-") for card in cards)
        if not by_uuid:
            return {"HIP_VISIBLE_DEVICES": indices}
        # HIP counts what ROCR leaves, so a variable of the user's own must not count on.
        places = ",".join(map(str, range(len(cards))))
        return {"ROCR_VISIBLE_DEVICES": uuids, "HIP_VISIBLE_DEVICES": places}
    if backend is Backend.VULKAN:
        return {"GGML_VK_VISIBLE_DEVICES": indices}
    return {}


def memory_of(cards: Sequence[Card]) -> int | None:
    """Bytes of all the cards; ``None`` where one does not tell, and without a card."""
    sizes = [card.memory_total_bytes for card in cards]
    told = [size for size in sizes if size is not None]
    return sum(told) if told and len(told) == len(sizes) else None


def bandwidth(clock_mhz: int | None, width_bits: int | None) -> float | None:
    """Bytes per second of a memory that moves two words with every tick: 936 GB/s of 9751 MHz and 384 bits."""
    return None if not clock_mhz or not width_bits else 2 * clock_mhz * 1e6 * width_bits / 8


def may_spill(kernel_release: str, environment: Mapping[str, str]) -> bool:
    """Whether what does not fit on a card goes to system memory unsaid, where elsewhere the server would fail.

    So do the driver of Windows, below WSL2 too, and llama.cpp's unified memory, which even an empty value switches on.
    """
    return "microsoft" in kernel_release.lower() or "GGML_CUDA_ENABLE_UNIFIED_MEMORY" in environment


def sustainable_clock_mhz(default_mhz: int | None, highest_mhz: int | None) -> int | None:
    """A clock that a card holds for hours: the vendor's default for applications, else two thirds of the highest."""
    if default_mhz:
        return default_mhz
    return None if not highest_mhz else round(highest_mhz * _SUSTAINABLE_SHARE)


def _called(card: Card, word: str) -> bool:
    if word.isdecimal():
        return card.index == int(word)
    return bool(word) and card.uuid.lower().startswith(word.lower())


def _listed(cards: Sequence[Card]) -> str:
    return ", ".join(map(str, cards)) or "none"
