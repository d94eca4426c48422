"""How long workloads waited: the latest of a size, and how many waited how long in a time."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.application.commands.append_unit import read_columns
from headgate.application.workload_filter import (
    WAIT_SLOT,
    WAIT_STEPS,
    rounded_wait,
    size_class,
    waits_between,
)
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from headgate.domain.workloads.state import Condition, Workload
from tests.contracts.adapters import Adapters
from tests.contracts.events import shown

CREATED = 1_000
SECOND = 1_000_000


def show(adapters: Adapters, *workloads: Workload) -> None:
    adapters.log.append([shown(f"workload/{found.key}", found) for found in workloads])


def reserving(name: str, start: int, cpu: int, queue: str = "gpu") -> Workload:
    """A workload that got its quota at an instant, and requests so much."""
    pod_set = PodSet(count=1, scheduling=Scheduling(requests={"cpu": cpu}))
    condition = Condition(
        type="QuotaReserved", status=True, reason="QuotaReserved", last_transition_at=start
    )
    return Workload(
        uid=f"uid-{name}",
        namespace="a",
        name=name,
        created_at=CREATED,
        spec=WorkloadSpec(queue_name="q", pod_sets=(pod_set,)),
        admission=Admission(cluster_queue=queue, pod_set_assignments=()),
        conditions=(condition,),
    )


SLOTS = count()
WAITS = st.tuples(
    st.integers(0, 3 * WAIT_SLOT),
    st.one_of(
        st.integers(0, 400 * 86_400 * SECOND),
        st.sampled_from([end * SECOND for end, _ in WAIT_STEPS[:-1]]),
    ),
    st.sampled_from(("gpu", "cpu")),
)
APPENDS = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.none() | WAITS), max_size=4), min_size=1, max_size=4
)
BOUNDS = st.tuples(st.integers(-WAIT_SLOT, 4 * WAIT_SLOT), st.integers(-WAIT_SLOT, 4 * WAIT_SLOT))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(APPENDS, st.lists(BOUNDS, min_size=1, max_size=3))
def test_waits_are_counted_beside_rows_as_they_are_from_workloads(
    adapters: Adapters,
    appends: list[list[tuple[int, tuple[int, int, str] | None]]],
    bounds: list[tuple[int, int]],
) -> None:
    """Workloads get quota, lose it and are deleted; each example has a time of its own."""
    start = (100_000 + next(SLOTS) * 10) * WAIT_SLOT
    versions, states = Counter[str](), dict[str, Workload | Absent]()
    for written in appends:
        units = []
        for number, reserved in written:
            name = f"at-{start}-{number}"
            state: Workload | Absent = Absent()
            if reserved is not None:
                at, waited, queue = reserved
                created = replace(
                    reserving(name, start + at, 1, queue), created_at=start + at - waited
                )
                is_evicted = waited % 5 == 4
                state = replace(created, admission=None, conditions=()) if is_evicted else created
            units.append(shown(f"workload/a/{name}", state, version=versions[name]))
            versions[name] += 1
            states[name] = state
        adapters.log.append(units)
        kept = [each for each in states.values() if isinstance(each, Workload)]
        for since, until in bounds:
            found = adapters.models.waits_between(start + since, start + until)
            assert found == waits_between(kept, start + since, start + until)
    assert adapters.models.miscounted() == 0


@pytest.mark.parametrize("end", [end for end, _ in WAIT_STEPS[:-1]])
def test_a_rounded_wait_is_less_by_under_a_twentyfifth_and_passes_no_bound(end: int) -> None:
    assert rounded_wait(end * SECOND) == end
    assert rounded_wait(end * SECOND - 1) < end
    assert rounded_wait(end * SECOND - 1) * 25 > (end - 1) * 24


def test_past_waits_are_those_of_workloads_of_about_the_size(adapters: Adapters) -> None:
    second = SECOND
    alike = [reserving(f"w{n}", CREATED + n * second, 4 + n) for n in range(4)]
    show(
        adapters,
        *alike,
        reserving("large", CREATED + second, 8),
        reserving("elsewhere", CREATED + second, 4, "cpu"),
        replace(alike[0], name="pending", admission=None, conditions=()),
    )
    models, size = adapters.models, size_class(alike[0])

    waits = [(CREATED + n * second, n * second) for n in range(4)]
    assert models.waits_like("gpu", size, limit=9) == waits
    assert models.waits_like("gpu", size, limit=2) == waits[-2:]
    assert models.waits_like("none", size, limit=9) == []
    assert models.sizes_started("gpu") == sorted(
        {size, size_class(reserving("large", CREATED + second, 8))}
    )
    assert models.sizes_started("none") == []
    assert models.waits_between(CREATED + second, CREATED + 9 * second) == {
        "cpu": {1: 1},
        "gpu": {1: 2, 2: 1, 3: 1},
    }
    assert models.waits_between(CREATED, CREATED + second) == {"gpu": {0: 1}}
    ended = replace(reserving("ended", CREATED + 5 * second, 4), finished_at=CREATED + 9 * second)
    show(adapters, ended)
    head = adapters.log.head()
    assert models.waits_like("gpu", size, limit=9, ended_by=head) == [
        (CREATED + 5 * second, 5 * second)
    ]
    assert models.waits_between(CREATED, CREATED + 6 * second, ended_by=head) == {"gpu": {5: 1}}
    assert models.waits_like("gpu", size, limit=9, ended_by=head - 1) == []
    assert models.waits_between(CREATED, CREATED + 6 * second, ended_by=head - 1) == {}
    assert models.columns(["workload/a/large", "workload/a/none"]) == {
        "workload/a/large": read_columns(reserving("large", CREATED + second, 8))
    }
