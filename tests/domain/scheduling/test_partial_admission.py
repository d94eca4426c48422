"""Workloads with a minCount start with fewer pods where all do not fit (queueing.md §3.8)."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.scheduling.evaluation.evaluate import largest_fitting
from headgate.domain.workloads.admission import PodSetAssignment
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest
from headgate.domain.workloads.state import phase_of
from tests.builders.world import World, names, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")


def queue_of(gpus: int, preemption: ClusterQueuePreemption = LOWER) -> World:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=gpus), preemption=preemption)
    return world


def given_to(world: World, key: str) -> PodSetAssignment:
    admission = world[key].admission
    assert admission is not None, f"{key} is not admitted"
    (assignment,) = admission.pod_set_assignments
    return assignment


def test_as_many_pods_start_as_there_is_quota_for() -> None:
    world = queue_of(7)
    key = world.submit("w", "q", {"gpu": 2}, count=(10, 2))
    world.settle()
    assert (given_to(world, key).count, given_to(world, key).resource_usage) == (3, {"gpu": 6})


def test_all_pods_start_where_all_fit() -> None:
    world = queue_of(20)
    key = world.submit("w", "q", {"gpu": 2}, count=(10, 2))
    world.settle()
    assert given_to(world, key).count == 10


def test_no_workload_starts_below_its_minimum_count() -> None:
    world = queue_of(7)
    key = world.submit("w", "q", {"gpu": 2}, count=(10, 4))
    world.settle()
    assert phase_of(world[key]) == "Pending"


def test_only_what_was_given_is_charged() -> None:
    world = queue_of(7)
    world.submit("w", "q", {"gpu": 2}, count=(10, 2))
    rest = world.submit("rest", "q", {"gpu": 1})
    world.settle()
    assert world.admitted() == [rest, "team/w"]


def test_more_pods_with_victims_go_before_fewer_without() -> None:
    """Trap Q26: the full size with preemption beats any partial size."""
    world = queue_of(4)
    low = world.submit("low", "q", {"gpu": 2}, priority=0)
    world.settle()
    key = world.submit("high", "q", {"gpu": 1}, count=(4, 1), priority=5)
    world.settle()
    assert phase_of(world[low]) == "Evicting"
    world.stop(low)
    world.settle()
    assert given_to(world, key).count == 4


def test_fewer_pods_without_victims_go_first_where_the_queue_says_so() -> None:
    """KEP-5710, gang scheduling: minCount is met at once, and nothing is evicted (5710-49)."""
    world = queue_of(4, replace(LOWER, partial_admission="BeforePreemption"))
    low = world.submit("low", "q", {"gpu": 2}, priority=0)
    world.settle()
    key = world.submit("high", "q", {"gpu": 1}, count=(4, 1), priority=5)
    world.settle()
    assert phase_of(world[low]) == "Starting"
    assert given_to(world, key).count == 2
    over = world.submit("over", "q", {"gpu": 1}, count=(4, 1), priority=9)
    world.settle()
    assert phase_of(world[over]) == "Nominated", "no size fits, so that it preempts for all"


def test_a_workload_starts_without_its_optional_pods_where_minimum_count_is_0() -> None:
    """Kueue 0.20, PartialAdmission: 0 <= minCount <= count (#14720)."""
    world = queue_of(1)
    scheduling = Scheduling(requests={"gpu": 1})
    launcher = PodSet(name="launcher", scheduling=scheduling)
    workers = PodSet(name="workers", count=4, min_count=0, scheduling=scheduling)
    key = world.submit_pod_sets("job", "q", launcher, workers)
    world.settle()
    admission = world[key].admission
    assert admission is not None
    assert [(each.name, each.count) for each in admission.pod_set_assignments] == [
        ("launcher", 1),
        ("workers", 0),
    ]


def test_victims_are_taken_for_a_part_where_all_would_never_fit() -> None:
    world = queue_of(4)
    low = world.submit("low", "q", {"gpu": 3})
    world.settle()
    key = world.submit("high", "q", {"gpu": 1}, count=(9, 2), priority=5)
    world.settle()
    world.stop(low)
    world.settle()
    assert given_to(world, key).count == 4


def test_while_evictions_for_all_are_pending_it_does_not_start_with_a_part() -> None:
    world = queue_of(4)
    low = world.submit("low", "q", {"gpu": 2})
    world.settle()
    world.submit("high", "q", {"gpu": 1}, count=(4, 1), priority=5)
    assert "PlacementNominated" in names(world.settle())
    world.wait(60)
    assert world.settle() == []
    assert world.admitted() == [low]


def test_a_part_is_placed_on_hosts_with_capacity_for_it() -> None:
    world = World()
    world.hosts({"b1/r1/h1": 3, "b1/r1/h2": 1, "b1/r2/h3": 2})
    world.cluster_queue("q", quotas("cpu", tas=100))
    key = world.submit(
        "w", "q", {"cpu": 1}, count=(6, 2), topology=TopologyRequest(required="rack")
    )
    world.settle()
    assert given_to(world, key).count == 4
    assert world.placed(key) == {"h1": 3, "h2": 1}


def test_pods_in_slices_go_by_whole_slices() -> None:
    world = World()
    world.hosts({"b1/r1/h1": 3, "b1/r1/h2": 3})
    world.cluster_queue("q", quotas("cpu", tas=100))
    sliced = TopologyRequest(
        required="rack", slice_layers=(SliceLayer(level="kubernetes.io/hostname", size=2),)
    )
    key = world.submit("w", "q", {"cpu": 1}, count=(8, 2), topology=sliced)
    world.settle()
    assert world.placed(key) == {"h1": 2, "h2": 2}


COUNTS = st.tuples(st.integers(1, 40), st.integers(0, 40))


@given(counts=st.lists(COUNTS, min_size=1, max_size=3), room=st.integers(0, 120))
def test_the_largest_size_within_the_capacity_is_found(
    counts: list[tuple[int, int]], room: int
) -> None:
    pod_sets = tuple(
        PodSet(count=count, min_count=min(least, count), scheduling=Scheduling(requests={}))
        for count, least in counts
    )
    spares = [p.count - (p.min_count or 0) for p in pod_sets]
    most = sum(spares)
    sizes = [
        tuple(p.count - spare * step // most for p, spare in zip(pod_sets, spares, strict=True))
        for step in range(1, most + 1)
    ]
    found = largest_fitting(
        pod_sets,
        lambda reduced: tuple(p.count for p in reduced),
        lambda found: sum(found) <= room,
    )
    assert found == next((size for size in sizes if sum(size) <= room), None)


def test_a_workload_without_minimum_count_is_not_evaluated_again() -> None:
    alike = PodSet(count=5, min_count=5, scheduling=Scheduling(requests={}))
    looked: list[int] = []
    for pod_set in (alike, replace(alike, min_count=None)):
        found = largest_fitting((pod_set,), lambda _: looked.append(1), lambda _: True)
        assert found is None
    assert not looked


def test_victims_are_counted_for_the_pods_that_would_start() -> None:
    """Kueue 0.20, change 16 (#16167): also of the resource `pods`, by the count of the assignment.

    Six pods never fit; the four that do need the places of all three.
    """
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas("pods", default=4), preemption=LOWER)
    for name in ("first", "second", "third"):
        world.submit(name, "q", {"cpu": 0}, count=1)
    world.settle()
    key = world.submit("high", "q", {"cpu": 0}, count=(6, 2), priority=5)
    world.settle()
    gone = [name for name in ("first", "second", "third") if world[f"team/{name}"].eviction]
    assert len(gone) == 3
    for name in gone:
        world.stop(f"team/{name}")
    world.settle()
    assert (given_to(world, key).count, given_to(world, key).resource_usage["pods"]) == (4, 4)
