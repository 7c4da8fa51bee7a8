"""What of the pages is made of the code: `python -m docs.generate` writes it anew between its marks."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from pytest_mtp import fixtures
from pytest_mtp.core.profile import Profile
from pytest_mtp.option import Option
from pytest_mtp.option_table import SECTIONS
from pytest_mtp.runtime.profiles import load_profile, shipped

PAGES = Path(__file__).parent
BEGIN, END = "<!-- made of the code by `python -m docs.generate` -->", "<!-- end of what is made -->"

READ_MORE: Mapping[str, str] = MappingProxyType(
    {
        "source": "[forms](#what-a-source-is)",
        "endpoint": "[engines](engines.md)",
        "flag-set": "[what one is](profiles.md#flag-sets)",
        "set": "[every key](profiles.md#every-key)",
        "prompts": "[forms](prompts.md#prompts-of-your-own)",
        "dear": "[suites](suites.md)",
        "isolate": "[what it guards against](security.md)",
        "resume": "[how](#an-end-before-the-end)",
        "baselines": "[what is in them](verdicts.md#baselines)",
        "history": "[nightly](nightly.md)",
        "compare-to": "[how](compare.md)",
        "bisect": "[how](compare.md#which-commit)",
        "json": "`pytest-mtp report FILE` judges it again",
        "out": "[its files](ci.md#what---mtp-out-dir-holds)",
    }
)
"""Where more about an option is told."""

_DEFAULT = re.compile(r" \(default: (.*)\)$")
_WRITTEN_BY_HAND = re.compile(r"(?<!`)(--mtp[a-z-]*(?:=[\w.]+)?)(?!`)")


def options() -> str:
    """The options of pytest, in the groups of its help."""
    return "\n".join(line for title, rows in SECTIONS.items() for line in _group(title, rows))


def _group(title: str, rows: tuple[Option, ...]) -> Iterator[str]:
    yield from (f"### {title.capitalize()}", "", "| option | ini value | what it does |", "| --- " * 3 + "|")
    yield from map(_option, rows)
    yield ""


def _option(option: Option) -> str:
    told = _DEFAULT.search(option.help)
    if told is None:
        raise ValueError(f"The help of {option.flag} does not end with its default.")
    typed = option.flag if option.switch else f"{option.flag} {option.metavar}"
    form = "true or false" if option.switch else "words" if option.many else ""
    more = f" ({READ_MORE[option.name]})" if option.name in READ_MORE else ""
    cells = (
        f"`{typed}`".replace("|", r"\|"),
        f"`{option.key}`" + (f": {form}" if form else ""),
        f"{as_code(option.help[: told.start()])}{more}. *Default:* {as_code(told[1])}",
    )
    return f"| {' | '.join(cells)} |"


def as_code(text: str) -> str:
    """A text of the code as Markdown: names and options as they are typed."""
    return _WRITTEN_BY_HAND.sub(r"`\1`", text.replace("``", "`"))


def public_fixtures() -> str:
    """Each public fixture: what it is, what it asks for, and its docstring."""
    tree = ast.parse(Path(fixtures.__file__).read_text(encoding="utf-8"))
    return "\n".join(line for one in tree.body if isinstance(one, ast.FunctionDef) for line in _fixture(one))


def _fixture(function: ast.FunctionDef) -> Iterator[str]:
    told = ast.get_docstring(function)
    if not any("fixture" in ast.unparse(one) for one in function.decorator_list) or told is None:
        return
    gives = ast.unparse(function.returns).replace('"', "").replace("'", "") if function.returns else ""
    asks = ", ".join(f"`{one.arg}`" for one in function.args.args)
    yield from (f"### {function.name}", "", as_code(told), "", f"Gives `{gives}`. Asks for {asks}.", "")


def profiles() -> str:
    """The profiles that ship, a row each."""
    rows = ("| profile | made for | backend | what it is |", "| --- " * 4 + "|")
    return "\n".join((*rows, *(_profile(load_profile(name)) for name in shipped()), ""))


def _profile(profile: Profile) -> str:
    cells = (
        f"`{profile.name}`",
        profile.card or "any machine",
        f"`{profile.build.backend.value}`",
        as_code(profile.description),
    )
    return f"| {' | '.join(cells)} |"


BLOCKS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {"options.md": options, "fixtures.md": public_fixtures, "profiles.md": profiles}
)
"""Which page has which block."""


def renewed(page: str, text: str) -> str:
    """The page's text with its block as the code is now; ValueError where it has no marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} lacks the marks {BEGIN} and {END}.")
    return f"{before}{BEGIN}\n\n{BLOCKS[page]()}\n{END}{after}"


def main() -> None:
    """Write every block."""
    for page in BLOCKS:
        file = PAGES / page
        file.write_text(renewed(page, file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
