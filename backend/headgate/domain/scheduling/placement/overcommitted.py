"""Places on which more is held than they have free room for, whatever the reason."""

import numpy as np

from headgate.domain.scheduling.placement.hosts import ACTUAL, HostTable, Place


def overcommitted(table: HostTable) -> list[Place]:
    """The places with less than nothing free of some resource, in order of the table."""
    short = np.flatnonzero((table.free[ACTUAL] < 0).any(axis=0))
    return [table.places[int(row)] for row in short]
