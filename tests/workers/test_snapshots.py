"""Snapshots are compared with the log before they are gone on from; a wrong one is not read."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import pytest
from msgspec.structs import replace

from headgate.application import historical_states, maintenance
from headgate.application.cooperative import at_once
from headgate.application.failures import Archived, GapInLog
from headgate.application.historical_states import HistoricalStates
from headgate.application.live_state import LiveState
from headgate.application.maintenance import (
    COMPARED_SECONDS,
    SLICE_SECONDS,
    SnapshotComparison,
)
from headgate.application.ports import Unavailable
from headgate.application.queries.attention import needing_attention
from headgate.application.snapshot_store import (
    CACHE_NAME,
    NewFold,
    Snapshot,
    SnapshotOptions,
    SnapshotStore,
)
from headgate.application.verify.verify import Verifier
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import (
    SNAPSHOT_STREAM,
    RecordedEvent,
    SnapshotDiscarded,
    workload_stream,
)
from headgate.domain.scheduling.queueing.local_queue_usage import Consumption
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.workloads.events import WorkloadFinished
from headgate.event_log.folds import STATE_VERSIONS, StateStep, StateVersions
from tests.contracts.adapters import Adapters
from tests.workers.cluster import NAMESPACE, cluster, folded, record, submitted_many
from tests.workers.test_rewound_log import NoFollowers

STEPS = {1: StateStep()}
DAY = 86_400 * MICROSECONDS_PER_SECOND
JOB = f"{NAMESPACE}/job-gpu-1"


def change_a_workload(state: ClusterState) -> None:
    state.workloads[JOB] = replace(state.workloads[JOB], labels={"by": "mistake"})


def change_a_name(state: ClusterState) -> None:
    state.workloads[JOB] = replace(state.workloads[JOB], name="another")


def change_an_object(state: ClusterState) -> None:
    queue = state.config.cluster_queues["gpu"]
    state.config.cluster_queues["gpu"] = replace(queue, labels={"by": "mistake"})


def miss_an_event(state: ClusterState) -> None:
    state.versions[workload_stream(JOB)] += 1


@pytest.fixture
def log(adapters: Adapters) -> Adapters:
    """Some pending workloads and one that has ended."""
    facts = [*cluster("gpu"), *submitted_many("gpu", 6)]
    ended = next(stream for stream, _ in reversed(facts))
    record(adapters.log, *facts)
    record(adapters.log, (ended, WorkloadFinished(reason="Cancelled")))
    return adapters


def keep(
    adapters: Adapters,
    change: Callable[[ClusterState], None] = lambda _: None,
    versions: StateVersions = STATE_VERSIONS,
) -> int:
    """Keeps a snapshot of the log as it is after a change that is in no event."""
    state = folded(adapters.log)
    state.forget_what_ended(max_whole=0)
    change(state)
    options = SnapshotOptions(versions=versions)
    store = SnapshotStore(adapters.state_cache, adapters.log, options)
    store.put(Snapshot(state, adapters.point(state.position)))
    return state.position


def discarded(adapters: Adapters) -> list[SnapshotDiscarded]:
    """What the log says of snapshots."""
    found = [recorded.event for recorded in adapters.log.read_stream(SNAPSHOT_STREAM)]
    return [event for event in found if isinstance(event, SnapshotDiscarded)]


@pytest.mark.parametrize(
    ("change", "stream"),
    [
        (change_a_workload, workload_stream(JOB)),
        (change_a_name, None),
        (change_an_object, "clusterqueue/gpu"),
        (miss_an_event, workload_stream(JOB)),
    ],
)
def test_a_snapshot_that_differs_is_discarded_and_the_whole_log_folded(
    log: Adapters, change: Callable[[ClusterState], None], stream: str | None
) -> None:
    position = keep(log, change)

    live = LiveState(log.log, log.state_cache, time.monotonic, observer="worker")
    found = live.cluster_state

    (event,) = discarded(log)
    assert (event.snapshot, event.observer) == (position, "worker")
    assert stream is None or event.stream == stream
    assert found.dump() == folded(log.log).dump()
    assert log.state_cache.newest(CACHE_NAME, STATE_VERSIONS.readable) is None


def test_a_snapshot_that_agrees_with_the_log_is_gone_on_from(log: Adapters) -> None:
    position = keep(log)
    record(log.log, *submitted_many("gpu", 2, "later"))

    options = SnapshotOptions(sample=1_000)
    found = SnapshotStore(log.state_cache, log.log, options).newest(at_most=log.log.head())

    assert found is not None
    assert found.point.position == position
    assert discarded(log) == []


def test_a_snapshot_that_cannot_be_read_is_discarded(log: Adapters) -> None:
    position = log.log.head()
    log.state_cache.put(CACHE_NAME, STATE_VERSIONS.readable, NewFold(position, b"of no use"))

    live = LiveState(log.log, log.state_cache, time.monotonic)

    assert live.cluster_state.position == log.log.head()
    assert [(event.snapshot, event.stream) for event in discarded(log)] == [(position, "")]


def test_a_step_that_makes_other_workloads_than_the_log_is_found_out(log: Adapters) -> None:
    keep(log)

    def wrong(fields: dict[str, object]) -> dict[str, object]:
        return {**fields, "generation": 7}

    versions = StateVersions(
        STATE_VERSIONS.current + 1, {STATE_VERSIONS.current: StateStep(workload=wrong)}
    )
    options = SnapshotOptions(versions=versions)

    assert SnapshotStore(log.state_cache, log.log, options).newest(at_most=log.log.head()) is None
    assert len(discarded(log)) == 1


def test_a_discarded_snapshot_is_a_critical_alert_for_a_day(log: Adapters) -> None:
    keep(log, change_a_workload)
    assert LiveState(log.log, log.state_cache, time.monotonic).cluster_state.position
    state = folded(log.log)

    (alert,) = (
        each
        for each in needing_attention(state, log.log.now(), None)
        if each.stream == SNAPSHOT_STREAM
    )
    assert (alert.kind, alert.severity) == ("SnapshotDiscarded", "critical")
    later = needing_attention(state, log.log.now() + DAY, None)
    assert SNAPSHOT_STREAM not in {each.stream for each in later}


def test_while_nothing_can_be_written_a_wrong_snapshot_is_not_read_and_stays(
    log: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    position = keep(log, change_a_workload)
    before = folded(log.log).dump()

    def refuse(units: object) -> object:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as full_disk:
        full_disk.setattr(log.log, "append", refuse)
        live = LiveState(log.log, log.state_cache, time.monotonic)
        assert live.cluster_state.dump() == before
    assert log.state_cache.newest(CACHE_NAME, STATE_VERSIONS.readable) is not None

    again = LiveState(log.log, log.state_cache, time.monotonic)
    assert again.cluster_state.position == log.log.head()
    assert [event.snapshot for event in discarded(log)] == [position]


def test_several_processes_record_one_difference_once(log: Adapters) -> None:
    position = keep(log, change_a_workload)
    store = SnapshotStore(log.state_cache, log.log)
    for _ in range(2):
        store.discard(position, workload_stream(JOB))

    assert len(discarded(log)) == 1
    store.discard(position + 1)
    assert len(discarded(log)) == 2
    verifier = Verifier(log.log, log.models, NoFollowers())
    assert verifier.verify(lambda *_: None).findings == ()


def test_a_process_goes_on_from_a_snapshot_of_an_earlier_version_and_keeps_its_own(
    log: Adapters,
) -> None:
    first, later = (StateVersions(n, STEPS) for n in (1, 2))
    position = keep(log, versions=first)
    record(log.log, *submitted_many("gpu", 2, "later"))
    options = SnapshotOptions(versions=later)

    store = SnapshotStore(log.state_cache, log.log, options)
    found = store.newest(at_most=log.log.head())
    assert found is not None
    assert found.point.position == position
    for recorded in log.log.read_all(position):
        found.cluster_state.apply(recorded)
    end = found.cluster_state.position
    store.put(Snapshot(found.cluster_state, log.point(end)))

    kept = log.state_cache.newest(CACHE_NAME, later.readable)
    assert kept is not None
    assert (kept.position, kept.version) == (end, "2")
    again = SnapshotStore(log.state_cache, log.log, options).newest(at_most=end)
    assert again is not None
    assert again.cluster_state.dump() == folded(log.log).dump()
    before = SnapshotStore(log.state_cache, log.log, SnapshotOptions(versions=first))
    old = before.newest(at_most=end)
    assert old is not None, "the release before starts again from what it wrote"
    assert old.point.position == position


def test_reads_of_the_past_go_on_from_snapshots_of_every_readable_version(
    log: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(historical_states, "DECODE_COST_EVENTS", 0)
    versions = StateVersions(3, {1: StateStep(), 2: StateStep()})
    options = partial(SnapshotOptions, versions=versions)
    monkeypatch.setattr(historical_states, "SnapshotOptions", options)
    position = keep(log, versions=StateVersions(1, {}))
    record(log.log, *submitted_many("gpu", 2, "later"))
    head, whole = log.log.head(), folded(log.log).dump()
    read_all, begun = log.log.read_all, list[int]()

    def noted(after: int = 0, up_to: int | None = None) -> Iterator[RecordedEvent]:
        begun.append(after)
        return read_all(after, up_to)

    monkeypatch.setattr(log.log, "read_all", noted)

    assert HistoricalStates(log.log, log.state_cache).at(head).dump() == whole
    assert begun == [position]


def test_reads_of_the_past_discard_a_snapshot_too(
    log: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(historical_states, "DECODE_COST_EVENTS", 0)
    position = keep(log, change_a_workload)
    before = folded(log.log).dump()

    assert HistoricalStates(log.log, log.state_cache).at(position).dump() == before
    assert [event.snapshot for event in discarded(log)] == [position]


def usage_history(state: ClusterState) -> None:
    """A change that no sample of streams shows."""
    state.usage_history.queues["team/gpu"] = Consumption(at=1)


def comparison(adapters: Adapters) -> SnapshotComparison:
    options = SnapshotOptions(observer="upkeep")
    return SnapshotComparison(adapters.state_cache, adapters.log, lambda: 0.0, options)


def test_upkeep_compares_each_snapshot_with_the_one_before_folded_on(log: Adapters) -> None:
    for number in range(3):
        record(log.log, *submitted_many("gpu", 2, f"of-{number}"))
        keep(log)
    compared = comparison(log)

    assert [at_once(compared.compare_next()) for _ in range(5)] == [1, 1, 0, 0, 1]
    assert discarded(log) == []


def test_upkeep_discards_snapshots_of_which_the_later_is_not_what_the_earlier_folds_to(
    log: Adapters,
) -> None:
    keep(log)
    record(log.log, *submitted_many("gpu", 2, "later"))
    position = keep(log, usage_history)

    assert at_once(comparison(log).compare_next()) == 1

    (event,) = discarded(log)
    assert (event.snapshot, event.stream, event.observer) == (position, "", "upkeep")
    assert log.state_cache.newest(CACHE_NAME, STATE_VERSIONS.readable) is None


def test_upkeep_compares_no_snapshots_that_are_far_apart(
    log: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "MAX_COMPARED_EVENTS", 1)
    keep(log)
    record(log.log, *submitted_many("gpu", 2, "later"))
    keep(log, usage_history)

    assert at_once(comparison(log).compare_next()) == 0
    assert discarded(log) == []


def test_upkeep_compares_once_an_hour_and_in_slices(
    log: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "COMPARED_BATCH", 1)
    keep(log)
    record(log.log, *submitted_many("gpu", 2, "later"))
    keep(log)
    clock = count()
    options = SnapshotOptions()
    compared = SnapshotComparison(
        log.state_cache, log.log, lambda: next(clock) * SLICE_SECONDS / 2, options
    )

    turns = 1
    while not compared.run():
        turns += 1
    begun_again = [compared.run() for _ in range(100)]

    assert turns > 10, "each turn takes a step"
    assert begun_again == [0] * 100
    clock = count(int(2 * COMPARED_SECONDS / SLICE_SECONDS))
    assert [compared.run() for _ in range(2)] == [0, 0], "there is no pair before the first"


def test_without_the_beginning_of_the_log_snapshots_stay(
    log: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What differs is said; no state could be folded without them."""
    monkeypatch.setattr(historical_states, "DECODE_COST_EVENTS", 0)
    keep(log, change_a_workload)
    position = log.log.head()
    beginning = log.log.read

    def read(after: int, *, limit: int, up_to: int | None = None) -> object:
        if after == 0:
            raise GapInLog("2 follows 0", 2)
        return beginning(after, limit=limit, up_to=up_to)

    monkeypatch.setattr(log.log, "read", read)
    live = LiveState(log.log, log.state_cache, time.monotonic)

    with pytest.raises(GapInLog):
        _ = live.cluster_state
    with pytest.raises(Archived):
        HistoricalStates(log.log, log.state_cache).at(position)
    assert len(discarded(log)) == 1
    assert log.state_cache.newest(CACHE_NAME, STATE_VERSIONS.readable) is not None
