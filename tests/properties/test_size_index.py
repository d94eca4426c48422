"""The size index equals what counting all domains gives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.scheduling.placement.size_index import (
    MAX_INDEXED_SIZE,
    best_fit_domains,
    first_of_size,
    size_index,
    update_sizes,
)

_figures = st.lists(st.integers(0, 5), min_size=1, max_size=12).map(lambda few: few * 40)


@given(figures=_figures, data=st.data())
def test_domains_of_a_size_are_found_after_any_updates(
    figures: list[int], data: st.DataObject
) -> None:
    of = np.array(figures, dtype=np.int64)
    sizes = size_index(of)
    assert sizes is not None
    for _ in range(data.draw(st.integers(1, 4))):
        size = data.draw(st.integers(0, len(sizes.numbers) - 1))
        number = data.draw(st.integers(1, 50))
        plain = np.flatnonzero(of == size)[:number]
        assert first_of_size(sizes, size, min(number, sizes.count(size))).tolist() == plain.tolist()
        assert sizes.numbers.tolist()[: int(of.max()) + 1] == np.bincount(of).tolist()
        places = data.draw(st.sets(st.integers(0, len(of) - 1), min_size=1, max_size=20))
        domains = np.array(sorted(places), dtype=np.int64)
        after = data.draw(st.lists(st.integers(0, 7), min_size=len(domains), max_size=len(domains)))
        change = np.array(after, dtype=np.int64) - of[domains]
        of[domains] += change
        assert update_sizes(sizes, domains, change)


@given(figures=_figures, need=st.integers(1, 7))
def test_best_fit_domains_are_all_of_the_smallest_sufficient_size(
    figures: list[int], need: int
) -> None:
    of = np.array(figures, dtype=np.int64)
    sizes = size_index(of)
    assert sizes is not None
    enough = of[of >= need]
    plain = np.flatnonzero(of == enough.min()).tolist() if len(enough) else []
    assert list(best_fit_domains(of, need, sizes)) == plain
    assert list(best_fit_domains(of, need, None)) == plain


def test_too_large_sizes_are_not_indexed() -> None:
    of = np.array([1, 2], dtype=np.int64)
    sizes = size_index(of)
    assert sizes is not None
    of[1] += MAX_INDEXED_SIZE
    assert not update_sizes(sizes, np.array([1]), np.array([MAX_INDEXED_SIZE]))
    assert size_index(of) is None
