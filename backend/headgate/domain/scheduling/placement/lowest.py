"""What is free in all of several views of a table, kept and brought up to date by what changed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headgate.domain.scheduling.placement.changed_rows import ChangedRows


class Lowest:
    """The least of some views, resource by row, and nothing where more is taken than there is.

    Whoever looks at it says how new it must be.
    """

    def __init__(self, views: Sequence[tuple[NDArray[np.int64], ChangedRows]]) -> None:
        """Of several views, each with its changes."""
        self._views = tuple(free for free, _ in views)
        self._changes = tuple(changes for _, changes in views)
        self._version = -1
        self._positions: tuple[int, ...] = ()
        self.free = self._views[0]

    def renew(self, version: int) -> None:
        """Take into account what changed up to a version of the table."""
        if version == self._version:
            return
        rows = self._changed()
        if rows is None:
            self.free = _least(self._views)
        elif rows:
            changed = np.concatenate(rows)
            self.free[:, changed] = _least([view[:, changed] for view in self._views])
        self._positions = tuple(changes.position for changes in self._changes)
        self._version = version

    def _changed(self) -> list[NDArray[np.int64]] | None:
        """Rows that changed in any view; None if that is not known any more."""
        if not self._positions:
            return None
        rows: list[NDArray[np.int64]] = []
        for changes, position in zip(self._changes, self._positions, strict=True):
            since = changes.since(position)
            if since is None:
                return None
            rows.extend(since)
        return rows


def _least(views: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    least: NDArray[np.int64] = np.minimum.reduce(views)
    return np.maximum(least, 0, out=least)
