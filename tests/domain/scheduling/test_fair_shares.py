"""The dominant resource share of a node in its cohort (queueing.md §4.3)."""

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.application.queries.queue_status import status_of, weighted_share_of
from headgate.domain.kinds.queue_settings import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.scheduling.quota.dominant_resource_share import (
    UNBOUNDED_SHARE,
    DominantResourceShare,
    dominant_resource_share,
)
from headgate.domain.scheduling.quota.usage import add_usage, empty_usage
from tests.builders.world import World, quotas

KEY = ("f", "gpu")
A, B, R = "clusterqueue/a", "clusterqueue/b", "cohort/r"


def lending(weight_milli: int = 1000, **spec: Any) -> World:
    """A may borrow from B, which has all the quota there is: 20."""
    world = World()
    world.flavor("f")
    world.cohort("r")
    world.cluster_queue("a", quotas(f=0), cohort_name="r", fair_weight_milli=weight_milli, **spec)
    world.cluster_queue("b", quotas(f=20), cohort_name="r")
    return world


def share_of(world: World, node: str, used: dict[str, int]) -> DominantResourceShare:
    tree = world.cluster_state.partition("cohort/r").tree
    usage = empty_usage(tree)
    for queue, amount in used.items():
        add_usage(tree, usage, queue, {KEY: amount})
    return dominant_resource_share(tree, usage, node)


def test_the_share_is_what_is_borrowed_of_what_can_be_lent() -> None:
    share = share_of(lending(), A, {A: 5})
    assert (share.ratio, share.dominant, share.weighted_share) == (Fraction(1, 4), "gpu", 250)


def test_using_ones_own_quota_is_free() -> None:
    assert share_of(lending(), B, {B: 20}) == DominantResourceShare()


def test_the_root_cannot_borrow() -> None:
    assert share_of(lending(), R, {A: 15, B: 20}).weighted_share == 0


def test_a_greater_weight_makes_the_share_smaller() -> None:
    assert share_of(lending(weight_milli=2500), A, {A: 5}).weighted_share == 100


def test_a_share_is_shown_rounded_up_and_compared_exactly() -> None:
    heavy, light = (share_of(lending(weight_milli=w), A, {A: 7}) for w in (3001, 3000))
    assert (heavy.weighted_share, light.weighted_share) == (117, 117)
    assert heavy.order < light.order


def test_a_borrower_without_weight_comes_after_all_others() -> None:
    little, much = (share_of(lending(weight_milli=0), A, {A: used}) for used in (1, 2))
    assert little.weighted_share == UNBOUNDED_SHARE
    assert share_of(lending(), A, {A: 20}).order < little.order < much.order


def test_without_weight_nothing_borrowed_is_still_nothing() -> None:
    idle = share_of(lending(weight_milli=0), A, {})
    assert idle.weighted_share == 0
    assert idle.order == share_of(lending(), A, {}).order


def test_what_is_wanted_counts_as_used() -> None:
    tree = lending().cluster_state.partition("cohort/r").tree
    assert dominant_resource_share(tree, empty_usage(tree), A, {KEY: 10}).weighted_share == 500


def test_all_flavors_of_the_root_count_as_lendable() -> None:
    """Quota of another flavor lowers every share (trap Q28)."""
    world = lending()
    world.flavor("g")
    world.cluster_queue("other", quotas(g=20), cohort_name="r")
    assert share_of(world, A, {A: 5}).weighted_share == 125


def test_the_dominant_resource_is_the_one_borrowed_most_and_then_the_first_by_name() -> None:
    world = World()
    world.flavor("f")

    def both(cpu: int, gpu: int) -> tuple[ResourceGroup, ...]:
        lines = tuple(
            ResourceQuota(name=name, nominal_quota=amount)
            for name, amount in (("cpu", cpu), ("gpu", gpu))
        )
        flavors = (FlavorQuotas(name="f", resources=lines),)
        return (ResourceGroup(covered_resources=("cpu", "gpu"), flavors=flavors),)

    world.cluster_queue("a", both(0, 0), cohort_name="r")
    world.cluster_queue("b", both(100, 10), cohort_name="r")
    tree = world.cluster_state.partition("cohort/r").tree
    wants = [{("f", "cpu"): 20, ("f", "gpu"): gpu} for gpu in (1, 2, 3)]
    found = [dominant_resource_share(tree, empty_usage(tree), A, want).dominant for want in wants]
    assert found == ["cpu", "cpu", "gpu"]


def test_the_status_of_a_queue_tells_its_share() -> None:
    world = lending()
    world.submit("w", "a", {"gpu": 5})
    world.settle()
    assert status_of(world.cluster_state, "a").weighted_share == 250
    assert weighted_share_of(world.cluster_state, "cohort/r") == 0
    assert weighted_share_of(world.cluster_state, "cohort/nowhere") is None


@given(
    used=st.lists(st.integers(0, 25), min_size=2, max_size=2),
    weight=st.integers(1, 10_000),
    more=st.integers(1, 25),
)
def test_a_larger_usage_never_has_a_smaller_share(used: list[int], weight: int, more: int) -> None:
    world = lending(weight_milli=weight)
    before, after = (share_of(world, A, {A: used[0] + extra, B: used[1]}) for extra in (0, more))
    assert before.order < after.order
    assert before.weighted_share <= after.weighted_share
