"""What reads look for costs the same in long queues, and follows every change of a workload."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.application.cooperative import at_once
from headgate.application.metrics_gauges import add_up, read_gauges
from headgate.application.queries.attention import find_attention
from headgate.application.queries.capacity_history import sample_of
from headgate.application.queries.detectors import (
    LONG_WAIT_SECONDS,
    OVERTAKERS,
    detect_problems,
)
from headgate.application.queries.stuck_workloads import unlisted_stuck
from headgate.application.queries.workload_lists import unschedulable_keys
from headgate.application.workload_filter import WorkloadFilter
from headgate.domain import workload_index
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.object_set import workloads_with_quota
from headgate.domain.scheduling.ordering import pending_places
from headgate.domain.scheduling.ordering.pending_queue import PendingQueue
from headgate.domain.scheduling.pending_reasons import recorded_reason, unschedulable
from headgate.domain.scheduling.queueing.queue_checks import (
    cluster_queue_of,
    unreserved_condition,
)
from headgate.domain.scheduling.reconcile import quota_holders
from headgate.domain.starts import MAX_RECENT_STARTS
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.values.message import message
from headgate.domain.workload_index import WorkloadIndex
from headgate.domain.workloads.events import (
    WorkloadDeactivated,
    WorkloadEvent,
    WorkloadFinished,
    WorkloadHeld,
    WorkloadReleased,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.specs import gpus_requested
from headgate.domain.workloads.state import Workload, condition, is_admitted, phase_of
from tests.builders.world import World, quotas

KEPT_OUT = ("Hold", "Queue", "Backoff")


def shown(index: WorkloadIndex) -> Mapping[str, Any]:
    """Everything in an index, without what is empty."""
    return {
        "groups": {
            key: (tuple(group.ages.starting_at(0)), group.gpus, group.gpu_creation)
            for key, group in index.groups.items()
        },
        "phases": {
            (phase, namespace): tuple(group.ages.starting_at(0))
            for phase, found in index.by_phase.items()
            for namespace, group in found.items()
            if group.ages
        },
        "holders": {queue: set(keys) for queue, keys in index.holders.items() if keys},
        "evicting": set(index.evicting),
    }


def starving_by_scan(world: World) -> set[str]:
    """The pending workloads with so many overtakers, each looked at by itself."""
    state, found = world.cluster_state, set[str]()
    for key, workload in state.workloads.items():
        starts = state.recent_starts.up_to(
            cluster_queue_of(state.config, workload), workload.spec.priority
        )
        overtakers = [start for start in starts if start.created_at > workload.created_at]
        waited = (world.at - workload.created_at) // MICROSECONDS_PER_SECOND
        why = recorded_reason(state, workload, world.at)
        if (
            phase_of(workload) == "Pending"
            and waited >= LONG_WAIT_SECONDS
            and len(overtakers) >= OVERTAKERS
            and why is not None
            and all(blocker.type not in KEPT_OUT for blocker in why.blockers)
            and unschedulable(state, workload) is None
        ):
            found.add(key)
    return found


def unschedulable_by_scan(state: ClusterState) -> set[str]:
    """The workloads that can never start, each looked at by itself."""
    found = state.workloads.items()
    return {key for key, workload in found if unschedulable(state, workload) is not None}


def assert_as_scanned(world: World) -> None:
    """The findings of groups are those of workloads, and the index is one that is built anew."""
    state = world.cluster_state
    anew = WorkloadIndex(state.workloads.values(), tuple(state.quarantined))
    assert shown(state.reads.index) == shown(anew)
    assert counted_by_group(state) == counted_by_scan(state)
    assert state.reads.index.with_quota() == sorted(
        key for key, each in state.workloads.items() if has_quota_reservation(each)
    )
    for queue in state.config.cluster_queues:
        held = tuple(f"workload/{key}" for key in quota_holders(state, queue))
        assert held == workloads_with_quota(state.workloads, queue)
    found = at_once(detect_problems(state, world.at, None))
    by_kind: dict[str, set[str]] = {}
    for one in found.listed:
        by_kind.setdefault(one.kind, set()).add(one.about)
    newest = sorted(state.workloads.values(), key=lambda w: (w.created_at, w.key), reverse=True)
    assert list(state.reads.newest()) == [workload.key for workload in newest]
    never = unschedulable_by_scan(state)
    assert at_once(unschedulable_keys(state, WorkloadFilter(), None, None)) == tuple(
        workload.key for workload in newest if workload.key in never
    )
    scanned = {"Starvation": starving_by_scan(world), "NeverStarts": never}
    for kind, keys in scanned.items():
        listed, others = by_kind.get(kind, set()), found.unlisted.get(kind)
        assert listed <= keys
        assert len(listed) + (others.count if others else 0) == len(keys)
        if others is not None:
            hidden = [state.workloads[key] for key in keys - listed]
            assert others.since == min(workload.created_at for workload in hidden)
            assert others.gpu_seconds == _gpu_seconds(hidden, world.at)


Unadmitted = dict[tuple[str, str, str, str], int]


def counted_by_group(state: ClusterState) -> tuple[Unadmitted, dict[str, dict[str, int]]]:
    """The unadmitted workloads by reason, and what pending ones request of each ClusterQueue."""
    sample = sample_of(state)
    assert sample.pending_workloads == {
        name: len(queue.in_order()) for name, queue in _pending(state)
    }
    return at_once(add_up(state)).unadmitted, sample.pending


def _pending(state: ClusterState) -> list[tuple[str, PendingQueue]]:
    partitions = [state.partition(key) for key in state.partition_keys()]
    return [each for partition in partitions for each in partition.pending.items()]


def counted_by_scan(state: ClusterState) -> tuple[Unadmitted, dict[str, dict[str, int]]]:
    """What `counted_by_group` tells, with each workload looked at by itself."""
    unadmitted: Unadmitted = {}
    requested: dict[str, dict[str, int]] = {}
    for name, queue in _pending(state):
        requested[name] = {}
        for key in queue.in_order():
            workload = state.workloads[key]
            kept_out = unreserved_condition(state.config, workload)
            told = kept_out if key in queue.suspended else None
            told = told or condition(workload, "QuotaReserved")
            cause = told.reason if told is not None and not told.status else "PendingEvaluation"
            place = (name, workload.local_queue_key, "NoReservation", cause)
            unadmitted[place] = unadmitted.get(place, 0) + 1
            amounts = requested[name]
            amounts["gpu"] = amounts.get("gpu", 0) + gpus_requested(workload.spec)
    for workload in state.workloads.values():
        if has_quota_reservation(workload) and not is_admitted(workload):
            name = cluster_queue_of(state.config, workload)
            place = (name, workload.local_queue_key, "UnsatisfiedAdmissionChecks", "")
            unadmitted[place] = unadmitted.get(place, 0) + 1
    return unadmitted, requested


def _gpu_seconds(workloads: list[Workload], at: int) -> int:
    spent = sum(gpus_requested(each.spec) * (at - each.created_at) for each in workloads)
    return spent // MICROSECONDS_PER_SECOND


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("q", "q2", "r")), st.sampled_from((1, 2, 9)), st.integers(0, 1)),
        st.sampled_from(
            ("settle", "hold", "release", "finish", "fail", "off", "wait", "quarantine", "change")
        ),
    ),
    min_size=6,
    max_size=24,
)


def _world() -> World:
    world = World()
    world.flavor("default")
    takes = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world.cluster_queue("q", quotas(default=2), preemption=takes)
    world.cluster_queue("r", quotas(default=4), queueing_strategy="StrictFIFO")
    world.local_queue("q2", "q", namespace="team")
    return world


def _change(world: World, number: int, step: object) -> None:
    state = world.cluster_state
    keys = [key for key, each in state.workloads.items() if each.finished_at is None]
    last = f"workload/{keys[-1]}" if keys else ""
    if isinstance(step, tuple):
        queue, gpus, priority = step
        world.submit(f"w{number:02}", queue, {"gpu": gpus}, priority=priority)
    elif step == "settle":
        world.settle()
    elif step == "wait":
        world.wait(LONG_WAIT_SECONDS // 2)
    elif step == "change":
        nominal = 2 + number % 2
        world.change_cluster_queue("q", resource_groups=quotas(default=nominal))
    elif step == "finish":
        for key in world.admitted()[-1:]:
            world.finish(key)
    elif step == "fail":
        for key in world.admitted()[:1]:
            world.record(f"workload/{key}", WorkloadFinished(reason="Failed"))
    elif last and step == "quarantine":
        state.quarantine(last, message("LogLostEvents"))
    elif last and step in {"hold", "release", "off"}:
        events: dict[str, WorkloadEvent] = {
            "hold": WorkloadHeld(owner="admin", reason="later"),
            "release": WorkloadReleased(),
            "off": WorkloadDeactivated(cause="Requested"),
        }
        if step != "release" or state.workloads[keys[-1]].hold is not None:
            world.record(last, events[str(step)])


OVERTAKEN: list[object] = [("q", 1, 0), "settle", ("q", 2, 0), "wait", ("q2", 2, 0), ("q", 2, 0)]
"""Workloads that wait for all of a queue of which the first keeps half."""
OVERTAKING = ["wait", ("q", 1, 0), "settle", "finish"]


@given(STEPS)
@example([*OVERTAKEN, *OVERTAKING * 7, "hold", "wait", "release", "settle"])
@example([("q", 9, 1), ("q", 9, 1), "wait", ("q", 9, 1), "wait", ("q", 9, 0)])
@example([("q", 1, 0), "settle", "quarantine", "finish", ("q", 9, 0), "quarantine", "hold"])
@example([("q", 9, 0), ("q", 9, 1), ("q2", 9, 0), "settle", "hold", "quarantine", "wait"])
def test_groups_tell_what_a_look_at_every_workload_tells(steps: list[object]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload_index, "MAX_LISTED", 2)
        patch.setattr(pending_places, "BLOCK_SIZE", 2)
        world = _world()
        assert_as_scanned(world)
        for number, step in enumerate(steps):
            _change(world, number, step)
            assert_as_scanned(world)
        with world.cluster_state.overlay():
            for key in world.cluster_state.workloads:
                held = WorkloadHeld(owner="admin", reason="tried")
                world.cluster_state.assume(f"workload/{key}", held, world.at)
        assert_as_scanned(world)


class Unscannable(dict[str, Workload]):
    """Workloads that may be looked up and not gone through."""

    looked_up = 0

    def __getitem__(self, key: str) -> Workload:
        self.looked_up += 1
        return super().__getitem__(key)

    def _scanned(self) -> Any:
        raise AssertionError("all workloads were gone through")

    values = items = keys = __iter__ = _scanned


def _looked_up(pending: int) -> int:
    """How many workloads are read to tell what needs attention among so many pending ones."""
    world = _world()
    world.submit("held", "q", {"gpu": 1})
    world.record("workload/team/held", WorkloadHeld(owner="admin", reason="later"))
    world.submit("off", "q", {"gpu": 1}, active=False)
    for number in range(pending):
        world.submit(f"w{number:04}", "q", {"gpu": 1 if number % 2 else 9}, priority=number % 3)
    world.settle()
    world.wait(2 * LONG_WAIT_SECONDS)
    state = world.cluster_state
    assert state.reads.index.groups
    counted = Unscannable(dict.items(state.workloads))
    vars(state)["workloads"] = counted
    found = at_once(detect_problems(state, world.at, None))
    told = at_once(find_attention(state, world.at, None))
    at_once(read_gauges(state))
    sample_of(state)
    page = at_once(unschedulable_keys(state, WorkloadFilter(), None, 5))
    assert page == tuple(sorted(k for k in dict.keys(counted) if k[-1] in "02468")[::-1][:5])
    assert unlisted_stuck(state, world.at, None) == {}
    assert [one.kind for one in told if one.kind == "WorkloadInactive"] == ["WorkloadInactive"]
    others = found.unlisted["NeverStarts"]
    listed = sum(one.kind == "NeverStarts" for one in found.listed)
    assert listed == workload_index.MAX_LISTED
    assert listed + others.count == pending // 2
    return counted.looked_up


def test_what_needs_attention_reads_as_many_workloads_in_queues_of_any_length() -> None:
    assert _looked_up(200) == _looked_up(1_000) > 0


def test_starts_outlive_the_workloads_and_are_kept_with_the_state() -> None:
    world = _world()
    for number in range(MAX_RECENT_STARTS + 3):
        world.submit(f"w{number:02}", "q")
        world.wait(1)
        world.settle()
        world.finish(f"team/w{number:02}")
    (starts,) = world.cluster_state.recent_starts.starts.values()
    assert [start.key for start in starts] == [f"team/w{n:02}" for n in range(3, 23)]
    loaded = ClusterState.load(world.cluster_state.dump())
    assert loaded.recent_starts.starts == world.cluster_state.recent_starts.starts
    assert loaded.fork().recent_starts.starts == loaded.recent_starts.starts
