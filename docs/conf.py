"""How the documentation is built: Sphinx with MyST; `make docs` checks every link."""

project = "Headgate"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Headgate"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True
