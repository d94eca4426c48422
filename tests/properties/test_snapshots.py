"""A snapshot of any history, folded on, is what the whole history folds to from its beginning."""

from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application.ports import EventLog
from headgate.application.snapshot_store import Snapshot, SnapshotOptions, SnapshotStore
from headgate.domain.cluster_state import ClusterState
from headgate.event_log.folds import fold_digest
from tests.builders.world import HistoryLog
from tests.hypothesis_profiles import examples
from tests.properties.state_digest import state_digest_text
from tests.properties.test_histories import Histories

EVERYTHING = 1_000_000


class KeptHistories(Histories):
    """Histories in which queues change their cohorts, so that partitions merge and split."""

    # What these show of every step is shown by the histories that this one is made of.
    indices_are_as_if_built_anew: Any = None
    every_pending_workload_has_a_reason: Any = None
    plan_and_give_up: Any = None

    @initialize()
    def install(self) -> None:
        super().install()
        self.cache = MemoryStateCache()
        self.log = cast("EventLog", HistoryLog(self.world.history))
        self.keeper = SnapshotStore(self.cache, self.log)
        self.kept: list[int] = []

    @rule(queue=st.sampled_from(["a", "b", "c"]), cohort=st.sampled_from(["team", "other", ""]))
    def change_layout(self, queue: str, cohort: str) -> None:
        self.world.change_cluster_queue(queue, cohort_name=cohort)
        self.settle()

    @rule()
    def keep_snapshot(self) -> None:
        state = self.world.cluster_state
        point = self.log.point_at(state.position)
        assert point is not None
        self.keeper.put(Snapshot(state, point))
        self.kept.append(state.position)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        whole = ClusterState()
        for recorded in self.world.history:
            whole.apply(recorded)
        digests = fold_digest(whole), whole.dump(), state_digest_text(whole)
        assert fold_digest(self.world.cluster_state) == digests[0]
        for position in self.kept:
            found = self.read_again(position)
            for recorded in self.world.history[position:]:
                found.apply(recorded)
            assert (fold_digest(found), found.dump(), state_digest_text(found)) == digests

    def read_again(self, position: int) -> ClusterState:
        """The snapshot as a process reads it that has just started; every stream is compared."""
        store = SnapshotStore(self.cache, self.log, SnapshotOptions(sample=EVERYTHING))
        found = store.newest(at_most=position)
        assert found is not None
        assert found.point.position == position
        return found.cluster_state


TestKeptHistories = pytest.mark.slow(KeptHistories.TestCase)
TestKeptHistories.settings = settings(
    max_examples=examples(400, quick=6),
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
)
