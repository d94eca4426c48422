"""The inactive reasons of queues in Kueue's order and words, and the referrers of objects."""

from typing import Any

from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule, CohortChanged, CohortSpec
from headgate.domain.kinds.queue_activity import (
    cluster_queue_activity,
    cohort_cycle,
    local_queue_activity,
)
from headgate.domain.object_set import referrers_of
from headgate.domain.scheduling.queueing.queue_checks import check_cluster_queue
from headgate.domain.values.message import message
from tests.builders.config import a_config, by_name
from tests.builders.instants import T0
from tests.builders.policies import a_budget, a_check
from tests.builders.queues import a_cluster_queue, a_cohort, a_local_queue
from tests.builders.topology import a_flavor
from tests.builders.workloads import a_workload, running, with_cluster_queue
from tests.builders.world import World, quotas

MULTI = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"


def reason_of(**fields: Any) -> tuple[str, str]:
    """What the condition says; a pending workload is kept out for the same reason, or for none."""
    config = a_config(**fields)
    found = cluster_queue_activity(config, "gpu")
    assert found.active == (found.reason == "Ready")
    kept_out = check_cluster_queue(config, "gpu")
    told = kept_out.reason if kept_out is not None else "Ready"
    assert {"ClusterQueueDoesNotExist": "NotFound"}.get(told, told) == found.reason
    return found.reason, found.message


def with_checks(*checks: Any, **rules: tuple[str, ...]) -> tuple[str, str]:
    named = tuple(AdmissionCheckRule(name=name, on_flavors=on) for name, on in rules.items())
    queue = a_cluster_queue(admission_checks=named)
    return reason_of(cluster_queues=by_name(queue), admission_checks=by_name(*checks))


def test_a_queue_with_all_it_needs_is_ready() -> None:
    assert reason_of() == ("Ready", "Can admit new workloads")


def test_a_queue_that_does_not_exist_is_not_found() -> None:
    assert reason_of(cluster_queues={}) == ("NotFound", "ClusterQueue not found")


def test_a_terminating_queue_says_only_that() -> None:
    queue = a_cluster_queue(terminating_at=T0, stop_policy="Hold")
    assert reason_of(cluster_queues=by_name(queue)) == (
        "Terminating",
        "Can't admit new workloads; clusterQueue is terminating",
    )


def test_the_first_fault_gives_the_reason_and_all_stand_in_the_message() -> None:
    queue = a_cluster_queue(
        stop_policy="Hold", admission_checks=(AdmissionCheckRule(name="check1"),)
    )
    reason, message = reason_of(cluster_queues=by_name(queue), resource_flavors={})
    assert reason == "Stopped"
    assert message == (
        "Can't admit new workloads: is stopped, references missing ResourceFlavor(s): default, "
        "references missing AdmissionCheck(s): check1."
    )


def test_a_check_that_its_controller_does_not_serve_makes_the_queue_inactive() -> None:
    reason, message = with_checks(a_check("slow", active=False), slow=())
    assert reason == "AdmissionCheckInactive"
    assert "inactive AdmissionCheck(s): slow" in message


def test_multikueue_comes_once_for_all_flavors_and_without_provisioning() -> None:
    one, two = a_check("one", MULTI), a_check("two", MULTI)
    assert with_checks(one, two, one=(), two=())[0] == "MultipleMultiKueueAdmissionChecks"
    assert with_checks(one, one=("default",))[0] == "MultiKueueAdmissionCheckAppliedPerFlavor"
    both = with_checks(one, a_check("more", PROVISIONING), one=(), more=())
    assert both[0] == "MultiKueueWithProvisioningRequest"


def test_a_flavor_without_its_topology_makes_the_queue_inactive() -> None:
    flavor = a_flavor(topology_name="racks", node_labels={"pool": "gpu"})
    reason, message = reason_of(resource_flavors=by_name(flavor))
    assert (reason, "racks" in message) == ("TopologyNotFound", True)
    checked = a_cluster_queue(admission_checks=(AdmissionCheckRule(name="one"),))
    elsewhere = reason_of(
        cluster_queues=by_name(checked),
        resource_flavors=by_name(flavor),
        admission_checks=by_name(a_check("one", MULTI)),
    )
    assert elsewhere[0] == "Ready"


def test_a_pending_workload_shows_the_first_inactive_reason_and_its_remedy() -> None:
    queue = a_cluster_queue(admission_checks=(AdmissionCheckRule(name="check1"),))
    config = a_config(cluster_queues=by_name(queue), resource_flavors={})
    found = check_cluster_queue(config, "gpu")
    assert found is not None
    assert found.message == message(
        "ReferencedObjectMissing",
        kind="ResourceFlavor",
        name="default",
        referrer="ClusterQueue gpu",
    )


def test_a_local_queue_is_as_active_as_what_lies_behind_it() -> None:
    def reason(**fields: Any) -> str:
        return local_queue_activity(a_config(**fields), "team-a/lq").reason

    assert reason() == "Ready"
    assert reason(local_queues={}) == "NotFound"
    assert reason(local_queues=by_name(a_local_queue(stop_policy="Hold"))) == "Stopped"
    leaving = replace(a_local_queue(), terminating_at=T0)
    assert reason(local_queues=by_name(leaving)) == "Terminating"
    assert reason(cluster_queues={}) == "ClusterQueueDoesNotExist"
    stopped = by_name(a_cluster_queue(stop_policy="Hold"))
    assert reason(cluster_queues=stopped) == "ClusterQueueIsInactive"


def test_a_cycle_of_cohorts_is_found_from_below_it() -> None:
    config = a_config(
        cohorts=by_name(
            a_cohort("below", parent_name="a"),
            a_cohort("a", parent_name="b"),
            a_cohort("b", parent_name="a"),
            a_cohort("free", parent_name="implicit"),
        )
    )
    assert cohort_cycle(config, "below") == ("a", "b")
    assert cohort_cycle(config, "free") == ()
    assert cohort_cycle(config, "") == ()


def test_a_queue_below_a_cycle_of_cohorts_is_inactive_until_it_ends() -> None:
    """Kueue 0.20, change 37 (#13774)."""
    world = World()
    world.flavor("f")
    world.cohort("a", parent="b")
    world.cluster_queue("q", quotas(f=2), cohort_name="below")
    world.cohort("below", parent="a")
    config = world.cluster_state.config
    assert cluster_queue_activity(config, "q").active
    world.wait(5)
    world.cohort("b", parent="a")
    found = cluster_queue_activity(config, "q")
    assert (found.active, found.reason) == (False, "CohortCycleDetected")
    assert found.message == ('Can\'t admit new workloads: Cohort "a" has a cycle in hierarchy.')
    assert local_queue_activity(config, "team/q").reason == "ClusterQueueIsInactive"
    for stream in ("clusterqueue/q", "localqueue/team/q"):
        assert config.active_since[stream] == world.at
    world.wait(5)
    world.record("cohort/b", CohortChanged(spec=CohortSpec()))
    assert cluster_queue_activity(config, "q").active
    assert config.active_since["clusterqueue/q"] == world.at


def test_a_cluster_queue_is_used_by_workloads_that_hold_its_quota() -> None:
    workloads = {
        "team-a/one": running("one"),
        "team-a/two": a_workload("two"),
        "team-a/three": with_cluster_queue(running("three"), "other"),
    }
    assert referrers_of(a_config(), workloads, "clusterqueue", "gpu") == ("workload/team-a/one",)


def test_flavors_topologies_and_checks_are_used_by_what_names_them() -> None:
    config = a_config(
        cluster_queues=by_name(a_cluster_queue(admission_checks=(AdmissionCheckRule(name="c"),))),
        resource_flavors=by_name(a_flavor(topology_name="racks")),
    )
    assert referrers_of(config, {}, "resourceflavor", "default") == ("clusterqueue/gpu",)
    assert referrers_of(config, {}, "resourceflavor", "other") == ()
    assert referrers_of(config, {}, "topology", "racks") == ("resourceflavor/default",)
    assert referrers_of(config, {}, "admissioncheck", "c") == ("clusterqueue/gpu",)
    assert referrers_of(config, {}, "cohort", "all") == ()


def test_a_namespace_is_used_by_everything_in_it() -> None:
    config = a_config(disruption_budgets=by_name(a_budget()))
    workloads = {"team-a/one": a_workload("one"), "team-ab/two": a_workload("two")}
    assert referrers_of(config, workloads, "namespace", "team-a") == (
        "localqueue/team-a/lq",
        "disruptionbudget/team-a/budget",
        "workload/team-a/one",
    )
