"""Folds come back from the cache as they were, and bring only what is new."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application import snapshot_store
from headgate.application.snapshot_store import (
    PART_WORKLOADS,
    NewFold,
    Snapshot,
    SnapshotStore,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.workloads.ended import has_ended
from tests.properties.state_digest import state_digest_text
from tests.simulation.cluster import Cluster
from tests.simulation.scenario_run import installed_cluster


class ForgetfulCache(MemoryStateCache):
    """Lets go of parts when it is told to, as a store that others write to may."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: set[str] = set()
        self.brought: list[int] = []

    def put(self, name: str, versions: Sequence[str], fold: NewFold) -> bool:
        if any(given is None and known in self.lost for known, given in fold.parts.items()):
            return False
        self.lost -= set(fold.parts)
        self.brought.append(sum(len(given) for given in fold.parts.values() if given is not None))
        return super().put(name, versions, fold)

    def part(self, name: str) -> bytes | None:
        return None if name in self.lost else super().part(name)

    def lose_all(self) -> None:
        self.lost = set(self._parts)


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """A simulated morning; the tests read its log."""
    return installed_cluster(12, 150, fault_rate=0.02)


def snapshot(cluster: Cluster, cluster_state: ClusterState) -> Snapshot:
    """A fold of the simulated log."""
    point = cluster.log.point_at(cluster_state.position)
    assert point is not None
    return Snapshot(cluster_state, point)


def kept_on_the_way(cluster: Cluster, cache: MemoryStateCache, apart: int) -> dict[int, bytes]:
    """Folds at every so many positions, each as it was when it was kept."""
    cluster_state, keeper, kept = ClusterState(), SnapshotStore(cache, cluster.log), {}
    for recorded in cluster.log.read_all():
        cluster_state.apply(recorded)
        if cluster_state.position % apart == 0:
            keeper.put(snapshot(cluster, cluster_state))
            kept[cluster_state.position] = cluster_state.dump()
    return kept


@pytest.mark.parametrize("part_workloads", [PART_WORKLOADS, 3])
def test_every_fold_comes_back_as_it_was_to_the_order_of_its_workloads(
    cluster: Cluster, part_workloads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_store, "PART_WORKLOADS", part_workloads)
    cache = MemoryStateCache()
    for position, dumped in kept_on_the_way(cluster, cache, 100).items():
        found = SnapshotStore(cache, cluster.log).newest(at_most=position)
        assert found is not None
        assert found.cluster_state.dump() == dumped


def test_a_fold_from_the_cache_has_the_partitions_of_the_fold_that_was_kept(
    cluster: Cluster,
) -> None:
    cache = MemoryStateCache()
    folded = ClusterState()
    for recorded in cluster.log.read_all():
        folded.apply(recorded)
    SnapshotStore(cache, cluster.log).put(snapshot(cluster, folded))

    loaded = SnapshotStore(cache, cluster.log).newest(at_most=folded.position)

    assert loaded is not None
    assert state_digest_text(loaded.cluster_state) == state_digest_text(folded)


def test_what_a_fold_has_of_ended_workloads_changes_nothing_else(cluster: Cluster) -> None:
    whole, forgetful = ClusterState(), ClusterState()
    whole.ended.max_whole, forgetful.ended.max_whole = cluster.log.head(), 0
    for recorded in cluster.log.read_all():
        whole.apply(recorded)
        forgetful.apply(recorded)
        if recorded.position % 100 == 0:
            assert state_digest_text(whole) == state_digest_text(forgetful)
            assert whole.objects_in("team-1") == forgetful.objects_in("team-1")
    assert whole.ended.number_of() == forgetful.ended.number_of() > 0
    known = {key for key, each in forgetful.workloads.items() if has_ended(each)}
    assert known <= forgetful.ended.named.keys()
    assert whole.dump() == forgetful.dump()


def test_a_fold_right_after_another_brings_less_than_the_first_of_them(cluster: Cluster) -> None:
    cache, cluster_state = ForgetfulCache(), ClusterState()
    keeper = SnapshotStore(cache, cluster.log)
    half = cluster.log.head() // 2
    for recorded in cluster.log.read_all(0, half + 1):
        cluster_state.apply(recorded)
        if cluster_state.position in (half, half + 1):
            keeper.put(snapshot(cluster, cluster_state))
    first, second = cache.brought
    assert second * 2 < first


def test_without_one_of_its_parts_an_earlier_whole_fold_is_found(cluster: Cluster) -> None:
    cache = ForgetfulCache()
    cluster_state = ClusterState()
    cluster_state.apply(next(iter(cluster.log.read_all())))
    SnapshotStore(cache, cluster.log).put(snapshot(cluster, cluster_state))
    whole = set(cache._parts)  # noqa: SLF001 - what the first fold is made of
    for recorded in cluster.log.read_all(1, 100):
        cluster_state.apply(recorded)
    SnapshotStore(cache, cluster.log).put(snapshot(cluster, cluster_state))
    cache.lose_all()
    cache.lost -= whole
    found = SnapshotStore(cache, cluster.log).newest(at_most=100)
    assert found is not None
    assert found.cluster_state.position == 1


def test_a_released_part_is_loaded_again(cluster: Cluster) -> None:
    cache, cluster_state = ForgetfulCache(), ClusterState()
    keeper = SnapshotStore(cache, cluster.log)
    for recorded in cluster.log.read_all(0, 100):
        cluster_state.apply(recorded)
    keeper.put(snapshot(cluster, cluster_state))
    cache.lose_all()
    cluster_state.apply(next(iter(cluster.log.read_all(100, 101))))
    keeper.put(snapshot(cluster, cluster_state))
    found = SnapshotStore(cache, cluster.log).newest(at_most=101)
    assert found is not None
    assert found.cluster_state.dump() == cluster_state.dump()


def test_a_fold_of_events_that_the_log_has_lost_is_not_found(cluster: Cluster) -> None:
    cache, cluster_state = MemoryStateCache(), ClusterState()
    keeper = SnapshotStore(cache, cluster.log)
    for recorded in cluster.log.read_all(0, 100):
        cluster_state.apply(recorded)
        if cluster_state.position == 50:
            keeper.put(snapshot(cluster, cluster_state))
    lost = snapshot(cluster, cluster_state).point
    keeper.put(Snapshot(cluster_state, replace(lost, chain=bytes(32))))

    found = SnapshotStore(cache, cluster.log).newest(at_most=100)

    assert found is not None
    assert found.cluster_state.position == found.point.position == 50


def test_an_earlier_fold_comes_back_whole_after_a_later_one_used_part_of_it(
    cluster: Cluster,
) -> None:
    cache = MemoryStateCache()
    keeper = SnapshotStore(cache, cluster.log)
    cluster_state, dumped = ClusterState(), {}
    for recorded in cluster.log.read_all():
        cluster_state.apply(recorded)
        if cluster_state.position % 40 == 0:
            keeper.put(snapshot(cluster, cluster_state))
            dumped[cluster_state.position] = cluster_state.dump()
    *_, middle, last = dumped
    for position in (last, 40, middle):
        found = keeper.newest(at_most=position)
        assert found is not None
        assert found.cluster_state.dump() == dumped[position]


def test_a_process_holds_only_the_workloads_of_the_fold_that_it_kept(cluster: Cluster) -> None:
    cluster_state = ClusterState()
    keeper = SnapshotStore(MemoryStateCache(), cluster.log)
    for recorded in cluster.log.read_all():
        cluster_state.apply(recorded)
        if cluster_state.position % 100 == 0:
            keeper.put(snapshot(cluster, cluster_state))
            held = [key for part in keeper._parts.values() for key in part]  # noqa: SLF001 - memory
            assert sorted(held) == sorted(cluster_state.workloads)


def test_workloads_of_equal_specs_share_them_before_and_after_a_restart(cluster: Cluster) -> None:
    cache, cluster_state = MemoryStateCache(), ClusterState()
    for recorded in cluster.log.read_all():
        cluster_state.apply(recorded)
    SnapshotStore(cache, cluster.log).put(snapshot(cluster, cluster_state))
    found = SnapshotStore(cache, cluster.log).newest(at_most=cluster_state.position)
    assert found is not None
    for folded in (cluster_state, found.cluster_state, ClusterState.load(cluster_state.dump())):
        specs = [workload.spec for workload in folded.workloads.values()]
        distinct = {repr(spec): spec for spec in specs}
        assert len(distinct) < len(specs), "some workloads of the day are alike"
        assert all(distinct[repr(spec)] is spec for spec in specs)
