"""The pages make a site without a warning: none is left out, no link is dead, no language of a fence is unknown."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.documented import DOCS


def made(pages: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    options = ("-W", "--keep-going", "-n", "-q", "-d", str(folder / "doctrees"))
    words = [sys.executable, "-m", "sphinx", *options, str(pages), str(folder / "html")]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    done = made(DOCS, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {one.stem for one in (tmp_path / "html").glob("*.html")}
    assert pages >= {one.stem for one in DOCS.glob("*.md")}
    readme = '<a class="reference external" href="https://github.com/pytest-mtp/pytest-mtp/blob/main/README.md">'
    assert readme in (tmp_path / "html" / "index.html").read_text()


def test_a_dead_link_and_a_page_that_nobody_lists_are_warnings(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    shutil.copy(DOCS / "conf.py", tmp_path / "pages")
    (tmp_path / "pages" / "index.md").write_text("# Here\n\n[gone](gone.md)\n\n[nowhere](#nowhere)\n")
    (tmp_path / "pages" / "alone.md").write_text("# Alone\n")
    done = made(tmp_path / "pages", tmp_path)
    assert done.returncode == 1
    for said in ("'gone.md'", "'nowhere'", "alone.md: WARNING: document isn't included in any toctree"):
        assert said in done.stderr
