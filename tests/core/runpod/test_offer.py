"""Which cards are asked for, and at what price none is."""

import pytest

from pytest_mtp.core.runpod.offer import RTX_3090, Cloud, GpuType, Offer, Price, offers, passed_over
from pytest_mtp.errors import RentalError

CATALOG = (
    GpuType(id=RTX_3090, name="RTX 3090", price=Price(0.46, 0.22), availability="LOW"),
    GpuType(id="NVIDIA GeForce RTX 4090", name="RTX 4090", price=Price(0.69, 0.34), availability="NONE"),
    GpuType(id="NVIDIA RTX A5000", name="RTX A5000", price=Price(0.0, 0.16)),
)


@pytest.mark.parametrize("name", [RTX_3090, "RTX 3090", "rtx 3090", " RTX 3090 "])
def test_a_card_is_named_by_its_identifier_or_its_short_name(name: str) -> None:
    assert offers(CATALOG, [name], Cloud.SECURE) == (Offer(RTX_3090, 0.46),)


def test_the_order_is_the_one_asked_for_and_the_price_is_of_the_cloud() -> None:
    asked = ["RTX A5000", "RTX 3090"]
    assert offers(CATALOG, asked, Cloud.COMMUNITY) == (Offer("NVIDIA RTX A5000", 0.16), Offer(RTX_3090, 0.22))


def test_what_has_no_free_card_or_no_price_is_passed_over_and_said() -> None:
    asked = ["RTX 4090", "RTX A5000", "RTX 3090"]
    assert [one.gpu for one in offers(CATALOG, asked, Cloud.SECURE)] == [RTX_3090]
    assert list(passed_over(CATALOG, asked, Cloud.SECURE)) == [
        "of NVIDIA GeForce RTX 4090 none is free",
        "NVIDIA RTX A5000 has no price in the secure cloud",
    ]


def test_where_none_is_to_be_had_each_lack_is_said() -> None:
    with pytest.raises(RentalError, match="of NVIDIA GeForce RTX 4090 none is free; NVIDIA RTX A5000 has no price"):
        offers(CATALOG, ["RTX 4090", "RTX A5000"], Cloud.SECURE)


@pytest.mark.parametrize(("name", "known"), [("3090", RTX_3090), ("", "RTX 4090"), ("M2 Ultra", "RTX A5000")])
def test_a_card_that_the_catalog_lacks_is_a_mistake_with_what_it_has(name: str, known: str) -> None:
    with pytest.raises(RentalError, match=f"has no card '{name}'.* It has: .*{known}"):
        offers(CATALOG, [name], Cloud.SECURE)


@pytest.mark.parametrize("price", [float("nan"), -1.0, 0.0])
def test_a_price_that_is_none_is_never_rented_at(price: float) -> None:
    with pytest.raises(RentalError, match="has no price"):
        offers([GpuType(id=RTX_3090, price=Price(price))], [RTX_3090], Cloud.SECURE)
