"""Workloads with their requests and admissions, and the events of their lifecycle."""

from typing import Any

from msgspec.structs import replace

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvent,
    WorkloadEvicted,
    WorkloadQuotaReserved,
    WorkloadSubmitted,
)
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from headgate.domain.workloads.state import Workload
from tests.builders.instants import T0


def a_template(**requests: str) -> dict[str, Any]:
    """Returns a pod template of one container with `requests` (`cpu="1"` by default)."""
    asked = requests or {"cpu": "1"}
    return {"spec": {"containers": [{"name": "main", "resources": {"requests": asked}}]}}


def a_pod_set(name: str = "main", count: int = 1, **fields: Any) -> PodSet:
    usual: dict[str, Any] = {
        "scheduling": Scheduling(requests={"cpu": 1000}),
        "template": a_template(),
    }
    return PodSet(name=name, count=count, **usual | fields)


def a_workload_spec(**fields: Any) -> WorkloadSpec:
    usual: dict[str, Any] = {"pod_sets": (a_pod_set(),), "queue_name": "lq"}
    return WorkloadSpec(**usual | fields)


def a_submission(name: str = "train", uid: str = "uid-1", **fields: Any) -> WorkloadSubmitted:
    """Returns the event that the workload `team-a/train` was submitted with this spec."""
    return WorkloadSubmitted(uid=uid, namespace="team-a", name=name, spec=a_workload_spec(**fields))


def an_admission(cluster_queue: str = "gpu", **flavors: str) -> Admission:
    """Returns an admission of one pod of one core in the flavor `default`."""
    return Admission(
        cluster_queue=cluster_queue,
        pod_set_assignments=(
            PodSetAssignment(
                name="main",
                flavors=flavors or {"cpu": "default"},
                resource_usage={"cpu": 1000},
                count=1,
            ),
        ),
    )


RESERVED = WorkloadQuotaReserved(admission=an_admission())
ADMITTED = WorkloadAdmitted(waited_seconds=0)


def an_eviction(reason: Any = "Preempted", **fields: Any) -> WorkloadEvicted:
    """Returns the event that the eviction `e-1` began."""
    usual: dict[str, Any] = {"eviction": "e-1", "message": "It must go"}
    return WorkloadEvicted(**usual | {"reason": reason} | fields)


def a_workload(
    name: str = "train",
    *,
    uid: str = "uid-1",
    after: tuple[WorkloadEvent, ...] = (),
    **fields: Any,
) -> Workload:
    """Returns the workload `team-a/train` with this spec, after these events."""
    state = evolve(Absent(), a_submission(name, uid, **fields), T0)
    for event in after:
        state = evolve(state, event, T0)
    assert isinstance(state, Workload)
    return state


def running(name: str = "train", **fields: Any) -> Workload:
    """Returns the workload with quota, admitted."""
    return a_workload(name, after=(RESERVED, ADMITTED), **fields)


def with_cluster_queue(workload: Workload, cluster_queue: str) -> Workload:
    """Returns the workload with its quota in a ClusterQueue."""
    return replace(workload, admission=an_admission(cluster_queue))
