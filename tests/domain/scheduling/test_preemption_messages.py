"""What the conditions of a victim say, word for word as Kueue says it."""

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.values.message import ObjectReference
from headgate.domain.workloads.preemption_events import PreemptorReference
from headgate.domain.workloads.state import ConditionType, condition
from headgate.domain.workloads.transitions.eviction import preemption_message
from headgate.messages.catalogue import text_of, worded
from headgate.messages.rendering import IsVisible, everything_visible
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


def text(world: World, kind: ConditionType, is_visible: IsVisible = everything_visible) -> str:
    found = condition(world["team/v"], kind)
    assert found is not None, f"{kind} was never set"
    return worded(found.message, is_visible)


def nothing_visible(_: ObjectReference) -> bool:
    return False


def test_a_victim_is_told_the_uid_the_rule_and_the_paths_of_both() -> None:
    world = reclaimed()
    told = (
        f"Preempted to accommodate a workload (UID: {world['team/p'].uid}, JobUID: UNKNOWN) due to "
        "reclamation within the cohort; preemptor path: /campus/below/owner; "
        "preemptee path: /campus/borrower"
    )
    assert text(world, "Evicted") == told
    assert text(world, "Preempted") == told


def test_a_readmitted_victim_still_names_its_preemptor() -> None:
    world = reclaimed()
    told, hidden = text(world, "Preempted"), text(world, "Preempted", nothing_visible)
    world.stop("team/v")
    world.settle()
    world.finish("team/p")
    world.settle()
    found = condition(world["team/v"], "Preempted")
    assert found is not None
    assert not found.status
    assert text(world, "Preempted") == f"Previously: {told}"
    assert text(world, "Preempted", nothing_visible) == f"Previously: {hidden}"
    assert world["team/p"].uid not in hidden, "its uid is kept from others even now"


def test_a_redacted_preemption_message_has_no_uids() -> None:
    found = PreemptorReference(
        workload="team/p", uid="u", job_uid="j", path="/c/a", victim_path="/c/b"
    )
    hidden = preemption_message(
        PreemptorReference(path="/c/a", victim_path="/c/b"), "InClusterQueue"
    )
    told = preemption_message(found, "InClusterQueue")
    assert text_of(told, nothing_visible) == text_of(hidden)
