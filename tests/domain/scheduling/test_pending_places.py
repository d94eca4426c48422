"""Places in the scheduling order are those of the sorted queues, and cost no more in long ones."""

from heapq import heapify, heappop, heapreplace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.application.queries.queue_status import PendingLine, pending_order
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.scheduling.ordering import pending_places
from headgate.domain.scheduling.ordering.entry_order import workload_order
from headgate.domain.scheduling.ordering.pending_places import SortedBlocks
from headgate.domain.scheduling.ordering.pending_queue import PendingQueue
from headgate.domain.workloads.events import WorkloadHeld
from tests.builders.world import World, quotas

NAMES = ("a", "b", "c")


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 400)), max_size=120))
def test_sorted_blocks_are_a_sorted_list(changes: list[tuple[bool, int]]) -> None:
    """Removes what is asked for where it is there, and adds it otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pending_places, "BLOCK_SIZE", 3)
        blocks, known = SortedBlocks[tuple[int]](), set[tuple[int]]()
        for removes, number in changes:
            item = (number // 4 if removes else number,)
            (blocks.remove if item in known else blocks.add)(item)
            known ^= {item}
        ordered = sorted(known)
        assert len(blocks) == len(ordered)
        assert list(blocks.starting_at(0)) == ordered
        assert list(SortedBlocks(known).starting_at(1)) == ordered[1:]
        assert [blocks.rank(item) for item in ordered] == list(range(len(ordered)))
        assert [blocks.at(number) for number in range(len(ordered))] == ordered
        for end in (0, 1, len(ordered)):
            assert list(blocks.ending_before(end)) == ordered[:end][::-1]
        assert blocks.rank((1_000,)) == len(ordered)


def _merged(world: World, lines: list[tuple[str, ...]]) -> list[str]:
    """The heads of all lines, the first by priority and age each time."""

    def head(number: int, place: int) -> tuple[object, int, int]:
        workload = world[lines[number][place]]
        queue = world.cluster_state.config.local_queues[workload.local_queue_key]
        spec = world.cluster_state.config.cluster_queues[queue.spec.cluster_queue].spec
        return workload_order(workload, spec), number, place

    heads = [head(number, 0) for number, line in enumerate(lines) if line]
    heapify(heads)
    merged = []
    while heads:
        _, number, place = heads[0]
        merged.append(lines[number][place])
        if place + 1 < len(lines[number]):
            heapreplace(heads, head(number, place + 1))
        else:
            heappop(heads)
    return merged


def _assert_places(world: World) -> None:
    state = world.cluster_state
    lines = {name: pending_order(state, name).keys for name in NAMES}
    together = _merged(world, list(lines.values()))
    for name, keys in lines.items():
        line = PendingLine(state, name)
        assert list(line.keys_from(0)) == list(keys)
        assert list(line.keys_from(2)) == list(keys[2:])
        seen: dict[str, list[str]] = {}
        for number, key in enumerate(keys):
            place, local = line.place(key), world[key].local_queue_key
            assert place is not None
            found = (place.in_cluster_queue, place.in_local_queue, place.in_cohort)
            assert found == (number, len(seen.get(local, ())), together.index(key))
            seen.setdefault(local, []).append(key)
        for local, mine in seen.items():
            assert list(line.keys_of_local_queue(local, 1)) == mine[1:]
        assert line.place("team/absent") is None


def _world() -> World:
    """Three queues of a cohort, one of them strict and one that ranks its LocalQueues."""
    world = World()
    rules = AdmissionFairSharing(usage_half_life_seconds=3_600)
    world.configure(admission_fair_sharing=rules)
    world.flavor("default")
    world.cohort("team")
    takes = ClusterQueuePreemption(
        within_cluster_queue="LowerPriority", reclaim_within_cohort="Any"
    )
    for name, settings in (
        ("a", {}),
        ("b", {"queueing_strategy": "StrictFIFO"}),
        ("c", {"admission_mode": "UsageBasedAdmissionFairSharing"}),
    ):
        spec = {"cohort_name": "team", "preemption": takes, **settings}
        world.cluster_queue(name, quotas(default=2), **spec)
    for queue, local in (("a", "a2"), ("c", "c2"), ("c", "c3")):
        world.local_queue(local, queue)
    return world


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(("a", "a2", "b", "c", "c2", "c3")),
            st.integers(1, 3),
            st.integers(0, 2),
        ),
        st.sampled_from(("settle", "hold", "finish", "wait")),
    ),
    min_size=4,
    max_size=16,
)


@given(STEPS)
@example([("c2", 2, 0), "settle", "wait", ("c3", 3, 0), ("c2", 3, 2), ("a", 3, 1)])
@example([("a", 2, 0), "settle", ("a2", 2, 1), ("a", 1, 2), ("b", 1, 1), "settle", ("a", 3, 2)])
def test_places_are_those_of_the_sorted_queues_after_every_change(steps: list[object]) -> None:
    world = _world()
    _assert_places(world)
    for number, step in enumerate(steps):
        if isinstance(step, tuple):
            queue, gpus, priority = step
            world.submit(f"w{number:02}", queue, {"gpu": gpus}, priority=priority)
        elif step == "settle":
            world.settle()
        elif step == "wait":
            world.wait(60)
        elif step == "hold":
            waiting = pending_order(world.cluster_state, "a").keys
            for key in waiting[:1]:
                world.record(f"workload/{key}", WorkloadHeld(owner="admin", reason="later"))
        else:
            for key in world.admitted()[:1]:
                world.finish(key)
        _assert_places(world)


def _looked_at(pending: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many orders a place among so many is compared with."""
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=1))
    world.submit("runs", "q", {"gpu": 1})
    world.settle()
    keys = [world.submit(f"w{number:04}", "q") for number in range(pending)]
    PendingLine(world.cluster_state, "q")
    compared = 0

    class Counted(tuple[object, ...]):
        __slots__ = ()

        def __gt__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return tuple.__gt__(self, other)  # type: ignore[operator]

    def sorted_anew(_queue: PendingQueue, _ranks: object = None) -> tuple[str, ...]:
        raise AssertionError("the queue was sorted")

    monkeypatch.setattr(PendingQueue, "in_order", sorted_anew)
    real = SortedBlocks.rank
    monkeypatch.setattr(SortedBlocks, "rank", lambda self, item: real(self, Counted(item)))
    place = PendingLine(world.cluster_state, "q").place(keys[pending // 2])
    assert place is not None
    assert place.in_cluster_queue == place.in_local_queue == place.in_cohort == pending // 2
    return compared


def test_a_place_in_a_queue_ten_times_as_long_is_found_by_a_few_more_comparisons() -> None:
    with pytest.MonkeyPatch.context() as patch:
        short = _looked_at(200, patch)
    with pytest.MonkeyPatch.context() as patch:
        long = _looked_at(2_000, patch)
    assert 0 < short < long < short + 30
