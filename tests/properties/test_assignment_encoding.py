"""Assignment entries do not depend on which entries are cached."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.scheduling.placement.flavor_topology import DIRECT_LIMIT, AssignmentEncoder
from headgate.domain.scheduling.placement.size_index import MAX_INDEXED_SIZE
from headgate.domain.workloads.admission import TopologyDomain

PLACES = 2 * DIRECT_LIMIT
NAMES = [(f"host-{number}",) for number in range(PLACES)]

counts = st.one_of(
    st.integers(1, 12), st.integers(1, 40), st.integers(MAX_INDEXED_SIZE, MAX_INDEXED_SIZE + 1)
)
gangs = st.tuples(
    st.integers(0, PLACES - 1), st.integers(1, PLACES), st.lists(counts, min_size=1, max_size=24)
)


@given(st.lists(gangs, min_size=1, max_size=6))
def test_each_leaf_is_encoded_with_its_pods(asked: list[tuple[int, int, list[int]]]) -> None:
    naming = AssignmentEncoder(np.fromiter(NAMES, dtype=np.object_, count=PLACES))
    for first, number, repeated in asked:
        leaves = np.arange(PLACES)[first : first + number]
        pods = np.resize(np.array(repeated), len(leaves))
        said = naming.encode(leaves, pods)
        assert said == tuple(
            TopologyDomain(NAMES[place], count)
            for place, count in zip(leaves.tolist(), pods.tolist(), strict=True)
        )


def test_repeated_entries_are_the_same_objects() -> None:
    naming = AssignmentEncoder(np.fromiter(NAMES, dtype=np.object_, count=PLACES))
    leaves = np.arange(PLACES)
    first = naming.encode(leaves, np.full(PLACES, 8))
    again = naming.encode(leaves, np.full(PLACES, 8))
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_a_subset_encodes_its_own_leaves() -> None:
    naming = AssignmentEncoder(np.fromiter(NAMES, dtype=np.object_, count=PLACES))
    part = naming.subset(slice(3, 5))
    assert part.encode(np.array([1]), np.array([2])) == (TopologyDomain(("host-4",), 2),)
