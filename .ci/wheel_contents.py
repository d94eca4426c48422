"""What a wheel has beside the packages: the built page, the documentation, notices and the SBOM.

`make package` builds these first. A wheel that is built without them, as by an installation from a
checkout, serves the API alone and says so.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = {
    "frontend/dist": "headgate/page",
    "docs/_build/html": "headgate/help",
    "docs/_build/notices": "headgate/notices",
    "CHANGELOG.md": "headgate/notices/CHANGELOG.md",
}
"""Paths of the checkout, and where they lie in the wheel."""


class WheelContents(BuildHookInterface[Any]):
    """Adds what has been built; an editable installation finds it in its checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes the wheel."""
        if version == "editable":
            return
        present = {
            str(Path(self.root) / source): place
            for source, place in SHIPPED.items()
            if (Path(self.root) / source).exists()
        }
        build_data["force_include"].update(present)
