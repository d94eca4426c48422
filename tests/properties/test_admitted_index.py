"""The index of admitted units depends on the present units only, not on what came before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.scheduling.placement.admitted_index import UNUSED, AdmittedIndex, AdmittedUnit
from headgate.domain.scheduling.placement.host_table import DomainId, HostTable

Stands = tuple[int, list[tuple[int, int, int]]]
HOSTS = 4
NAMES = st.sampled_from([f"team/w{number}" for number in range(90)])
PODS = st.lists(
    st.tuples(st.integers(0, HOSTS - 1), st.integers(1, 5), st.integers(0, 9)), max_size=3
)
CHANGES = st.lists(st.tuples(NAMES, st.none() | st.tuples(st.integers(-3, 3), PODS)), max_size=250)


def a_table() -> HostTable:
    spec = NodeSpec(allocatable={"gpu": 8, "pods": 110})
    nodes: dict[DomainId, tuple[Configured[NodeSpec], ...]] = {
        (f"h{n}",): (Configured(name=f"h{n}", uid="", created_at=0, spec=spec),)
        for n in range(HOSTS)
    }
    return HostTable(nodes, {place: place for place in nodes})


def standing(protection: int, pods: list[tuple[int, int, int]]) -> AdmittedUnit:
    arrays = tuple((np.array([row]), np.array([count]), {"gpu": gpus}) for row, count, gpus in pods)
    return AdmittedUnit("q", protection, is_preemptible=True, pods=arrays)


def told(admitted: AdmittedIndex) -> list[tuple[str, int, int, int, int, int]]:
    entries = zip(
        admitted.holders.tolist(),
        admitted.rows.tolist(),
        admitted.counts.tolist(),
        *(line.tolist() for line in admitted.amounts),
        strict=True,
    )
    return sorted(
        (admitted.names[holder], int(admitted.protections[holder]), row, count, gpus, pods)
        for holder, row, count, gpus, pods in entries
        if holder != UNUSED
    )


@given(CHANGES)
def test_the_index_holds_exactly_the_present_units(
    changes: list[tuple[str, Stands | None]],
) -> None:
    admitted = AdmittedIndex(a_table())
    there: dict[str, Stands] = {}
    for name, found in changes:
        if found is None:
            admitted.remove(name)
            there.pop(name, None)
        else:
            admitted.add(name, standing(*found))
            there[name] = found
    assert sorted(admitted.names_in(admitted.in_cluster_queue("q"))) == sorted(there)
    assert told(admitted) == sorted(
        (name, protection, row, count, count * gpus, count)
        for name, (protection, pods) in there.items()
        for row, count, gpus in pods
    )
