"""Where a check brings the machines, quota comes first and hosts once all checks agree.

Reference topology.md §2 (Delayed) and §7.2.
"""

from msgspec.structs import replace

from headgate.domain.kinds.admission_check import AdmissionCheckCreated, AdmissionCheckSpec
from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.workloads.commands import ReportCheckState
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate
from headgate.domain.workloads.specs import REPLACES, TopologyRequest
from headgate.domain.workloads.state import is_admitted
from tests.builders.world import World, names, quotas

PROVISIONING = "kueue.x-k8s.io/provisioning-request"
RACK = TopologyRequest(required="rack")


def a_world(*hosts: str) -> World:
    world = World()
    world.hosts(dict.fromkeys(hosts, 2))
    spec = AdmissionCheckSpec(controller_name=PROVISIONING)
    created = AdmissionCheckCreated(uid="machines", name="machines", spec=spec)
    world.record("admissioncheck/machines", created)
    rules = (AdmissionCheckRule(name="machines"),)
    world.cluster_queue("q", quotas("cpu", tas=10), admission_checks=rules)
    return world


def delayed(world: World, key: str) -> str | None:
    admission = world[key].admission
    assert admission is not None, f"{key} has no quota"
    return admission.pod_set_assignments[0].delayed_topology_request


def test_quota_is_reserved_though_there_is_no_host_yet() -> None:
    world = a_world()
    key = world.submit("job", "q", {"cpu": 1}, count=2, topology=RACK)

    made = world.settle()

    assert names(made) == ["WorkloadQuotaReserved"]
    assert delayed(world, key) == "Pending"
    assert world.placed(key) == {}


def test_hosts_are_chosen_once_the_machines_are_there() -> None:
    world = a_world()
    key = world.submit("job", "q", {"cpu": 1}, count=2, topology=RACK)
    world.settle()
    world.node("b/r/new", allocatable={"cpu": 2, "pods": 9})

    world.check(key, "machines", "Ready")
    made = world.settle()

    assert names(made) == ["WorkloadPlaced", "WorkloadAdmitted"]
    assert delayed(world, key) == "Ready"
    assert world.placed(key) == {"new": 2}


def test_a_growing_workload_keeps_its_hosts_until_the_rest_are_provisioned() -> None:
    world = a_world("b/r/a")
    old = world.submit("old", "q", {"cpu": 1}, count=2, topology=RACK)
    world.settle()
    world.check(old, "machines", "Ready")
    world.settle()
    assert world.placed(old) == {"a": 2}

    new = world.submit_pod_sets(
        "new", "q", replace(world[old].spec.pod_sets[0], count=3), annotations={REPLACES: old}
    )
    world.settle()
    assert world[old].finished_at is not None
    assert (delayed(world, new), world.placed(new)) == ("Pending", {"a": 2})

    other = world.submit("other", "q", {"cpu": 1}, topology=RACK)
    world.settle()
    world.check(other, "machines", "Ready")
    world.settle()
    assert not is_admitted(world[other])
    world.node("b/r/b", allocatable={"cpu": 2, "pods": 9})
    world.check(new, "machines", "Ready")
    world.settle()
    assert (world.placed(new), world.placed(other)) == ({"a": 2, "b": 1}, {"b": 1})


def test_without_hosts_it_waits_with_its_quota_until_one_comes() -> None:
    world = a_world()
    key = world.submit("job", "q", {"cpu": 1}, count=2, topology=RACK)
    world.settle()
    world.check(key, "machines", "Ready")

    assert world.settle() == []
    assert not is_admitted(world[key])
    waits = recorded_reason(world.cluster_state, world[key], world.at)
    assert waits is not None
    assert waits.dominant == "PendingDelayedTopologyRequests"
    world.node("b/r/new", allocatable={"cpu": 2, "pods": 9})
    world.settle()

    assert is_admitted(world[key])


def test_hosts_must_match_what_the_check_selects() -> None:
    world = a_world("b/r/old")
    key = world.submit("job", "q", {"cpu": 1}, topology=RACK)
    world.settle()
    world.node("b/r/new", {"order": "7"}, allocatable={"cpu": 2, "pods": 9})
    told = ReportCheckState(
        uid=world[key].uid,
        check="machines",
        state="Ready",
        pod_set_updates=(PodSetUpdate(name="main", node_selector={"order": "7"}),),
    )

    world.tell(key, told)
    world.settle()

    assert world.placed(key) == {"new": 1}
