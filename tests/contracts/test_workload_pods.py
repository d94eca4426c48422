"""What every store promises of the pods of workloads, and of reads of their past."""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.adapters.postgres import followers as postgres_followers
from headgate.application.historical_ports import (
    MAX_PODS_KEPT,
    KeptPods,
    folded_pods,
    selected_pods,
)
from headgate.application.projections import Amend, Put, Remove, RowChange
from headgate.application.projections.workload_pods import (
    PodFilter,
    PodRow,
    PodRows,
    WorkloadPods,
    remembered,
)
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.recorded_event import EventMetadata, RecordedEvent
from headgate.domain.values.message import message
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPlaced,
    WorkloadPodsReady,
    WorkloadPodsReported,
    WorkloadQuotaReserved,
    WorkloadScaledDown,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.pod_events import (
    FailedPods,
    PodReportType,
    ReportedPods,
    WorkloadIndexesFailed,
    WorkloadPodsReleased,
    WorkloadRetried,
)
from headgate.domain.workloads.preemption_events import (
    WorkloadGrown,
    WorkloadPodsEvicted,
    WorkloadShrunk,
)
from headgate.domain.workloads.specs import PodIndex, PodReason
from headgate.domain.workloads.state import Workload, WorkloadState
from tests.contracts.adapters import Adapters
from tests.contracts.history import START, History, submitted
from tests.event_log.samples import sample_of

NAME = "workload_pod"
STREAM = "workload/a/x"


def on(*hosts: str) -> Admission:
    """An admission of one pod on each of these hosts."""
    domains = tuple(TopologyDomain(values=(host,), count=1) for host in hosts)
    topology = TopologyAssignment(levels=(HOSTNAME_LABEL,), domains=domains)
    given = PodSetAssignment(
        name="main",
        flavors={"cpu": "default"},
        resource_usage={"cpu": 1000 * len(hosts)},
        count=len(hosts),
        topology_assignment=topology,
    )
    return Admission(cluster_queue="gpu", pod_set_assignments=(given,))


def told(
    kind: PodReportType,
    *indices: int,
    exit_code: int | None = None,
    reason: PodReason | None = None,
    message: str = "",
) -> WorkloadPodsReported:
    group = ReportedPods(
        pod_set="main",
        indices=tuple((index, index) for index in indices),
        run=1,
        node=f"n{indices[0]}",
        type=kind,
        exit_code=exit_code,
        reason=reason,
        message=message,
        results=tuple(f"r{index}" for index in indices) if kind == "finished" else (),
    )
    return WorkloadPodsReported(uid="uid-x", attempt=1, executor="e", pods=(group,))


def admitted(*hosts: str) -> History:
    history = History()
    history.add(STREAM, submitted("x"))
    history.add(STREAM, WorkloadQuotaReserved(admission=on(*hosts)), START + 1)
    history.add(STREAM, WorkloadAdmitted(waited_seconds=0), START + 1)
    return history


def evicted(history: History) -> None:
    history.add(STREAM, WorkloadEvicted(eviction="e", reason="Requeued", message="again"))
    history.add(STREAM, WorkloadStopped(eviction="e"))


def follow(adapters: Adapters, history: History, **query: object) -> PodRows:
    adapters.log.append(history.units)
    while adapters.followers.advance(NAME, limit=3):
        pass
    return read(adapters, **query)


def read(adapters: Adapters, **query: object) -> PodRows:
    return adapters.followers.pods(PodFilter(workload="a/x", **query))  # type: ignore[arg-type]


def states(found: PodRows) -> list[tuple[int, int, str]]:
    return [(row.pod_index, row.run, row.state) for row in found.pods]


def test_pods_begin_assigned_with_rank_and_node(adapters: Adapters) -> None:
    found = follow(adapters, admitted("n0", "n1"))
    assert [(row.rank, row.node, row.state) for row in found.pods] == [
        (0, "n0", "Assigned"),
        (1, "n1", "Assigned"),
    ]
    assert found.position == 3


def test_reports_tell_states_results_and_exit_codes(adapters: Adapters) -> None:
    history = admitted("n0", "n1", "n2", "n3")
    history.add(STREAM, told("started", 0, 1, 2), START + 5)
    history.add(STREAM, told("ready", 0), START + 6)
    history.add(STREAM, told("finished", 1, exit_code=0, reason="Completed"), START + 7)
    failed = told("finished", 2, exit_code=137, reason="OOMKilled", message="over the limit")
    history.add(STREAM, failed, START + 8)
    found = follow(adapters, history)
    assert [row.state for row in found.pods] == ["Running", "Succeeded", "Failed", "Assigned"]
    failure = found.pods[2]
    assert (failure.exit_code, failure.reason, failure.result) == (137, "OOMKilled", "r2")
    assert failure.message == "over the limit"
    assert (failure.started_at, failure.finished_at) == (START + 5, START + 8)
    (counted,) = (each for each in found.counts if each.state == "Failed")
    assert (counted.attempt, counted.pods, counted.finished_at) == (1, 1, START + 8)


def test_a_moved_pod_has_its_next_run_and_the_earlier_is_lost(adapters: Adapters) -> None:
    history = admitted("n0", "n1")
    history.add(STREAM, told("started", 0, 1))
    history.add(STREAM, WorkloadPlaced(admission=on("n0", "n9"), replaced=("n1",)))
    assert states(follow(adapters, history)) == [(0, 1, "Starting"), (1, 2, "Assigned")]
    all_runs = read(adapters, all_runs=True)
    assert states(all_runs) == [(0, 1, "Starting"), (1, 1, "Lost"), (1, 2, "Assigned")]
    assert all_runs.pods[-1].node == "n9"
    assert sum(each.restarts for each in all_runs.counts) == 1


def test_a_pod_that_leaves_keeps_its_row_without_a_rank(adapters: Adapters) -> None:
    history = admitted("n0", "n1", "n2")
    history.add(STREAM, told("started", 0, 1))
    history.add(STREAM, WorkloadScaledDown(admission=on("n0")))
    found = follow(adapters, history)
    assert [(row.rank, row.state) for row in found.pods] == [
        (0, "Starting"),
        (None, "Starting"),
        (None, "Stopped"),
    ]
    after = history.continued()
    evicted(after)
    assert {row.state for row in follow(adapters, after).pods} == {"Lost", "Stopped"}


def test_what_no_report_told_is_lost_when_the_attempt_is_over(adapters: Adapters) -> None:
    history = admitted("n0", "n1")
    history.add(STREAM, told("started", 0, 1))
    history.add(STREAM, told("stopped", 0))
    evicted(history)
    history.add(STREAM, WorkloadQuotaReserved(admission=on("n5")))
    assert states(follow(adapters, history)) == [(0, 1, "Assigned")]
    assert states(read(adapters, attempt=1)) == [(0, 1, "Stopped"), (1, 1, "Lost")]
    assert sorted({each.attempt for each in read(adapters).counts}) == [1, 2]


@pytest.mark.parametrize(("reason", "state"), [("Succeeded", "Succeeded"), ("Failed", "Stopped")])
def test_pods_follow_the_workload_where_only_it_is_reported(
    adapters: Adapters, reason: str, state: str
) -> None:
    history = admitted("n0", "n1")
    history.add(STREAM, WorkloadPodsReady(), START + 9)
    assert {row.state for row in follow(adapters, history).pods} == {"Running"}
    after = history.continued()
    after.add(STREAM, WorkloadFinished(reason=reason), START + 10)  # type: ignore[arg-type]
    assert {(row.state, row.finished_at) for row in follow(adapters, after).pods} == {
        (state, START + 10)
    }


def test_pods_go_with_their_workload(adapters: Adapters) -> None:
    history = admitted("n0")
    evicted(history)
    history.add(STREAM, WorkloadFinished(reason="Cancelled", message=message("Cancelled")))
    history.add(STREAM, WorkloadDeleted())
    assert follow(adapters, history) == PodRows(position=7, pods=[], counts=[])


def test_pods_of_an_ended_workload_are_folded_from_its_events(adapters: Adapters) -> None:
    history = admitted("n0", "n1", "n2")
    history.add(STREAM, told("started", 0, 1))
    history.add(STREAM, told("finished", 1, exit_code=0, reason="Completed"))
    evicted(history)
    history.add(STREAM, reserved("n5"))
    follow(adapters, history)
    ending = history.continued()
    ending.add(STREAM, WorkloadFinished(reason="Cancelled", message=message("Cancelled")))

    found = follow(adapters, ending, attempt=1, all_runs=True)

    assert states(found) == [(0, 1, "Lost"), (1, 1, "Succeeded"), (2, 1, "Lost")]
    assert {each.attempt for each in found.counts} == {1, 2}
    paged = [row for page in pages(adapters, attempt=1, all_runs=True) for row in page.pods]
    assert paged == found.pods
    adapters.followers.rebuild(NAME)
    assert read(adapters, attempt=1, all_runs=True) == found


def test_pages_of_an_ended_workload_are_folded_once_until_it_has_another_event(
    adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded: list[int] = []

    def counted(events: Iterable[RecordedEvent]) -> list[PodRow]:
        rows = folded_pods(events)
        folded.append(len(rows))
        return rows

    monkeypatch.setattr(postgres_followers, "folded_pods", counted)
    history = admitted("n0", "n1", "n2", "n3", "n4")
    evicted(history)
    history.add(STREAM, WorkloadFinished(reason="Cancelled", message=message("Cancelled")))
    follow(adapters, history)
    paged = [row.pod_index for page in pages(adapters) for row in page.pods]
    assert paged == [0, 1, 2, 3, 4]
    assert folded in ([], [5]), "in memory there are no pages to fold for"
    deletion = history.continued()
    deletion.add(STREAM, WorkloadDeleted())
    assert follow(adapters, deletion).pods == []


def test_no_more_pods_are_kept_than_the_limit_and_those_read_last_stay() -> None:
    def pods(count: int) -> list[PodRow]:
        return [
            PodRow(workload="a/x", attempt=1, pod_set="main", pod_index=index, run=1)
            for index in range(count)
        ]

    kept, half = KeptPods(), MAX_PODS_KEPT // 2
    kept.put(("first", b""), pods(half))
    kept.put(("second", b""), pods(half))
    assert kept.get(("first", b"")) is not None
    kept.put(("third", b""), pods(1))
    assert kept.get(("second", b"")) is None, "it was read before the first"
    assert len(kept.get(("first", b"")) or ()) == half
    kept.put(("large", b""), pods(MAX_PODS_KEPT + 1))
    kept.put(None, pods(1))
    assert kept.get(("large", b"")) is kept.get(None) is None


def pages(adapters: Adapters, **query: object) -> Iterator[PodRows]:
    after = None
    while True:
        page = read(adapters, after=after, limit=2, **query)
        yield page
        if not page.pods:
            return
        last = page.pods[-1]
        after = (last.pod_set, last.pod_index, last.run)


@pytest.mark.parametrize(
    ("query", "indices"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"states": ("Starting", "Running")}, [1, 3]),
        ({"node": "n1"}, [1, 3]),
        ({"pod_set": "main", "states": ("Assigned",)}, [0, 2, 4]),
        ({"pod_set": "other"}, []),
        ({"attempt": 7}, []),
    ],
)
def test_pods_are_filtered_and_paged_and_past_reads_agree(
    adapters: Adapters, query: dict[str, object], indices: list[int]
) -> None:
    history = admitted("n0", "n7", "n2", "n8", "n4")
    history.add(STREAM, told("started", 1, 3))
    follow(adapters, history)
    found = [row for page in pages(adapters, **query) for row in page.pods]
    assert [row.pod_index for row in found] == indices
    query_of_all = PodFilter(workload="a/x", **query)  # type: ignore[arg-type]
    past = selected_pods(folded_pods(adapters.log.read_stream(STREAM)), query_of_all, 4)
    assert past == read(adapters, **query)
    assert past.pods == found


def test_a_rebuilt_one_is_what_it_was(adapters: Adapters) -> None:
    history = admitted("n0", "n1")
    history.add(STREAM, told("started", 0, 1))
    history.add(STREAM, WorkloadPlaced(admission=on("n0", "n9"), replaced=("n1",)))
    evicted(history)
    before = follow(adapters, history, all_runs=True)
    adapters.followers.rebuild(NAME)
    assert read(adapters, all_runs=True) == before
    assert len(before.pods) == 3


def reserved(*hosts: str) -> WorkloadQuotaReserved:
    return WorkloadQuotaReserved(admission=on(*hosts))


def indexed(parallelism: int, completions: int, replicas: int = 0) -> WorkloadSubmitted:
    spec = submitted("x").spec
    index = PodIndex(label="index", sub_group_label="job", sub_group_count=replicas)
    pods = replace(
        spec.pod_sets[0],
        count=parallelism,
        completions=completions,
        pod_index=index if replicas else None,
    )
    return replace(submitted("x"), spec=replace(spec, pod_sets=(pods,)))


FAILED = FailedPods(
    pod_set="main", indices=((0, 0),), run=1, node="n0", reason="Error", counts=True, retry_at=9
)
EVENTS_OF_PODS: tuple[WorkloadEvent, ...] = (
    reserved("n0", "n1"),
    reserved("n0", "n0", "n2"),
    told("started", 0, 1),
    told("ready", 0),
    told("finished", 1, exit_code=0, reason="Completed"),
    told("finished", 0, exit_code=1, reason="Error"),
    told("stopped", 0, 1),
    WorkloadPodsReady(),
    WorkloadPlaced(admission=on("n0", "n9"), replaced=("n1",)),
    WorkloadScaledDown(admission=on("n0")),
    WorkloadRetried(action="RetryPod", pods=(FAILED,), retries=1),
    WorkloadIndexesFailed(pods=(FAILED,)),
    WorkloadPodsReleased(pods={"main": ((0, 0),)}),
    WorkloadPodsEvicted(
        eviction="p",
        underlying_cause="InClusterQueue",
        message=message("Preempted"),
        pods={"main": 1},
        counts={"main": 1},
    ),
    WorkloadShrunk(eviction="p", pods={"main": 1}, counts={"main": 1}),
    WorkloadGrown(pods={"main": 1}, admission=on("n0", "n1")),
    WorkloadStopped(eviction="e"),
    WorkloadFinished(reason="Succeeded"),
    WorkloadDeleted(),
    submitted("x"),
    indexed(2, 5),
)
OTHER_EVENTS = tuple(
    sample_of(kind) for kind in get_args(WorkloadEvent) if not WorkloadPods().folds(kind)
)


@given(
    st.sampled_from([submitted("x"), indexed(2, 5), indexed(3, 3), indexed(2, 6, replicas=2)]),
    st.lists(st.sampled_from(EVENTS_OF_PODS) | st.sampled_from(OTHER_EVENTS), max_size=30),
)
def test_what_is_remembered_follows_as_from_the_whole_workload(
    first: WorkloadSubmitted, others: list[WorkloadEvent]
) -> None:
    """So events that are not folded, and fields that are left out, tell nothing of pods."""
    whole: WorkloadState = Absent()
    projection, memory = WorkloadPods(), dict[str, str]()
    known: list[RecordedEvent] = []
    rows: dict[Any, dict[str, Any]] = {}
    for number, event in enumerate((first, *others), 1):
        at = START + number
        whole = evolve(whole, event, at)
        metadata = EventMetadata(actor="a")
        recorded = RecordedEvent(
            position=number, stream=STREAM, version=number, event=event, at=at, metadata=metadata
        )
        known.append(recorded)
        for change in projection.changes(recorded, memory):
            change_rows(rows, change)
        if isinstance(whole, Absent) or whole.finished_at is not None:
            assert (memory, rows) == ({}, {})
        else:
            kept = msgspec.json.decode(memory[STREAM], type=Workload)
            assert remembered(kept) == remembered(whole)
            assert [msgspec.convert(row, PodRow) for row in rows.values()] == folded_pods(known)


def change_rows(rows: dict[Any, dict[str, Any]], change: RowChange) -> None:
    """Rows change as the table does."""
    match change:
        case Put(key=key, values=values):
            rows.setdefault(tuple(key.values()), dict(key)).update(values)
        case Amend(where=where, values=values):
            for row in rows.values():
                row.update(values if where.items() <= row.items() else {})
        case Remove(where=where):
            assert where == {"workload": "a/x"}
            rows.clear()
        case _:
            raise AssertionError(change)


def test_less_is_remembered_than_the_whole_workload() -> None:
    spec = submitted("x").spec
    pods = replace(spec.pod_sets[0], template={"spec": {"containers": ["c" * 10_000]}})
    event = replace(submitted("x"), spec=replace(spec, pod_sets=(pods,)))
    memory: dict[str, str] = {}
    metadata = EventMetadata(actor="a")
    recorded = RecordedEvent(
        position=1, stream=STREAM, version=1, event=event, at=START, metadata=metadata
    )
    WorkloadPods().changes(recorded, memory)
    assert 0 < len(memory[STREAM]) < 300
