"""Schedules test files over the processes of a run: what takes long begins first."""

from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

LONG = ("slow", "browser")
"""Marks of tests that move their files to the front."""

SHORT = ("tests/domain/", "tests/messages/", "tests/verify/")
"""Folders of files that take a second or less; they come last, so that processes end together."""

TOGETHER = {"tests/architecture": 1, "tests/browser": 1}
"""Folders with shared costly fixtures, and how many processes of a run share each folder's files.

Each process that runs a browser test starts an installation and a browser, which takes 13 s of
processor time. All files of a share run one after the other, so that both are started once.
"""


class LongFilesFirst(LoadFileScheduling):  # type: ignore[misc] # as xdist tells no types
    """Hands out one file at a time in the given order, and the shares of `TOGETHER` whole."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        # Else files with few tests come last, and one process is left alone with a long one.
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return share_of(str(super()._split_scope(nodeid)))


def share_of(file: str) -> str:
    """The file itself, or its share of a folder of `TOGETHER`."""
    path = PurePosixPath(file)
    shares = TOGETHER.get(str(path.parent))
    # By the name, as processes of a run agree on nothing else; a hash differs between them.
    return f"{path.parent} {sum(path.name.encode()) % shares}" if shares else file


def long_files_first(items: list[pytest.Item]) -> None:
    """Sort files with a test marked in `LONG` first, then shared folders, and `SHORT` last.

    The files of a share stand together; else the drawn order stays.
    """
    long = {item.path for item in items if any(map(item.get_closest_marker, LONG))}

    def place(item: pytest.Item) -> tuple[bool, bool, bool, str]:
        file = item.nodeid.partition("::")[0]
        share = share_of(file)
        is_shared = share != file
        ends = file.startswith(SHORT)
        return item.path not in long, ends, not is_shared, share if is_shared else ""

    items.sort(key=place)
