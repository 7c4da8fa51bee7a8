"""How the site is made of the pages: `make docs`."""

from sphinx.application import Sphinx

from pytest_mtp import __version__

project = "pytest-mtp"
author = "The pytest-mtp authors"
release = version = __version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True

# Of headings down to this level links may name the anchor, as GitHub makes them.
myst_heading_anchors = 3

html_theme = "furo"
html_title = "pytest-mtp"
html_copy_source = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "native"

_REPOSITORY = "https://github.com/pytest-mtp/pytest-mtp/blob/main"


def _lead_out(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Have links to files beside the pages, which GitHub follows in the tree, lead there from the site, too."""
    source[0] = source[0].replace("](../", f"]({_REPOSITORY}/")


def setup(app: Sphinx) -> None:
    """Take part in the build."""
    app.connect("source-read", _lead_out)
