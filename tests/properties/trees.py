"""Random trees of cohorts and queues, and random things that happen in them."""

from typing import NamedTuple

from hypothesis import strategies as st

from headgate.domain.kinds.configuration import AdmissionFairSharing, FairSharing
from headgate.domain.kinds.queue_settings import ResourceGroup
from tests.builders.world import World, quotas

Limits = tuple[int, int | None, int | None]
"""Nominal quota, borrowing limit, lending limit."""

BY_USAGE = "UsageBasedAdmissionFairSharing"


class Pool(NamedTuple):
    """A cohort: the place of its parent among those before it, and its own quota."""

    parent: int | None
    own: Limits


class Queue(NamedTuple):
    """A ClusterQueue: in which cohort, its quota in two flavors, and how it is ordered."""

    cohort: int | None
    first: Limits
    second: Limits
    strict: bool
    by_usage: bool
    weight_milli: int


class Tree(NamedTuple):
    """All of one installation."""

    pools: list[Pool]
    queues: list[Queue]
    shares: bool


class Wish(NamedTuple):
    """A workload: its queue, which of two LocalQueues, how much, how urgent."""

    queue: int
    door: int
    amount: int
    pods: int
    priority: int


class Step(NamedTuple):
    """What happens: some submit, one finishes, a quota changes, time passes."""

    wishes: list[Wish]
    finished: int
    quota: tuple[int, Limits] | None
    seconds: int


LIMITS = st.tuples(st.integers(0, 6), st.none() | st.integers(0, 4), st.none() | st.integers(0, 4))
POOLS = st.lists(st.tuples(st.none() | st.integers(0, 2), LIMITS), max_size=3)
QUEUES = st.lists(
    st.builds(
        Queue,
        cohort=st.none() | st.integers(0, 2),
        first=LIMITS,
        second=LIMITS,
        strict=st.booleans(),
        by_usage=st.booleans(),
        weight_milli=st.sampled_from([0, 500, 1000, 3000]),
    ),
    min_size=1,
    max_size=4,
)
WISHES = st.lists(
    st.builds(
        Wish,
        queue=st.integers(0, 3),
        door=st.integers(0, 1),
        amount=st.integers(1, 3),
        pods=st.integers(1, 3),
        priority=st.integers(0, 2),
    ),
    max_size=6,
)
STEPS = st.lists(
    st.builds(
        Step,
        wishes=WISHES,
        finished=st.integers(0, 50),
        quota=st.none() | st.tuples(st.integers(0, 3), LIMITS),
        seconds=st.integers(0, 400),
    ),
    min_size=1,
    max_size=6,
)


def _tree(pools: list[tuple[int | None, Limits]], queues: list[Queue], shares: bool) -> Tree:
    """Parents come before their children, so that no circle closes."""
    kept = [
        Pool(parent if parent is not None and parent < place else None, own)
        for place, (parent, own) in enumerate(pools)
    ]
    return Tree(kept, queues, shares)


TREES = st.builds(_tree, POOLS, QUEUES, st.booleans())


def installed(tree: Tree) -> World:
    """The tree with two LocalQueues for each ClusterQueue; by shares and by past usage, if so."""
    world = World()
    usage = AdmissionFairSharing(usage_half_life_seconds=300, usage_sampling_interval_seconds=60)
    world.configure(
        fair_sharing=FairSharing() if tree.shares else None, admission_fair_sharing=usage
    )
    world.flavor("first")
    world.flavor("second")
    for place, pool in enumerate(tree.pools):
        parent = "" if pool.parent is None else f"pool{pool.parent}"
        world.cohort(f"pool{place}", parent, _in_place(pool.own, is_root=not parent))
    for place, queue in enumerate(tree.queues):
        is_in = queue.cohort is not None and queue.cohort < len(tree.pools)
        world.cluster_queue(
            f"q{place}",
            _groups(queue.first, queue.second, alone=not is_in),
            cohort_name=f"pool{queue.cohort}" if is_in else "",
            queueing_strategy="StrictFIFO" if queue.strict else "BestEffortFIFO",
            admission_mode=BY_USAGE if queue.by_usage else None,
            fair_weight_milli=queue.weight_milli,
        )
        world.local_queue(f"q{place}-other", f"q{place}")
    return world


def submit(world: World, tree: Tree, wishes: list[Wish], first_number: int) -> None:
    """These workloads, numbered from `first_number`."""
    for number, wish in enumerate(wishes, start=first_number):
        submit_one(world, tree, wish, number)


def submit_one(world: World, tree: Tree, wish: Wish, number: int) -> None:
    """One workload."""
    queue = f"q{wish.queue % len(tree.queues)}{'-other' if wish.door else ''}"
    amount = {"gpu": wish.amount}
    world.submit(f"w{number}", queue, amount, count=wish.pods, priority=wish.priority)


def change_quota(world: World, tree: Tree, quota: tuple[int, Limits]) -> None:
    """Other limits in the first flavor of one queue."""
    place = quota[0] % len(tree.queues)
    queue = tree.queues[place]
    alone = not world.cluster_state.config.cluster_queues[f"q{place}"].spec.cohort_name
    groups = _groups(quota[1], queue.second, alone=alone)
    world.change_cluster_queue(f"q{place}", resource_groups=groups)


def _groups(first: Limits, second: Limits, *, alone: bool) -> tuple[ResourceGroup, ...]:
    limits = [(own[0], None, None) if alone else own for own in (first, second)]
    groups: tuple[ResourceGroup, ...] = quotas(first=limits[0], second=limits[1])
    return groups


def _in_place(own: Limits, *, is_root: bool) -> tuple[ResourceGroup, ...]:
    return _groups(own, own, alone=is_root)
