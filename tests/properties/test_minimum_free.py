"""The cached minimum of several views equals their minimum."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.scheduling.placement.host_table import ChangedRows, MinimumFree

ROWS = 400
MOVES = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, ROWS - 1), st.integers(1, ROWS // 2), st.integers(-5, 5)
    ),
    max_size=12,
)


@given(MOVES, st.integers(1, 4))
def test_the_minimum_of_two_views_follows_every_change(
    moves: list[tuple[int, int, int, int]], looks: int
) -> None:
    """However many rows changed between two refreshes, in either view."""
    views = [np.full((2, ROWS), 9, dtype=np.int64), np.full((2, ROWS), 7, dtype=np.int64)]
    changes = [ChangedRows(ROWS), ChangedRows(ROWS)]
    lowest = MinimumFree(list(zip(views, changes, strict=True)))
    for version, (view, first, number, amount) in enumerate(moves):
        rows = np.arange(first, min(first + number, ROWS))
        views[view][:, rows] += amount
        changes[view].note(rows)
        if version % looks == 0:
            lowest.refresh(version)
            assert (lowest.free == np.maximum(np.minimum(*views), 0)).all()
