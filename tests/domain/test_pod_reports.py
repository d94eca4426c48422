"""Reports of pods: another attempt or run changes nothing, in whatever order reports come."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.values.index_ranges import members, ranges_of, text_of_ranges, without
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.commands import PodReport, ReportPods
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.decide.pod_reports import pod_report_refusals
from headgate.domain.workloads.events import WorkloadPlaced, WorkloadQuotaReserved, WorkloadStopped
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.pods.attempt_pods import attempt_pods
from tests.builders.instants import T0
from tests.builders.workloads import ADMITTED, a_pod_set, a_workload, an_eviction

NODES = frozenset({"a", "b", "c"})


def an_admission_of(**pods: int) -> Admission:
    """The admission of one pod set with so many pods on each host."""
    domains = tuple(TopologyDomain(values=(host,), count=count) for host, count in pods.items())
    given_hosts = PodSetAssignment(
        name="main",
        flavors={"cpu": "default"},
        resource_usage={"cpu": 1_000 * sum(pods.values())},
        count=sum(pods.values()),
        topology_assignment=TopologyAssignment(levels=("kubernetes.io/hostname",), domains=domains),
    )
    return Admission(cluster_queue="gpu", pod_set_assignments=(given_hosts,))


RESERVED_ON_HOSTS = WorkloadQuotaReserved(admission=an_admission_of(a=2, b=2))


def in_first_attempt() -> Any:
    pods = (a_pod_set(count=4),)
    return a_workload(after=(RESERVED_ON_HOSTS, ADMITTED), pod_sets=pods)


def told(state: Any, *reports: PodReport) -> Any:
    command = ReportPods(executor="x", reports=reports, nodes=NODES, eviction="e-9")
    for event in WORKLOAD.decide(state, command, T0):
        state = evolve(state, event, T0)
    return state


def a_report(index: int, kind: Any, attempt: int = 1, run: int = 1, **fields: Any) -> PodReport:
    return PodReport(uid="uid-1", attempt=attempt, index=index, run=run, type=kind, **fields)


def test_a_pod_that_is_placed_elsewhere_has_its_next_run_and_the_others_stay() -> None:
    state = in_first_attempt()
    placed = WorkloadPlaced(admission=an_admission_of(b=2, c=2), replaced=("a",))
    moved: Any = evolve(told(state, a_report(0, "ready"), a_report(2, "ready")), placed, T0)
    pods = [(p.index, p.rank, p.run, p.node) for p in attempt_pods(moved.admission, moved.layout)]
    assert pods == [(0, 0, 2, "c"), (1, 1, 2, "c"), (2, 2, 1, "b"), (3, 3, 1, "b")]
    failed = a_report(0, "finished", exit_code=1)
    command = ReportPods(executor="x", reports=(failed,), nodes=NODES)
    (late,) = pod_report_refusals(moved, command)
    assert late is not None
    assert late.message.code == "StaleRun"
    assert told(moved, failed) is moved
    assert tuple(members(moved.progress["main"].ready)) == (2,)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from(["started", "ready", "finished", "stopped"]),
        st.integers(1, 4),
        st.integers(1, 2),
        st.sampled_from([0, 0, 0, 1]),
        st.booleans(),
    ),
    max_size=25,
)


@given(STEPS)
def test_no_interleaving_of_reports_changes_another_attempt_or_run(steps: Any) -> None:
    state = in_first_attempt()
    for index, kind, attempt, run, code, begins_anew in steps:
        before = state
        state = told(state, a_report(index, kind, attempt, run, exit_code=code))
        is_present = attempt == before.attempt and run == 1 and index < 4
        assert state is before or is_present
        if state.finished_at is None and begins_anew:
            ended = (an_eviction("Preempted"), WorkloadStopped(eviction="e-1"))
            for event in (*ended, RESERVED_ON_HOSTS, ADMITTED):
                state = evolve(state, event, T0)
            assert state.progress == {}


def test_starts_come_before_ends_in_the_event_of_reports() -> None:
    """So that a pod which started and ended in one request is not shown as running."""
    state = told(in_first_attempt(), a_report(0, "ready"))
    reports = (
        a_report(0, "finished", exit_code=0),
        a_report(1, "started"),
        a_report(1, "ready"),
        a_report(1, "finished", exit_code=0),
    )
    command = ReportPods(executor="x", reports=reports, nodes=NODES)
    reported: Any = WORKLOAD.decide(state, command, T0)[0]
    groups = [(group.type, text_of_ranges(group.indices)) for group in reported.pods]
    assert groups == [("started", "1"), ("ready", "1"), ("finished", "0-1")]


@given(st.lists(st.integers(0, 3), min_size=1), st.lists(st.integers(0, 3)))
def test_reports_told_again_in_any_order_record_nothing(first: list[int], again: list[int]) -> None:
    state = told(in_first_attempt(), *(a_report(index, "ready") for index in first))
    known = [index for index in again if index in first]
    assert told(state, *(a_report(index, "started") for index in known)) is state
    assert told(state, *(a_report(index, "ready") for index in known)) is state


@given(st.frozensets(st.integers(0, 60)), st.frozensets(st.integers(0, 60)))
def test_ranges_hold_exactly_their_numbers(numbers: frozenset[int], gone: frozenset[int]) -> None:
    assert tuple(members(ranges_of(numbers))) == tuple(sorted(numbers))
    assert tuple(members(without(ranges_of(numbers), gone))) == tuple(sorted(numbers - gone))
    assert text_of_ranges(ranges_of([4, 0, 1, 2])) == "0-2,4"
