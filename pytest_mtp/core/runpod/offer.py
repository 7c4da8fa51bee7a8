"""Which cards RunPod has at what price, of those that were asked for."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from pytest_mtp.errors import RentalError

RTX_3090 = "NVIDIA GeForce RTX 3090"
_NONE_FREE = "NONE"


class Cloud(Enum):
    """Whose machines: RunPod's own, or those of others."""

    SECURE = "SECURE"
    COMMUNITY = "COMMUNITY"


@dataclass(frozen=True, slots=True)
class Price:
    """USD per hour for one card, in each cloud."""

    secure: float = 0.0
    community: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuType:
    """A kind of card, with the names that the catalog has for its facts."""

    id: str
    name: str = ""
    price: Price = Price()
    availability: str | None = None
    """``NONE``, ``LOW``, ``MEDIUM`` or ``HIGH``; a moment's reading, no reservation."""

    def price_in(self, cloud: Cloud) -> float:
        """USD per hour; 0 where this cloud has none."""
        return self.price.secure if cloud is Cloud.SECURE else self.price.community


@dataclass(frozen=True, slots=True)
class Catalog:
    """What the catalog's list of cards answers."""

    gpus: tuple[GpuType, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """A card that can be asked for now."""

    gpu: str
    """The identifier that a request takes."""
    price_usd: float
    """Per hour; list price, so that a request is never made at an unknown one."""


def offers(catalog: Iterable[GpuType], wanted: Sequence[str], cloud: Cloud) -> tuple[Offer, ...]:
    """The cards to ask for, in the order wanted; RentalError where there is none, with what each lacks."""
    kinds = tuple(catalog)
    found = [_kind(kinds, name) for name in wanted]
    lacking = tuple(_lacking(kind, cloud) for kind in found)
    able = tuple(Offer(kind.id, kind.price_in(cloud)) for kind, lack in zip(found, lacking, strict=True) if not lack)
    if not able:
        raise RentalError(
            f"RunPod has no card to rent: {'; '.join(filter(None, lacking))}. Nothing was rented. Name further kinds "
            "with --gpu, take another --cloud, or try again later."
        )
    return able


def passed_over(catalog: Iterable[GpuType], wanted: Sequence[str], cloud: Cloud) -> Iterator[str]:
    """Why a kind that was asked for is not asked of RunPod, for each that is not."""
    kinds = tuple(catalog)
    yield from filter(None, (_lacking(_kind(kinds, name), cloud) for name in wanted))


def _kind(kinds: Sequence[GpuType], name: str) -> GpuType:
    """By identifier or short name; a name that the catalog lacks is a mistake, not a shortage."""
    sought = name.casefold().strip()
    for kind in kinds:
        if sought and sought in (kind.id.casefold(), kind.name.casefold()):
            return kind
    like = sorted(kind.id for kind in kinds if sought and sought in kind.id.casefold())
    known = ", ".join(like or sorted(kind.id for kind in kinds)) or "nothing"
    raise RentalError(f"RunPod's catalog has no card {name!r}. Nothing was rented. It has: {known}.")


def _lacking(kind: GpuType, cloud: Cloud) -> str:
    """Why this card cannot be asked for; empty where it can."""
    if not kind.price_in(cloud) > 0:
        return f"{kind.id} has no price in the {cloud.value.lower()} cloud"
    return f"of {kind.id} none is free" if kind.availability == _NONE_FREE else ""
