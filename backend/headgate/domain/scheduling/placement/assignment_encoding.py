"""What an assignment says of places with so many pods each, as it is written into the log.

A gang over very many hosts mostly gives them the same few numbers of pods as the gang before it, so
that what was once said of a place is kept and picked out by number.
"""

import numpy as np
from numpy.typing import NDArray

from headgate.domain.scheduling.placement.host_table import Bools, Ints
from headgate.domain.scheduling.placement.size_index import MAX_INDEXED_SIZE
from headgate.domain.workloads.admission import TopologyDomain

DIRECT_LIMIT = 256
"""So many places are named in less time than it takes to pick them out."""
MAX_CACHED_COUNTS = 16
"""For so many numbers of pods it is kept what is said of places; each takes 9 bytes a place."""


class AssignmentEncoder:
    """The names of the places of a topology, and what was said of them with so many pods."""

    def __init__(self, values: NDArray[np.object_]) -> None:
        """`values` is what an assignment calls each place."""
        self._values = values
        self._lines: dict[int, int] = {}
        self._said: NDArray[np.object_] | None = None
        self._is_said: Bools = np.zeros((0, 0), dtype=np.bool_)

    def say(self, places: Ints, counts: Ints) -> tuple[TopologyDomain, ...]:
        """Each of these places with its pods."""
        lines = self._lines_of(counts) if len(places) > DIRECT_LIMIT else None
        if lines is None:
            return self._anew(places, counts)
        if self._said is None:
            self._said = np.empty((MAX_CACHED_COUNTS, len(self._values)), dtype=np.object_)
        missing = (~self._is_said[lines, places]).nonzero()[0]
        if len(missing):
            at = lines[missing], places[missing]
            said = self._anew(places[missing], counts[missing])
            self._said[at] = np.fromiter(said, dtype=np.object_, count=len(said))
            self._is_said[at] = True
        return tuple(self._said[lines, places].tolist())

    def part(self, places: slice) -> "AssignmentEncoder":
        """The names of a stretch of the places alone."""
        return AssignmentEncoder(self._values[places])

    def _anew(self, places: Ints, counts: Ints) -> tuple[TopologyDomain, ...]:
        return tuple(map(TopologyDomain, self._values[places].tolist(), counts.tolist()))

    def _lines_of(self, counts: Ints) -> Ints | None:
        """The line that is kept for the number of each; None where there are too many numbers."""
        if counts[counts.argmax()] >= MAX_INDEXED_SIZE:
            return None
        numbers = np.bincount(counts).nonzero()[0].tolist()
        if len(numbers) > MAX_CACHED_COUNTS:
            return None
        if len(self._lines.keys() | numbers) > MAX_CACHED_COUNTS or not self._lines:
            self._lines.clear()
            self._is_said = np.zeros((MAX_CACHED_COUNTS, len(self._values)), dtype=np.bool_)
        for number in numbers:
            self._lines.setdefault(number, len(self._lines))
        line_of = np.zeros(numbers[-1] + 1, dtype=np.int64)
        line_of[numbers] = [self._lines[number] for number in numbers]
        return line_of[counts]
