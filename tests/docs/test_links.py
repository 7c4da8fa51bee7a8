"""Every link between the pages, and to files beside them, leads somewhere; so does every picture."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.documented import PAGES, ROOT, prose

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_OUTSIDE = re.compile(r"[a-z]+:")


def links(page: Path) -> list[str]:
    """What a page's links name, but for addresses of the web."""
    return [link for link in _LINK.findall(prose(page)) if not _OUTSIDE.match(link)]


def anchors(page: Path) -> Iterator[str]:
    """The names of a page's headings as GitHub and the site make them: the second of two alike is numbered."""
    seen: Counter[str] = Counter()
    for title in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)
        name = re.sub(r"[^\w -]", "", shown.lower()).replace(" ", "-")
        yield f"{name}-{seen[name]}" if seen[name] else name
        seen[name] += 1


def leads(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [link for link in links(page) if not leads(page, link)] == []


def test_dead_links_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `--title`, twice\n\n## A --title twice\n```sh\n# no title\n```\n")
    assert [*anchors(page)] == ["a---title-twice", "a---title-twice-1"]
    assert leads(page, "#a---title-twice-1")
    assert not any(leads(page, link) for link in ("gone.md", "#gone", "#no-title", "page.md#gone"))


def test_every_page_is_within_reach_of_the_readme() -> None:
    reached, fresh = set(), {ROOT / "README.md"}
    while fresh:
        reached |= fresh
        targets = {(page.parent / link.partition("#")[0]).resolve() for page in fresh for link in links(page)}
        fresh = {one for one in targets if one in PAGES} - reached
    assert {page.name for page in PAGES if page not in reached} <= {"index.md"}
