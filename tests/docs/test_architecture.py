"""The picture of the architecture is of this code: whatever changes what it shows makes it another picture."""

import copy
from collections.abc import Callable

import grimp
import pytest

from docs.picture import PICTURE, architecture, contracts_on_file, drawn, graph_of_imports

Contracts = list[dict[str, object]]


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return graph_of_imports()


def picture(contracts: Contracts, graph: grimp.ImportGraph) -> str:
    return drawn(architecture(contracts, graph))


def test_the_picture_is_of_this_code(graph: grimp.ImportGraph) -> None:
    assert picture(contracts_on_file(), graph) == PICTURE.read_text(encoding="utf-8"), (
        "The modules, layers or contracts are others than on the picture: python -m docs.picture draws it anew."
    )


def test_every_module_is_in_a_layer_so_that_a_contract_watches_over_it(graph: grimp.ImportGraph) -> None:
    assert architecture(contracts_on_file(), graph).homeless == ()


def lacks(graph: grimp.ImportGraph) -> None:
    graph.remove_module("pytest_mtp.core.tau")


def lacks_a_folders_module(graph: grimp.ImportGraph) -> None:
    graph.remove_module("pytest_mtp.runtime.sources.mirror")


def imports_a_layer_more(graph: grimp.ImportGraph) -> None:
    graph.add_import(importer="pytest_mtp.reports.line", imported="pytest_mtp.phantom.spec")


def uses_what_is_forbidden_to_others(graph: grimp.ImportGraph) -> None:
    graph.add_import(importer="pytest_mtp.farewell", imported="pytest")


@pytest.mark.parametrize(
    "change", [lacks, lacks_a_folders_module, imports_a_layer_more, uses_what_is_forbidden_to_others]
)
def test_another_graph_is_another_picture(
    change: Callable[[grimp.ImportGraph], None], graph: grimp.ImportGraph
) -> None:
    other = copy.deepcopy(graph)
    change(other)
    assert picture(contracts_on_file(), other) != picture(contracts_on_file(), graph)


def layers(contracts: Contracts) -> list[str]:
    found = contracts[0]["layers"]
    assert isinstance(found, list)
    return found


def two_layers_change_places(contracts: Contracts) -> None:
    layers(contracts)[:2] = reversed(layers(contracts)[:2])


def two_layers_become_one(contracts: Contracts) -> None:
    layers(contracts)[:2] = [" | ".join(layers(contracts)[:2])]


def a_contract_is_gone(contracts: Contracts) -> None:
    contracts.pop()


def a_contract_forbids_more(contracts: Contracts) -> None:
    contracts[1]["forbidden_modules"] = ["random"]


def a_contract_watches_fewer(contracts: Contracts) -> None:
    contracts[-1]["source_modules"] = ["pytest_mtp.core"]


@pytest.mark.parametrize(
    "change",
    [
        two_layers_change_places,
        two_layers_become_one,
        a_contract_is_gone,
        a_contract_forbids_more,
        a_contract_watches_fewer,
    ],
)
def test_other_contracts_are_another_picture(change: Callable[[Contracts], None], graph: grimp.ImportGraph) -> None:
    contracts = copy.deepcopy(contracts_on_file())
    change(contracts)
    assert picture(contracts, graph) != picture(contracts_on_file(), graph)


def test_a_module_that_no_layer_has_is_homeless(graph: grimp.ImportGraph) -> None:
    contracts = copy.deepcopy(contracts_on_file())
    layers(contracts).remove("pytest_mtp.showing")
    assert architecture(contracts, graph).homeless == ("pytest_mtp.showing",)
