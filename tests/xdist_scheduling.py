"""How the processes of a run share the tests out: files that take long begin first."""

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

LONG = ("slow", "browser")
"""The marks of tests whose files begin first."""

TOGETHER = ("tests/browser/", "tests/architecture/")
"""Folders whose files share what is dear to begin with: one process runs them all."""


class LongFilesFirst(LoadFileScheduling):  # type: ignore[misc] # as xdist tells no types
    """File by file in the order given, and some folders as a whole."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        # Else files with few tests come last, and one process is left alone with a long one.
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        whole = next((folder for folder in TOGETHER if nodeid.startswith(folder)), None)
        return whole or str(super()._split_scope(nodeid))


def long_files_first(items: list[pytest.Item]) -> None:
    """Files with a slow test, and those of the browser, come before others in the order drawn."""
    long = {item.path for item in items if any(map(item.get_closest_marker, LONG))}
    items.sort(key=lambda item: item.path not in long)
