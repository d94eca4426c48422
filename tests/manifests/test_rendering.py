"""Objects as they are shown: Kueue's shape, with status, conditions and canonical quantities."""

from typing import Any

from headgate.adapters.manifests.cluster_queue import cluster_queue_status
from headgate.adapters.manifests.codec import Extras
from headgate.adapters.manifests.queue_status import QueueStatus
from headgate.adapters.manifests.registry import KIND_OF_STREAM
from headgate.adapters.manifests.render import render
from headgate.domain.kinds.queue_activity import (
    Activity,
    cluster_queue_activity,
    local_queue_activity,
)
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.commands import HoldWorkload, ReportStopped
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import PlacementNominated, WorkloadFinished
from headgate.domain.workloads.preemption_events import PreemptionGateOpened
from tests.builders.config import a_config, by_name
from tests.builders.instants import T0, after
from tests.builders.queues import a_cluster_queue, a_group, a_local_queue
from tests.builders.scenario import Scenario
from tests.builders.topology import a_topology
from tests.builders.workloads import a_pod_set, a_workload, an_eviction, running


def status_of(workload: Any) -> dict[str, Any]:
    status: dict[str, Any] = render("Workload", workload, 42)["status"]
    return status


def test_metadata_is_that_of_kubernetes() -> None:
    queue = a_cluster_queue(terminating_at=after(90))
    shown = render("ClusterQueue", queue, 42)
    assert shown["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    assert shown["metadata"] == {
        "name": "gpu",
        "uid": "uid-gpu",
        "resourceVersion": "42",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-01T00:01:30Z",
    }


def test_kinds_of_streams_have_names_in_manifests() -> None:
    assert KIND_OF_STREAM["workloadpriorityclass"] == "WorkloadPriorityClass"
    assert render("Topology", a_topology(), 1)["kind"] == "Topology"


def test_a_waiting_workload_shows_what_it_asks_for() -> None:
    status = status_of(a_workload(pod_sets=(a_pod_set(count=3),), priority=5))
    assert status["phase"] == "Pending"
    assert status["resourceRequests"] == [{"name": "main", "resources": {"cpu": "3"}}]
    assert (status["priority"], status["preemptionPriority"]) == (5, 5)
    assert status["requeuedCount"] == 0
    assert "podSetPreemptionPriorities" not in status
    protected = status_of(a_workload(pod_set_protections={"main": 9}))
    assert protected["podSetPreemptionPriorities"] == {"main": 9}
    assert "admission" not in status
    assert "requeueState" not in status


def test_an_admitted_workload_shows_what_it_was_given() -> None:
    status = status_of(running())
    assert status["phase"] == "Starting"
    assert status["admission"] == {
        "clusterQueue": "gpu",
        "podSetAssignments": [
            {
                "name": "main",
                "flavors": {"cpu": "default"},
                "resourceUsage": {"cpu": "1"},
                "count": 1,
            }
        ],
    }
    conditions = {c["type"]: c for c in status["conditions"]}
    assert conditions["Admitted"]["status"] == "True"
    assert conditions["QuotaReserved"]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert conditions["PodsReady"]["reason"] == "WaitForStart"


def test_a_nominated_workload_shows_its_nominated_capacity() -> None:
    topology = TopologyAssignment(
        levels=("kubernetes.io/hostname",), domains=(TopologyDomain(values=("h1",), count=1),)
    )
    assignment = PodSetAssignment(
        name="main",
        flavors={"cpu": "default"},
        resource_usage={"cpu": 1000},
        count=1,
        topology_assignment=topology,
    )
    admission = Admission(cluster_queue="gpu", pod_set_assignments=(assignment,))
    nominated = PlacementNominated(round_id="r-1", admission=admission)
    placement = status_of(a_workload(after=(nominated,)))["nominatedPlacement"]
    assert (placement["round"], placement["clusterQueue"]) == ("r-1", "gpu")
    assert placement["podSetAssignments"][0]["topologyAssignment"] == {
        "levels": ["kubernetes.io/hostname"],
        "slices": [
            {
                "domainCount": 1,
                "valuesPerLevel": [{"universal": "h1"}],
                "podCounts": {"universal": 1},
            }
        ],
    }


def test_a_preemption_gate_says_since_when_it_stands_so() -> None:
    waiting = a_workload(preemption_gates=("a", "b"))
    opened = PreemptionGateOpened(gate="b")
    story = Scenario(WORKLOAD).given_state(waiting).later(after(60)).given(opened)
    assert status_of(story.state)["preemptionGates"] == [
        {"name": "a", "position": "Closed", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"name": "b", "position": "Open", "lastTransitionTime": "2026-01-01T00:01:00Z"},
    ]


def test_an_eviction_a_backoff_and_a_hold_are_shown() -> None:
    eviction = an_eviction(
        "PodsReadyTimeout", underlying_cause="WaitForStart", count=2, requeue_at=after(60)
    )
    story = Scenario(WORKLOAD).given_state(running()).given(eviction)
    assert status_of(story.state)["eviction"] == {
        "id": "e-1",
        "reason": "PodsReadyTimeout",
        "stage": "Requested",
        "startedAt": "2026-01-01T00:00:00Z",
        "mode": "Immediate",
    }
    story.when(ReportStopped(uid="uid-1"))
    story.when(HoldWorkload(owner="ann", reason="wait", expires_at=after(3600)))
    status = status_of(story.state)
    assert status["requeueState"] == {"count": 2, "requeueAt": "2026-01-01T00:01:00Z"}
    assert status["requeuedCount"] == 2
    assert status["schedulingStats"]["evictions"] == [
        {"reason": "PodsReadyTimeout", "underlyingCause": "WaitForStart", "count": 1}
    ]
    assert status["hold"] == {
        "owner": "user:ann",
        "reason": "wait",
        "heldAt": "2026-01-01T00:00:00Z",
        "expiresAt": "2026-01-01T01:00:00Z",
    }


def test_a_finished_workload_says_how_it_ended() -> None:
    status = status_of(a_workload(after=(WorkloadFinished(reason="Failed", message="exit 1"),)))
    assert status["phase"] == "Failed"
    assert status["conditions"][-1]["message"] == "exit 1"


def test_a_cluster_queue_shows_counts_amounts_and_what_is_borrowed() -> None:
    queue = a_cluster_queue(resource_groups=(a_group("spot", cpu=2000),), cohort_name="all")
    config = a_config(cluster_queues=by_name(queue), resource_flavors={})
    status = QueueStatus(
        activity=cluster_queue_activity(config, "gpu"),
        pending=3,
        reserving=2,
        admitted=1,
        reservation={("spot", "cpu"): 3500},
        usage={("spot", "cpu"): 1500},
    )
    shown = render("ClusterQueue", queue, 1, Extras(queue_status=status))["status"]
    assert (shown["pendingWorkloads"], shown["reservingWorkloads"]) == (3, 2)
    assert shown["admittedWorkloads"] == 1
    (condition,) = shown["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "FlavorNotFound")
    assert shown["flavorsReservation"] == [
        {"name": "spot", "resources": [{"name": "cpu", "total": "3500m", "borrowed": "1500m"}]}
    ]
    assert shown["flavorsUsage"][0]["resources"][0]["borrowed"] == "0"


def test_nothing_is_borrowed_without_a_cohort() -> None:
    queue = a_cluster_queue(resource_groups=(a_group("spot", cpu=2000),))
    status = QueueStatus(
        activity=cluster_queue_activity(a_config(), "gpu"), reservation={("spot", "cpu"): 9000}
    )
    shown = render("ClusterQueue", queue, 1, Extras(queue_status=status))["status"]
    assert shown["flavorsReservation"][0]["resources"][0]["borrowed"] == "0"


def test_a_stopped_queue_shows_owner_and_reason_of_the_stop() -> None:
    stop = Stop(owner="admin:ann", reason="repair", stopped_at=T0)
    shown = render("ClusterQueue", a_cluster_queue(stop_policy="Hold", stop=stop), 1)
    assert shown["spec"]["stopPolicy"] == "Hold"
    assert shown["status"]["stop"] == {
        "owner": "admin:ann",
        "reason": "repair",
        "stoppedAt": "2026-01-01T00:00:00Z",
    }


def test_a_local_queue_shows_the_flavors_of_its_cluster_queue() -> None:
    queue = a_cluster_queue()
    status = QueueStatus(
        activity=local_queue_activity(a_config(), "team-a/lq"), usage={("default", "cpu"): 1000}
    )
    extras = Extras(queue_status=status, cluster_queue=queue.spec)
    shown = render("LocalQueue", a_local_queue(), 1, extras)["status"]
    assert shown["flavorsUsage"] == [
        {"name": "default", "resources": [{"name": "cpu", "total": "1"}]}
    ]
    assert shown["conditions"][0]["reason"] == "Ready"


def test_a_queue_tells_since_when_it_is_as_it_is() -> None:
    inactive = Activity(active=False, reason="Stopped", message="is stopped")
    flipped = QueueStatus(activity=inactive, active_since=after(60))
    for status, told in (
        (flipped, "2026-01-01T00:01:00Z"),
        (QueueStatus(activity=inactive), "2026-01-01T00:00:00Z"),
    ):
        (shown,) = cluster_queue_status(a_cluster_queue(), status)["conditions"]
        assert shown["lastTransitionTime"] == told
