"""Schedules test files over the processes of a run: files with a slow test begin first."""

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

LONG = ("slow", "browser")
"""Marks of tests that move their files to the front."""

TOGETHER = ("tests/architecture/",)
"""Folders with shared costly fixtures: one process runs all of their files."""


class LongFilesFirst(LoadFileScheduling):  # type: ignore[misc] # as xdist tells no types
    """Hands out one file at a time in the given order, and the folders of `TOGETHER` whole."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        # Else files with few tests come last, and one process is left alone with a long one.
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        whole = next((folder for folder in TOGETHER if nodeid.startswith(folder)), None)
        return whole or str(super()._split_scope(nodeid))


def long_files_first(items: list[pytest.Item]) -> None:
    """Sort files with a test marked in `LONG` first; within both groups the drawn order stays."""
    long = {item.path for item in items if any(map(item.get_closest_marker, LONG))}
    items.sort(key=lambda item: item.path not in long)
