"""Under fair sharing workloads that borrow nothing go first, then those of the smallest share."""

from fractions import Fraction

import pytest

from headgate.domain.kinds.configuration import FairSharing
from headgate.domain.scheduling.ordering.entry_order import (
    CycleEntry,
    DrsKey,
    classical_iterator,
    fair_sharing_iterator,
)
from tests.builders.world import World, quotas

Shares = dict[int, tuple[DrsKey, ...]]


def entry(
    number: int, *path: str, priority: int = 0, holds_quota: bool = False, level: int = 0
) -> CycleEntry:
    return CycleEntry(
        number, path, holds_quota, level, (-priority, number, str(number), str(number))
    )


def share(part: int, *, borrows: bool = False) -> DrsKey:
    return borrows, (False, Fraction(part, 100))


def fair(entries: list[CycleEntry], shares: Shares) -> list[int]:
    return [
        one.number for one in fair_sharing_iterator(entries, lambda found: shares[found.number])
    ]


def test_the_smaller_share_is_first_whatever_its_priority() -> None:
    entries = [entry(1, "a", "root", priority=9), entry(2, "b", "root")]
    assert fair(entries, {1: (share(30),), 2: (share(10),)}) == [2, 1]


def test_a_workload_without_borrowing_precedes_a_smaller_share() -> None:
    entries = [entry(1, "a", "root"), entry(2, "b", "root")]
    assert fair(entries, {1: (share(10, borrows=True),), 2: (share(30),)}) == [2, 1]


def test_equal_shares_go_by_priority_and_then_by_age() -> None:
    entries = [entry(n, f"q{n}", "root", priority=p) for n, p in ((1, 0), (2, 5), (3, 5))]
    shares: Shares = {n: (share(10),) for n in (1, 2, 3)}
    assert fair(entries, shares) == [2, 3, 1]


def test_each_cohort_sends_up_its_best() -> None:
    """`a1` beats `a2` in its cohort although `a2` would stand better at the root."""
    entries = [entry(1, "a1", "a", "root"), entry(2, "a2", "a", "root"), entry(3, "b", "root")]
    shares: Shares = {1: (share(10), share(50)), 2: (share(20), share(5)), 3: (share(30),)}
    assert fair(entries, shares) == [3, 1, 2]


def test_all_entries_of_one_queue_have_their_turn() -> None:
    entries = [entry(1, "a", "root"), entry(2, "a", "root"), entry(3, "b", "root")]
    shares: Shares = {1: (share(10),), 2: (share(10),), 3: (share(5),)}
    assert fair(entries, shares) == [3, 1, 2]


def test_a_workload_with_quota_is_first_in_both_orders() -> None:
    entries = [entry(1, "a", "root", priority=9), entry(2, "a", "root", holds_quota=True)]
    assert fair(entries, {1: (share(0),), 2: (share(90),)}) == [2, 1]
    assert [one.number for one in classical_iterator(entries)] == [2, 1]


def test_the_order_does_not_depend_on_how_the_entries_came() -> None:
    entries = [entry(n, f"q{n % 2}", "root" if n % 3 else "other") for n in range(1, 9)]
    shares: Shares = {n: (share(n % 3, borrows=n % 2 == 0),) for n in range(1, 9)}
    assert fair(entries, shares) == fair(entries[::-1], shares)


def two_borrowers() -> World:
    """Queues `a` and `b` own nothing and borrow from a pool of ten."""
    world = World()
    world.configure(fair_sharing=FairSharing())
    world.flavor("default")
    world.cohort("pool", groups=quotas(default=10))
    for name in ("a", "b"):
        world.cluster_queue(name, quotas(default=0), cohort_name="pool")
    return world


def test_capacity_goes_alternately_to_the_smaller_share() -> None:
    world = two_borrowers()
    for number in range(6):
        world.submit(f"a{number}", "a", {"gpu": 2}, priority=9)
    for number in range(2):
        world.submit(f"b{number}", "b", {"gpu": 2})
    world.settle()
    assert world.admitted() == ["team/a0", "team/a1", "team/a2", "team/b0", "team/b1"]


@pytest.mark.parametrize(("weight_milli", "last"), [(1000, "a"), (4000, "b")])
def test_the_last_capacity_goes_to_the_queue_of_higher_weight(weight_milli: int, last: str) -> None:
    world = two_borrowers()
    world.change_cluster_queue("b", fair_weight_milli=weight_milli)
    for number in range(6):
        world.submit(f"a{number}", "a", {"gpu": 2}, priority=1)
        world.submit(f"b{number}", "b", {"gpu": 2})
    world.settle()
    assert sorted(key[5] for key in world.admitted()) == sorted(["a", "a", "b", "b", last])


def test_an_entry_that_lost_its_capacity_keeps_its_turn_and_says_why() -> None:
    world = World()
    for name in ("one", "other"):
        world.flavor(name)
    world.cohort("pool", groups=quotas(one=2, other=2))
    for name in ("a", "b"):
        world.cluster_queue(name, quotas(one=0, other=0), cohort_name="pool")
    quick = world.submit("quick", "a", {"gpu": 2}, priority=1)
    slow = world.submit("slow", "b", {"gpu": 2})
    made = world.settle()
    reasons = [e.explanation.dominant for _, e in made if hasattr(e, "explanation")]
    assert reasons == ["WaitingForQuota"]
    assert world.admitted() == [quick, slow]
