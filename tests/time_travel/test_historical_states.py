"""Any position is reached exactly, by whichever way is the shortest."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from msgspec.structs import replace

from headgate.adapters.memory.database import MemoryDatabase
from headgate.adapters.memory.event_log import MemoryEventLog
from headgate.adapters.memory.read_models import MemoryReadModels
from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application.historical_ports import point_at_instant, point_at_position
from headgate.application.historical_states import HistoricalStates, HistoryCacheLimits
from headgate.application.ports import Loaded, WorkloadQuery
from headgate.application.time_travel import HistoricalReadModels
from headgate.application.workload_filter import (
    WorkloadFilter,
    size_class,
    waits_between,
    waits_like,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import workload_stream
from headgate.domain.workloads.commands import CancelWorkload, DeleteWorkload
from headgate.domain.workloads.ended import has_ended
from headgate.domain.workloads.state import phase_of
from tests.properties.state_digest import state_digest_text
from tests.simulation.cluster import Cluster
from tests.simulation.scenario_run import installed_cluster

POSITIONS = 200


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """A simulated morning with crashes; the tests read its log."""
    return installed_cluster(11, 200, fault_rate=0.05)


def replayed(cluster: Cluster, position: int) -> ClusterState:
    cluster_state = ClusterState()
    for recorded in cluster.log.read_all(0, position):
        cluster_state.apply(recorded)
    return cluster_state


def past_states(cluster: Cluster, **bounds: int) -> HistoricalStates:
    given = {"states": 5, "cache_events": 40, **bounds}
    return HistoricalStates(cluster.log, MemoryStateCache(), HistoryCacheLimits(**given))


def test_every_position_is_as_if_replayed(cluster: Cluster) -> None:
    chance, states = Random(1), past_states(cluster)
    for position in chance.choices(range(cluster.log.head() + 1), k=POSITIONS):
        assert states.at(position).dump() == replayed(cluster, position).dump()


def test_what_is_derived_is_as_if_replayed(cluster: Cluster) -> None:
    chance, states = Random(2), past_states(cluster)
    for position in chance.choices(range(cluster.log.head() + 1), k=20):
        assert state_digest_text(states.at(position)) == state_digest_text(
            replayed(cluster, position)
        )


def test_reading_the_past_leaves_other_readers_alone(cluster: Cluster) -> None:
    states = past_states(cluster)
    earlier = states.at(50)
    before = state_digest_text(earlier)
    states.at(cluster.log.head())
    assert state_digest_text(earlier) == before


def test_positions_are_passed_on_one_way_and_only_the_first_is_remembered(cluster: Cluster) -> None:
    states, head = past_states(cluster, states=2), cluster.log.head()
    known = states.at(head)
    positions = [0, 10, 10, 90, head - 1, head]
    for position, passed in zip(positions, states.passing(positions), strict=True):
        assert passed.dump() == replayed(cluster, position).dump()
        assert state_digest_text(passed) == state_digest_text(replayed(cluster, position))
    assert states.at(head) is known
    assert list(states.passing([])) == []


def test_no_more_folds_are_kept_than_allowed(cluster: Cluster) -> None:
    states = past_states(cluster, states=3)
    first = states.at(10)
    for position in range(20, 60, 10):
        states.at(position)
    assert states.at(50) is states.at(50)
    assert states.at(10) is not first


def test_a_fold_of_another_log_is_forgotten(cluster: Cluster) -> None:
    states = past_states(cluster)
    states.at(50)
    states.event_log = MemoryEventLog(MemoryDatabase(lambda: 1))
    assert states.at(0).workloads == {}


def test_an_instant_names_the_last_position_decided_by_then(cluster: Cluster) -> None:
    for recorded in cluster.log.read_all():
        found = point_at_instant(cluster.log, recorded.at)
        following = cluster.log.read(found.position, limit=1)
        assert cluster.log.read(found.position - 1, limit=1)[0].at <= recorded.at
        assert not following or following[0].at > recorded.at
    assert point_at_instant(cluster.log, 0).position == 0
    assert point_at_position(cluster.log, 5).at == cluster.log.read(4, limit=1)[0].at


def test_reads_of_the_past_have_what_had_ended_and_was_deleted_since(cluster: Cluster) -> None:
    state, chance = cluster.witness.cluster_state, Random(3)
    cluster.free_disk()
    for _ in range(20):
        cluster.submit()
    for key in sorted(state.workloads)[::2]:
        cluster.order(key, CancelWorkload(eviction=f"cancel-{key}"))
    middle = cluster.log.head()
    ended = [key for key, workload in state.workloads.items() if has_ended(workload)]
    for key in ended[::2]:
        cluster.order(key, DeleteWorkload(eviction=f"delete-{key}"))
    head, compared = cluster.log.head(), 0
    for position in (middle, head, *chance.choices(range(1, head), k=6)):
        whole, left = ClusterState(), replayed(cluster, position)
        whole.ended.max_whole = head
        for recorded in cluster.log.read_all(0, position):
            whole.apply(recorded)
        left.forget_what_ended(max_whole=0)
        compared += len(whole.workloads) - len(left.workloads)
        point = point_at_position(cluster.log, position)
        models = MemoryReadModels(cluster.database)
        assert_reads_as(HistoricalReadModels(left, point, cluster.log, models), whole)
    assert len(ended) > 5
    assert compared > len(ended)


def assert_reads_as(models: HistoricalReadModels, whole: ClusterState) -> None:
    """What a fold that has lost ended workloads shows is what one shows that has them all."""
    every, newest = list(whole.workloads.values()), WorkloadQuery(limit=10_000)
    wanted = sorted(every, key=lambda w: (w.created_at, w.key), reverse=True)
    streams = [workload_stream(workload.key) for workload in wanted]
    versions = [whole.version_of(stream) for stream in streams]
    for found in (models.workloads(newest), models.load(streams), list(pages_of(models))):
        assert [each.state for each in found] == wanted
        assert [each.version for each in found] == versions
    for phases in (("Succeeded",), ("Cancelled", "Running")):
        query = WorkloadQuery(where=WorkloadFilter(phases=phases), limit=10_000)
        found = models.workloads(query)
        assert [each.state for each in found] == [w for w in wanted if phase_of(w) in phases]
    counts = {group.value: group.count for group in models.workload_groups(newest, "phase")}
    assert counts == Counter(phase_of(workload) for workload in every)
    ever = (0, 2**63 - 1)
    assert models.waits_between(*ever) == waits_between(every, *ever)
    places = {(w.admission.cluster_queue, size_class(w)) for w in every if w.admission}
    for cluster_queue, size in places:
        place, few = (cluster_queue, size), 3
        waits, latest = (models.waits_like(*place, limit=limit) for limit in (10_000, few))
        assert sorted(waits) == sorted(waits_like(every, *place, 10_000))
        assert [start for start, _ in latest] == [start for start, _ in waits[-few:]]


def pages_of(models: HistoricalReadModels) -> Iterator[Loaded]:
    """All workloads, newest first, page by page."""
    query = WorkloadQuery(limit=7)
    while page := models.workloads(query):
        yield from page
        last = page[-1].state
        query = replace(query, after=(last.created_at, last.key))
