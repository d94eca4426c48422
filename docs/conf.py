"""How the documentation is built: Sphinx with MyST; `make docs` checks every link."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from conformance_page import write_page  # noqa: E402 - it stands beside this file
from reference_pages import write_pages  # noqa: E402 - it stands beside this file

project = "Headgate"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Headgate"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True


def setup(app: Sphinx) -> None:
    """Write the pages that come from the code before Sphinx looks for its sources."""
    app.connect("config-inited", lambda *_: write_pages(HERE / "reference"))
    app.connect("config-inited", lambda *_: write_page())
