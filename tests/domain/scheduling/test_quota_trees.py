"""The arithmetic of borrowing and lending (queueing.md §4)."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.scheduling.quota.usage import (
    QuotaUsage,
    add_usage,
    available,
    borrowing_level,
    empty_usage,
    loans_in_tree,
    potential_available,
    remove_usage,
)
from tests.builders.world import World, quotas

MAX_INT64 = 2**63 - 1
KEY = ("f", "gpu")
A, B, R = "clusterqueue/a", "clusterqueue/b", "cohort/r"


def worked_example() -> World:
    """Root R; A has 10, lends at most 4, borrows at most 3; B has 20."""
    world = World()
    world.flavor("f")
    world.cluster_queue("a", quotas(f=(10, 3, 4)), cohort_name="r")
    world.cluster_queue("b", quotas(f=20), cohort_name="r")
    return world


def test_the_worked_example_of_available_quota() -> None:
    tree = worked_example().cluster_state.partition("cohort/r").tree
    usage = empty_usage(tree)
    assert tree.local_quota[A][KEY] == 6
    assert tree.subtree_quota[R][KEY] == 24
    assert [available(tree, usage, node, KEY) for node in (A, B)] == [13, 24]
    add_usage(tree, usage, A, {KEY: 8})
    assert usage[R][KEY] == 2
    assert [available(tree, usage, node, KEY) for node in (A, B)] == [5, 22]
    add_usage(tree, usage, B, {KEY: 22})
    assert available(tree, usage, A, KEY) == 0


def test_no_queue_can_use_more_than_its_potential() -> None:
    tree = worked_example().cluster_state.partition("cohort/r").tree
    assert potential_available(tree, A, KEY) == 13
    assert potential_available(tree, B, KEY) == 24


def test_borrowing_is_reported_by_how_far_away_it_comes_from() -> None:
    world = World()
    world.flavor("f")
    world.cohort("top")
    world.cohort("near", parent="top")
    world.cluster_queue("a", quotas(f=2), cohort_name="near")
    world.cluster_queue("b", quotas(f=2), cohort_name="near")
    world.cluster_queue("c", quotas(f=9), cohort_name="top")
    tree = world.cluster_state.partition("cohort/top").tree
    usage = empty_usage(tree)
    levels = [borrowing_level(tree, usage, A, KEY, amount)[0] for amount in (2, 4, 5)]
    assert levels == [0, 1, 2]


def test_cohorts_in_a_cycle_are_cut_and_admit_nothing() -> None:
    world = World()
    world.flavor("f")
    world.cohort("x", parent="y")
    world.cohort("y", parent="x")
    world.cluster_queue("a", quotas(f=2), cohort_name="x")
    key = world.submit("w", "a")
    world.settle()
    assert world[key].admission is None
    failure = world.cluster_state.partition("cohort/x").queue_failures["a"]
    assert failure is not None
    assert failure.reason == "CohortCycleDetected"


STEPS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d"]), st.integers(1, 9)), max_size=30)
LIMIT = st.none() | st.integers(0, 6)
QUOTA = st.tuples(st.integers(0, 9), LIMIT, LIMIT)


def deep_world(drawn: list[tuple[int, int | None, int | None]]) -> World:
    world = World()
    world.flavor("f")
    world.cohort("top", groups=quotas(f=drawn[0]))
    world.cohort("left", parent="top", groups=quotas(f=drawn[1]))
    for name, cohort, quota in zip("abcd", ("left", "left", "top", "top"), drawn[2:], strict=True):
        world.cluster_queue(name, quotas(f=quota), cohort_name=cohort)
    return world


@given(drawn=st.lists(QUOTA, min_size=6, max_size=6), steps=STEPS)
def test_usage_removed_in_any_order_leaves_nothing(
    drawn: list[tuple[int, int | None, int | None]], steps: list[tuple[str, int]]
) -> None:
    tree = deep_world(drawn).cluster_state.partition("cohort/top").tree
    usage = empty_usage(tree)
    for name, amount in steps:
        add_usage(tree, usage, f"clusterqueue/{name}", {KEY: amount})
    assert usage == _from_the_leaves_up(tree, usage)
    for name, amount in sorted(steps):
        remove_usage(tree, usage, f"clusterqueue/{name}", {KEY: amount})
    assert usage == empty_usage(tree)


@given(drawn=st.lists(QUOTA, min_size=6, max_size=6), steps=STEPS)
def test_usage_within_available_never_overdraws_the_tree(
    drawn: list[tuple[int, int | None, int | None]], steps: list[tuple[str, int]]
) -> None:
    tree = deep_world(drawn).cluster_state.partition("cohort/top").tree
    usage = empty_usage(tree)
    for name, amount in steps:
        node = f"clusterqueue/{name}"
        if amount <= available(tree, usage, node, KEY):
            add_usage(tree, usage, node, {KEY: amount})
            assert usage[node][KEY] <= potential_available(tree, node, KEY)
    assert usage["cohort/top"].get(KEY, 0) <= tree.subtree_quota["cohort/top"].get(KEY, 0)


@given(
    drawn=st.lists(QUOTA, min_size=6, max_size=6),
    wanted=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 5)), max_size=12),
)
def test_what_is_borrowed_is_what_others_lend(
    drawn: list[tuple[int, int | None, int | None]], wanted: list[tuple[str, int]]
) -> None:
    world = deep_world(drawn)
    for number, (queue, gpus) in enumerate(wanted):
        world.submit(f"w{number}", queue, {"gpu": gpus})
    world.settle()
    partition = world.cluster_state.partition("cohort/top")
    tree, usage = partition.tree, partition.usage[ACTUAL]
    found = loans_in_tree(tree, usage, "cohort/top", KEY)
    for node in (f"clusterqueue/{name}" for name in "abcd"):
        used, nominal = usage[node].get(KEY, 0), tree.nominal(node, KEY)
        borrowed = sum(loan.amount for loan in found if loan.borrower == node)
        lent = sum(loan.amount for loan in found if loan.lender == node)
        assert borrowed == max(0, used - nominal)
        assert lent + min(used, nominal) <= nominal


def _from_the_leaves_up(tree: QuotaTree, usage: QuotaUsage) -> QuotaUsage:
    """A cohort's usage is what its children use past their guarantees."""
    found: QuotaUsage = {node: dict(a) for node, a in usage.items() if not tree.children[node]}
    for node in sorted(tree.path, key=lambda n: -len(tree.path[n])):
        if tree.children[node]:
            amount = sum(
                max(0, found[child].get(KEY, 0) - tree.local_quota[child].get(KEY, 0))
                for child in tree.children[node]
            )
            found[node] = {KEY: amount} if amount else {}
    return found


def test_sums_beyond_63_bits_are_exact() -> None:
    """Kueue 0.20, change 28 (#15026): two queues lend each other almost all that 63 bits hold."""
    world = World()
    world.flavor("f")
    for name in "ab":
        world.cluster_queue(name, quotas(f=MAX_INT64 - 1), cohort_name="r")
    tree = world.cluster_state.partition("cohort/r").tree
    usage = empty_usage(tree)
    add_usage(tree, usage, A, {KEY: MAX_INT64 + 5})
    assert tree.subtree_quota[R][KEY] == 2 * MAX_INT64 - 2
    assert [available(tree, usage, node, KEY) for node in (A, B)] == [MAX_INT64 - 7] * 2
