"""What the conditions of a victim say, word for word as Kueue says it."""

from headgate.domain.kinds.queue_preemption import ClusterQueuePreemption
from headgate.domain.workloads.preemption_events import PreemptorReference
from headgate.domain.workloads.preemption_message import preemption_message, without_uids
from headgate.domain.workloads.state import ConditionType, condition
from tests.builders.world import World, quotas

RECLAIM = ClusterQueuePreemption(reclaim_within_cohort="Any")


def reclaimed() -> World:
    """A queue below two Cohorts takes its quota back from another of its root."""
    world = World()
    world.flavor("default")
    world.cohort("below", parent="campus")
    world.cluster_queue("owner", quotas(default=1), preemption=RECLAIM, cohort_name="below")
    world.cluster_queue("borrower", quotas(default=0), cohort_name="campus")
    world.submit("v", "borrower")
    world.settle()
    world.submit("p", "owner")
    world.settle()
    return world


def message(world: World, kind: ConditionType) -> str:
    found = condition(world["team/v"], kind)
    assert found is not None, f"{kind} was never set"
    return found.message


def test_a_victim_is_told_the_uid_the_rule_and_the_paths_of_both() -> None:
    world = reclaimed()
    text = (
        f"Preempted to accommodate a workload (UID: {world['team/p'].uid}, JobUID: UNKNOWN) due to "
        "reclamation within the cohort; preemptor path: /campus/below/owner; "
        "preemptee path: /campus/borrower"
    )
    assert message(world, "Evicted") == text
    assert message(world, "Preempted") == text


def test_a_readmitted_victim_still_names_its_preemptor() -> None:
    world = reclaimed()
    told = message(world, "Preempted")
    world.stop("team/v")
    world.settle()
    world.finish("team/p")
    world.settle()
    found = condition(world["team/v"], "Preempted")
    assert found is not None
    assert (found.status, found.message) == (False, f"Previously: {told}")
    assert found.about == "team/p", "so that its uid can be kept from others even now"


def test_a_redacted_preemption_message_has_no_uids() -> None:
    found = PreemptorReference(
        workload="team/p", uid="u", job_uid="j", path="/c/a", victim_path="/c/b"
    )
    hidden = preemption_message(
        PreemptorReference(path="/c/a", victim_path="/c/b"), "InClusterQueue"
    )
    told = preemption_message(found, "InClusterQueue")
    assert without_uids(told) == hidden
    assert without_uids(f"Previously: {told}") == f"Previously: {hidden}"


def test_other_messages_are_left_as_they_are() -> None:
    assert without_uids("Held by admin:x") == "Held by admin:x"
