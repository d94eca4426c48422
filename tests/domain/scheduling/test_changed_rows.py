"""The log of changed rows returns what changed after a position, or forgets it."""

import numpy as np

from headgate.domain.scheduling.placement.host_table import MIN_KEPT_ROWS, ChangedRows


def test_rows_changed_after_a_position_are_returned() -> None:
    changes = ChangedRows(10)
    changes.note(np.array([3]))
    position = changes.position
    changes.note(np.array([1, 2]))
    since = changes.since(position)
    assert since is not None
    assert [rows.tolist() for rows in since] == [[1, 2]]
    assert changes.since(changes.position) == []


def test_old_positions_are_forgotten() -> None:
    changes = ChangedRows(10)
    start = changes.position
    for _ in range(MIN_KEPT_ROWS + 1):
        changes.note(np.array([0]))
    assert changes.since(start) is None
    assert changes.since(changes.position) == []


def test_a_change_of_most_rows_at_once_is_not_kept() -> None:
    changes = ChangedRows(10)
    start = changes.position
    changes.note(np.arange(MIN_KEPT_ROWS + 1))
    assert changes.since(start) is None
    changes.note(np.array([7]))
    assert changes.since(start) is None
    assert changes.position == start + 2
