"""The time since which a reason holds: from the streams as from a walk through the log."""

import pytest

from headgate.application.queries.reason_since import reason_since
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.message import message
from headgate.domain.workloads.events import (
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadHeld,
    WorkloadReleased,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import phase_of
from tests.builders.world import World
from tests.simulation.explanations import WAITING, run_cluster


class Past:
    """The log up to here, by stream."""

    def __init__(self) -> None:
        self.streams: dict[str, list[RecordedEvent]] = {}

    def add(self, recorded: RecordedEvent) -> None:
        self.streams.setdefault(recorded.stream, []).append(recorded)

    def read(self, stream: str) -> list[RecordedEvent]:
        return self.streams.get(stream, [])


def what_holds(found: Explanation) -> tuple[str, ...]:
    """The reason and whether it was found for itself; of BehindHead also the head."""
    whom = found.blockers[0].held_by if found.dominant == "BehindHead" else ()
    return (found.dominant, "for itself" if found.evaluated else "", *whom)


@pytest.mark.parametrize("seed", [5, 38])
def test_a_reason_has_held_since_the_fact_that_is_named(seed: int) -> None:
    cluster_state, past = ClusterState(), Past()
    held: dict[str, tuple[tuple[str, ...], int]] = {}
    told = 0
    for recorded in run_cluster(seed, workloads=60).database.events:
        cluster_state.apply(recorded)
        past.add(recorded)
        waiting = {k: w for k, w in cluster_state.workloads.items() if phase_of(w) in WAITING}
        held = {key: one for key, one in held.items() if key in waiting}
        for key, workload in sorted(waiting.items()):
            found = recorded_reason(cluster_state, workload, recorded.at)
            assert found is not None
            before = held.get(key, ((), 0))
            if before[0] != what_holds(found):
                held[key] = (what_holds(found), recorded.position)
            start = reason_since(cluster_state.config, workload, found, past.read)
            if start is not None:
                told += 1
                # One before it in a strict queue has been there before it became the head.
                is_before = found.dominant == "BehindHead" and start.position <= held[key][1]
                assert is_before or start.position == held[key][1], (key, found)
    assert told > 1_000


SUBMITTED = WorkloadSubmitted(
    uid="w", namespace="team", name="w", spec=WorkloadSpec(pod_sets=(), queue_name="q")
)
USERS, ADMINS = WorkloadHeld(owner="user:u", reason="r"), WorkloadHeld(owner="admin:a", reason="r")
RENEWED = WorkloadHeld(owner="user:u", reason="longer", expires_at=10**12)
RELEASED = WorkloadReleased()
STOPPED = WorkloadStopped(eviction="e")
EVICTED = WorkloadEvicted(eviction="e", reason="Preempted", message="")


@pytest.mark.parametrize(
    ("events", "start"),
    [
        ((SUBMITTED, USERS), 2),
        ((SUBMITTED, USERS, RENEWED, RENEWED), 2),
        ((SUBMITTED, USERS, ADMINS), 2),
        ((SUBMITTED, USERS, RELEASED, RENEWED), 4),
        ((SUBMITTED, USERS, ADMINS, RELEASED, USERS), 5),
        ((SUBMITTED, USERS, EVICTED, STOPPED, RENEWED), 4),
        ((SUBMITTED, EVICTED, STOPPED, USERS, RENEWED), 4),
    ],
)
def test_a_hold_lasts_from_the_first_one_however_often_it_is_renewed(
    events: tuple[WorkloadEvent, ...], start: int
) -> None:
    world = World()
    for event in events:
        world.record("workload/team/w", event)
    found = Explanation(dominant="OnHold", message=message("OnHold", owner="u"))
    known = reason_since(
        world.cluster_state.config, world["team/w"], found, lambda _: world.history
    )
    assert known is not None
    assert known.position == start
