import json
import shutil
from pathlib import Path

import pytest

from pytest_mtp.core.source import Source, SourceKind
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.ui import web_page

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm, which makes the page")

# A package without packages: npm ci has nothing to fetch, so that no test needs a network.
LOCK = {"name": "page", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "page"}}}
MAKES_PAGE = (
    "node -e \"const fs = require('fs'), out = process.env.LLAMA_UI_OUT_DIR; fs.mkdirSync(out);"
    " fs.writeFileSync(out + '/index.html', process.env.LLAMA_UI_VERSION)\""
)
WRITES_BESIDE = "mkdir ../public && echo old > ../public/index.html"
# Called as llama.cpp's own: it says where the page goes, and whether npm and the hub may be asked.
DOWNLOADS = """
if(HF_ENABLED AND NOT BUILD_UI)
    file(WRITE "${UI_BINARY_DIR}/dist/index.html" "published ${HF_VERSION}")
endif()
message(FATAL_ERROR "what follows needs a compiled program")
"""
REFUSES = 'message(STATUS "UI: download dist.tar.gz.sha256 from latest failed: no such host")'


def source(tree: Path) -> Source:
    return Source(kind=SourceKind.DIR, path=tree, identity="dir-1", label="b11434")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def package(folder: Path, build: str) -> None:
    write(folder / "package.json", json.dumps({"name": "page", "version": "1.0.0", "scripts": {"build": build}}))
    write(folder / "package-lock.json", json.dumps(LOCK))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "tree"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_a_page_in_the_tree_is_used_where_it_lies(tree: Path, cache: Cache) -> None:
    write(tree / "tools/ui/dist/index.html", "made by hand")
    assert web_page(source(tree), cache) == tree / "tools/ui/dist"
    assert not cache.root.exists()


@needs_npm
def test_npm_makes_the_page_once_outside_of_the_tree(tree: Path, cache: Cache) -> None:
    package(tree / "tools/ui", MAKES_PAGE)
    before, said = sorted(tree.rglob("*")), list[str]()
    page = web_page(source(tree), cache, said.append)
    assert (page / "index.html").read_text() == "b11434"
    assert [line.rpartition("(")[2] for line in said] == ["npm ci)", "npm run build)"]
    assert sorted(tree.rglob("*")) == before
    assert sorted(path.name for path in page.parent.iterdir()) == [".mtp-entry.json", "dist", "npm.log"]
    assert web_page(source(tree), cache, said.append) == page
    assert len(said) == 2


@needs_npm
def test_a_package_that_writes_beside_itself_is_understood(tree: Path, cache: Cache) -> None:
    package(tree / "tools/server/webui", WRITES_BESIDE)
    assert (web_page(source(tree), cache) / "index.html").read_text() == "old\n"
    assert not (tree / "tools/server/public").exists()


@needs_npm
def test_where_npm_fails_the_published_page_is_fetched(tree: Path, cache: Cache) -> None:
    package(tree / "tools/ui", "exit 3")
    write(tree / "scripts/ui-assets.cmake", DOWNLOADS)
    assert (web_page(source(tree), cache) / "index.html").read_text() == "published b11434"


@needs_npm
def test_every_way_that_failed_is_named_and_tried_again_the_next_time(tree: Path, cache: Cache) -> None:
    package(tree / "tools/ui", "exit 3")
    write(tree / "scripts/ui-assets.cmake", REFUSES)
    with pytest.raises(BuildError, match=r"npm run build ended with status 3 \(.*its log: .*; the hub gave none \(UI:"):
        web_page(source(tree), cache)
    package(tree / "tools/ui", MAKES_PAGE)
    assert (web_page(source(tree), cache) / "index.html").is_file()


def test_without_npm_it_says_so(tree: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tree / "tools/ui", MAKES_PAGE)
    monkeypatch.setenv("PATH", str(tree))
    with pytest.raises(BuildError, match="there is no npm"):
        web_page(source(tree), cache)


def test_a_tree_without_any_way_to_a_page_says_so(tree: Path, cache: Cache) -> None:
    with pytest.raises(BuildError, match="the tree of b11434 holds neither a page nor what one is made from"):
        web_page(source(tree), cache)
