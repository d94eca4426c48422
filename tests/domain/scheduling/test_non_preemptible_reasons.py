"""What work is told that may not be preempted, or may not preempt (preemption.md §6.4, §6.6)."""

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.workloads.explanation import Explanation
from headgate.messages.catalogue import remedies_of, sentence_of
from tests.builders.world import World, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")


def two_queues() -> World:
    """Each owns four gpus and may borrow those of the other."""
    world = World()
    world.flavor("default")
    for name in ("a", "b"):
        world.cluster_queue(name, quotas(default=4), cohort_name="c")
    return world


def told(world: World, key: str) -> Explanation:
    found = world[key].explanation
    assert found is not None, f"{key} was not looked at"
    return found


def test_borrowing_is_no_remedy_for_non_preemptible_work_beyond_nominal() -> None:
    world = two_queues()
    key = world.submit("np", "a", {"gpu": 5}, preemptibility="NonPreemptible")
    world.settle()
    found = told(world, key)
    assert (found.dominant, found.condition_reason) == ("Unschedulable", "ExceedsMaxQuota")
    assert sentence_of(found) == (
        "Unschedulable: request exceeds the maximum: 5 gpu (default) requested, ClusterQueue a has"
        " nominal quota 4 for non-preemptible workloads"
    )


def test_non_preemptible_work_is_told_how_much_of_the_nominal_quota_is_left() -> None:
    world = two_queues()
    world.submit("np", "a", {"gpu": 3}, preemptibility="NonPreemptible")
    world.settle()
    key = world.submit("np2", "a", {"gpu": 2}, preemptibility="NonPreemptible")
    world.settle()
    assert sentence_of(told(world, key)) == (
        "Insufficient quota: 2 gpu (default) requested, 1 of nominal 4 left for non-preemptible"
        " workloads in ClusterQueue a"
    )


def test_what_is_available_beyond_the_nominal_quota_is_told_as_borrowing() -> None:
    world = two_queues()
    world.submit("taken", "b", {"gpu": 2})
    world.settle()
    key = world.submit("large", "a", {"gpu": 7})
    world.settle()
    assert sentence_of(told(world, key)) == (
        "Insufficient quota: 7 gpu (default) requested, 6 available in ClusterQueue a (nominal 4,"
        " 2 more by borrowing)"
    )
    impossible = world.submit("huge", "a", {"gpu": 9})
    world.settle()
    assert sentence_of(told(world, impossible)) == (
        "Unschedulable: request exceeds the maximum: 9 gpu (default) requested, ClusterQueue a can"
        " use at most 8, 4 borrowed (6 free now)"
    )


def test_work_with_a_fitting_guaranteed_count_is_not_said_to_never_fit() -> None:
    world = two_queues()
    world.submit("np", "a", {"gpu": 3}, preemptibility="NonPreemptible")
    world.settle()
    key = world.submit("semi", "a", count=(5, 2), preemptibility="SemiPreemptible")
    world.settle()
    assert told(world, key).dominant == "WaitingForQuota"
    world.finish("team/np")
    world.settle()
    assert key in world.admitted()


def test_only_a_higher_nominal_quota_helps_non_preemptible_work() -> None:
    world = two_queues()
    large = world.submit("large", "a", {"gpu": 5}, preemptibility="NonPreemptible")
    world.settle()
    assert remedies_of(told(world, large)) == [
        "Raise nominalQuota by 1 gpu (flavor default), or request at most 4 gpu"
    ]
    world.change_cluster_queue("a", resource_groups=quotas(default=5))
    world.settle()
    assert world.admitted() == [large]


def test_a_non_preemptible_workload_is_told_the_holders_of_its_nominal_quota() -> None:
    world = two_queues()
    world.submit("lender", "b", {"gpu": 1})
    world.submit("np", "a", {"gpu": 3}, preemptibility="NonPreemptible")
    world.settle()
    key = world.submit("np2", "a", {"gpu": 2}, preemptibility="NonPreemptible")
    world.settle()
    assert remedies_of(told(world, key)) == [
        "Raise nominalQuota by 1 gpu (flavor default), or stop team/np"
    ]


def test_quota_withheld_for_non_preemptible_work_is_named_with_its_remedy() -> None:
    world = World()
    world.flavor("default")
    keeps = ClusterQueuePreemption(reserve_for_pending_non_preemptible=True)
    world.cluster_queue("b", quotas(default=9), cohort_name="c")
    world.cluster_queue("a", quotas(default=(2, 1, None)), cohort_name="c", preemption=keeps)
    held = world.submit("held", "a", {"gpu": 3}, preemptibility="NonPreemptible")
    key = world.submit("other", "a", {"gpu": 2})
    world.settle()
    assert told(world, held).condition_reason == "ExceedsMaxQuota"
    assert told(world, held).is_unschedulable
    found = told(world, key)
    assert sentence_of(found) == (
        "Insufficient quota: 2 gpu (default) requested, 1 available in ClusterQueue a besides what"
        " it withholds for pending non-preemptible workloads (nominal 2)"
    )
    assert remedies_of(found) == ["Raise borrowingLimit by 1 gpu (flavor default)"]
    world.change_cluster_queue("a", resource_groups=quotas(default=(2, 2, None)))
    world.settle()
    assert world.admitted() == [key]


def test_a_never_preempting_workload_is_named_where_others_might_preempt() -> None:
    for policy, reasons in ((LOWER, ["PreemptionNotAllowed"]), (ClusterQueuePreemption(), [])):
        world = World()
        world.flavor("default")
        world.cluster_queue("q", quotas(default=2), preemption=policy)
        world.submit("v", "q", {"gpu": 2})
        world.settle()
        key = world.submit("p", "q", {"gpu": 2}, priority=5, can_preempt=False)
        world.settle()
        found = [b.reason for b in told(world, key).blockers if b.type == "Preemption"]
        assert found == reasons
