"""Draw the modules in their layers, from import-linter's contracts and grimp's graph: ``python -m docs.picture``."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap

import grimp
from importlinter import api

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
PACKAGE = "pytest_mtp"

_WIDTH, _MARGIN, _NAMES, _WORDS, _INNER = 1000, 16, 46, 165, 265
_DOT, _LINE, _GAP = 13, 15, 6
_LETTERS = {_WORDS: 98, _INNER: 82}
"""Of a line that begins there, so that it ends before the matrix."""

_STYLE = """
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
  .name { font: 600 12px ui-monospace, Menlo, Consolas, monospace }
  .mono { font: 10px ui-monospace, Menlo, Consolas, monospace; fill: #59636e }
  .number { font: 9px ui-monospace, Menlo, Consolas, monospace; fill: #59636e; text-anchor: middle }
  .small { font-size: 10.5px; fill: #59636e }
  .touches { font-size: 10.5px; fill: #9a3412 }
  .head { font-weight: 600 }
  .band { fill: #f6f8fa; stroke: #d1d9e0 }
  .dot { fill: #0969da }
  .hole { fill: #d1d9e0 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .mono, .number, .small { fill: #9198a1 } .touches { fill: #fdba74 }
    .band { fill: #151b23; stroke: #3d444d } .dot { fill: #4493f8 } .hole { fill: #3d444d }
  }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A module or package of a layer, or a folder inside one."""

    name: str
    says: str
    """The first line of its docstring."""
    modules: tuple[str, ...] = ()
    folders: tuple["Member", ...] = ()
    imports: frozenset[int] = frozenset()
    """The layers that it imports directly, by their numbers from the bottom."""
    touches: tuple[str, ...] = ()
    """What it imports of all that some contract forbids somebody."""


@dataclass(frozen=True, slots=True)
class Contract:
    """Who may not import what."""

    name: str
    sources: tuple[str, ...]
    forbidden: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Architecture:
    """Layers from the top down, and what else is forbidden."""

    layers: tuple[tuple[Member, ...], ...]
    contracts: tuple[Contract, ...]
    homeless: tuple[str, ...]
    """Modules that no layer has, over which no contract watches."""


def contracts_on_file() -> list[dict[str, object]]:
    """The contracts of pyproject.toml, as import-linter reads them."""
    found: list[dict[str, object]] = api.read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    return found


def graph_of_imports() -> grimp.ImportGraph:
    """Who imports whom in the package, and which of other packages."""
    return grimp.build_graph(PACKAGE, include_external_packages=True, cache_dir=None)


def architecture(contracts: Sequence[Mapping[str, object]], graph: grimp.ImportGraph) -> Architecture:
    """The layers with their members as the graph has them; modules outside all of them are homeless."""
    (rows,) = (_listed(one, "layers") for one in contracts if one["type"] == "layers")
    layers = [[name.strip() for name in row.split("|")] for row in rows]
    forbidding = tuple(
        Contract(str(one["name"]), _listed(one, "source_modules"), _listed(one, "forbidden_modules"))
        for one in contracts
        if one["type"] == "forbidden"
    )
    guarded = sorted({name for one in forbidding for name in one.forbidden})
    numbers = {name: len(layers) - place for place, row in enumerate(layers) for name in row}
    return Architecture(
        tuple(tuple(_member(name, graph, numbers, guarded) for name in row) for row in layers),
        forbidding,
        tuple(sorted(graph.find_children(PACKAGE) - set(numbers))),
    )


def _listed(contract: Mapping[str, object], key: str) -> tuple[str, ...]:
    found = contract[key]
    return tuple(map(str, found)) if isinstance(found, list) else (str(found),)


def _member(name: str, graph: grimp.ImportGraph, numbers: Mapping[str, int], guarded: Iterable[str]) -> Member:
    inside = {name} | graph.find_descendants(name)
    imported = {one for module in inside for one in graph.find_modules_directly_imported_by(module)} - inside
    layers = {number for layer, number in numbers.items() for one in imported if f"{one}.".startswith(f"{layer}.")}
    folder = _folder(name, graph)
    return Member(
        name=name.partition(".")[2] + ("/" if folder.modules else ""),
        says=folder.says,
        modules=folder.modules,
        folders=folder.folders,
        imports=frozenset(layers),
        touches=tuple(one for one in guarded if one in imported),
    )


def _folder(name: str, graph: grimp.ImportGraph) -> Member:
    children = sorted(graph.find_children(name))
    folders = [one for one in children if graph.find_children(one)]
    return Member(
        name=f"{name.rpartition('.')[2]}/",
        says=_says(name),
        modules=tuple(one.rpartition(".")[2] for one in children if one not in folders),
        folders=tuple(_folder(one, graph) for one in folders),
    )


def _says(name: str) -> str:
    path = ROOT.joinpath(*name.split("."))
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].replace("``", "")


def drawn(it: Architecture) -> str:
    """The picture as the text of an SVG file."""
    body, y = list(_head(len(it.layers))), 74
    for place, layer in enumerate(it.layers):
        inner, below = _layer(layer, len(it.layers) - place, y)
        size = f'x="{_MARGIN}" y="{y}" width="{_WIDTH - 2 * _MARGIN}" height="{below - y}"'
        body += [f'<rect class="band" {size} rx="6"/>', *inner]
        y = below + _GAP
    words, y = _words_below(it, y + 18)
    return "\n".join([_opening(y), *body, *words, "</svg>", ""])


def _opening(height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="title">\n'
        f'<title id="title">The modules of {PACKAGE} in their layers</title>\n<style>{_STYLE}</style>'
    )


def _text(x: int, y: int, text: str, style: str = "") -> str:
    return f'<text x="{x}" y="{y}" class="{style}">{escape(text)}</text>'


def _head(layers: int) -> Iterator[str]:
    yield _text(_MARGIN, 24, f"{PACKAGE}: imports only point down", "head")
    yield _text(_MARGIN, 42, "Members of one layer do not know each other.", "small")
    yield _text(_MARGIN, 58, "Orange: what it uses of all that a contract (at the end) forbids somebody.", "small")
    yield _text(_column(layers - 1) - 6, 42, "uses the layers", "small")
    yield from (_text(_column(one), 62, str(one), "number") for one in range(1, layers))


def _column(layer: int) -> int:
    return _WIDTH - _MARGIN - 12 - (layer - 1) * _DOT


def _layer(layer: tuple[Member, ...], number: int, top: int) -> tuple[list[str], int]:
    y = top + 18
    body = [_text(_MARGIN + 15, y, str(number), "number")]
    for member in layer:
        body += [_text(_NAMES, y, member.name, "name"), *_dots(member, number, y - 4)]
        words, y = _entry(member, y, _WORDS)
        body += words
    return body, y - 8


def _dots(member: Member, number: int, y: int) -> Iterator[str]:
    for below in range(1, number):
        style, radius = ("dot", 4) if below in member.imports else ("hole", 1)
        yield f'<circle class="{style}" cx="{_column(below)}" cy="{y}" r="{radius}"/>'


def _entry(member: Member, y: int, x: int) -> tuple[list[str], int]:
    body = []
    for text, style in _rows(member, _LETTERS[x]):
        body.append(_text(x, y, text, style))
        y += _LINE
    for folder in member.folders:
        body.append(_text(_WORDS, y, folder.name, "mono"))
        inner, y = _entry(folder, y, _INNER)
        body += inner
    return body, y + 3


def _rows(member: Member, letters: int) -> Iterator[tuple[str, str]]:
    for text, style in (
        (member.says, ""),
        (", ".join(member.touches), "touches"),
        (" ".join(member.modules), "mono"),
    ):
        yield from ((line, style) for line in wrap(text, letters))


def _words_below(it: Architecture, y: int) -> tuple[list[str], int]:
    body = []
    for contract in it.contracts:
        body.append(_text(_MARGIN, y, contract.name, "head"))
        told = (f"not in {_joined(contract.sources)}", _joined(contract.forbidden))
        for text, style in zip(told, ("small", "touches"), strict=True):
            for line in wrap(text, 2 * _LETTERS[_INNER]):
                y += _LINE
                body.append(_text(_MARGIN, y, line, style))
        y += 24
    return body, y


def _joined(names: tuple[str, ...]) -> str:
    return ", ".join(one.removeprefix(f"{PACKAGE}.") for one in names)


if __name__ == "__main__":
    PICTURE.write_text(drawn(architecture(contracts_on_file(), graph_of_imports())), encoding="utf-8")
