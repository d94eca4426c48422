"""How the documentation is built: Sphinx with MyST; `make docs` checks every link."""

import re
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
html_copy_source = False
html_show_sourcelink = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True


INLINE_SCRIPT = re.compile(r"<script>\s*document\.body\.dataset\.theme = .*?</script>", re.DOTALL)
THEME_SCRIPT = 'document.body.dataset.theme = localStorage.getItem("theme") || "auto";\n'


def move_script(app: Sphinx, failure: Exception | None) -> None:
    """Move the inline script of the theme into a file: pages of the API run no inline scripts."""
    if failure is not None or app.builder.format != "html":
        return
    output = Path(app.outdir)
    (output / "_static" / "theme.js").write_text(THEME_SCRIPT)
    for page in output.rglob("*.html"):
        steps = "../" * (len(page.relative_to(output).parts) - 1)
        script = f'<script src="{steps}_static/theme.js"></script>'
        text = page.read_text()
        if (moved := INLINE_SCRIPT.sub(script, text)) != text:
            page.write_text(moved)


def setup(app: Sphinx) -> None:
    """Write the pages that come from the code before Sphinx looks for its sources."""
    app.connect("config-inited", lambda *_: write_pages(HERE / "reference"))
    app.connect("config-inited", lambda *_: write_page())
    app.connect("build-finished", move_script)
