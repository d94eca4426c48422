"""Which rows of a table changed, in the order they did, for those who keep figures of them."""

import numpy as np
from numpy.typing import NDArray

LEAST_KEPT = 256


class ChangedRows:
    """A log of rows; who lags behind by more than part of the table is told to begin anew."""

    def __init__(self, rows: int) -> None:
        self._most = max(LEAST_KEPT, rows // 8)
        self._kept: list[NDArray[np.int64]] = []
        self._number = 0
        self._begin = 0
        self.position = 0
        """What to ask from the next time."""

    def note(self, rows: NDArray[np.int64]) -> None:
        """These rows have changed."""
        self.position += 1
        if self._number + len(rows) > self._most:
            self._begin, self._kept, self._number = self.position - 1, [], 0
            if len(rows) > self._most:
                self._begin = self.position
                return
        self._kept.append(rows)
        self._number += len(rows)

    def since(self, position: int) -> list[NDArray[np.int64]] | None:
        """Rows that changed after `position`, some more than once; None if that is not known."""
        if position < self._begin:
            return None
        return self._kept[position - self._begin :]
