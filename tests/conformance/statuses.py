"""What the status of a workload says has happened to it, as facts in order of time."""

from collections.abc import Iterator
from typing import Any, get_args

from msgspec.structs import replace

from headgate.adapters.manifests.parse import Desired
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import amount_of
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.events import (
    DeactivationCause,
    WorkloadActivated,
    WorkloadAdmitted,
    WorkloadCheckReported,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadHeld,
    WorkloadHostsFailed,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
    WorkloadRequeued,
    WorkloadStopped,
    WorkloadSubmitted,
)
from tests.conformance.families.reports import updates_in
from tests.conformance.instants import NOW, instant_of

EVICTIONS = {
    "Preempted",
    "PodsReadyTimeout",
    "AdmissionCheck",
    "ClusterQueueStopped",
    "LocalQueueStopped",
    "NodeFailures",
}
REQUEUES = {
    "Preempted": "Preempted",
    "BackoffFinished": "BackoffFinished",
    "Reactivated": "Reactivated",
    "ClusterQueueRestarted": "ClusterQueueRestarted",
    "LocalQueueRestarted": "LocalQueueRestarted",
}
DEACTIVATED_DUE_TO = "DeactivatedDueTo"
ON_HOLD = "OnHold"
"""Why an active workload is kept out of the queue in Kueue: its owner does not want it to start."""

Happened = tuple[Instant, DomainEvent]


def life_of(desired: Desired, value: dict[str, Any]) -> Iterator[Happened]:
    """From its submission to where its status says it stands."""
    status = value.get("status") or {}
    conditions = {c["type"]: c for c in status.get("conditions") or []}
    created = instant_of(value["metadata"].get("creationTimestamp"), 0)
    admission = status.get("admission")
    is_off = admission is None and not conditions and not desired.spec.active
    cause = None if desired.spec.active else _cause_of(conditions)
    yield created, _submitted(desired, active=is_off or cause is not None or desired.spec.active)
    if is_off:
        yield NOW, WorkloadDeactivated(cause="Requested")
    if admission is not None and _is_true(conditions, "QuotaReserved"):
        yield from _reserved(desired, status, conditions)
    else:
        yield from _evicted_before(desired, status, conditions)
    if cause is not None:
        yield _since(conditions["Evicted"]), WorkloadDeactivated(cause=cause)
    if (conditions.get("QuotaReserved") or {}).get("reason") == ON_HOLD:
        yield _since(conditions["QuotaReserved"]), WorkloadHeld(owner="admin:owner", reason=ON_HOLD)
    if _is_true(conditions, "DeactivationTarget"):
        yield NOW, WorkloadDeactivated(cause="Requested")
    if status.get("reclaimablePods"):
        pods = {found["name"]: found["count"] for found in status["reclaimablePods"]}
        yield NOW, WorkloadPodsReclaimed(reclaimable=pods)
    if _is_true(conditions, "Finished"):
        yield _since(conditions["Finished"]), WorkloadFinished(reason="Succeeded")


def _cause_of(conditions: dict[str, Any]) -> DeactivationCause | None:
    """Why Kueue itself deactivated it, as the reason of its eviction tells; None if it did not."""
    if not _is_true(conditions, "Evicted"):
        return None
    _, by_kueue, told = conditions["Evicted"].get("reason", "").partition(DEACTIVATED_DUE_TO)
    if not by_kueue:
        return None
    return next((cause for cause in get_args(DeactivationCause) if cause == told), "AdmissionCheck")


def admission_of(value: dict[str, Any], counts: dict[str, int]) -> Admission:
    """An admission as Kueue writes it; `counts` are the pod sets' where it names none."""
    return Admission(
        cluster_queue=value["clusterQueue"],
        pod_set_assignments=tuple(
            _assignment(given, counts.get(given["name"], 1))
            for given in value.get("podSetAssignments") or ()
        ),
    )


def decoded(assignment: dict[str, Any]) -> list[tuple[tuple[str, ...], int]]:
    """The domains of a topology assignment, whichever form it is written in."""
    if "domains" in assignment:
        return [(tuple(d["values"]), d["count"]) for d in assignment["domains"]]
    return [
        (tuple(_value(level, i) for level in part["valuesPerLevel"]), _count(part, i))
        for part in assignment.get("slices") or ()
        for i in range(part["domainCount"])
    ]


def _submitted(desired: Desired, *, active: bool) -> WorkloadSubmitted:
    return WorkloadSubmitted(
        uid=desired.uid,
        namespace=desired.namespace,
        name=desired.name,
        labels=desired.labels,
        annotations=desired.annotations,
        spec=replace(desired.spec, active=active),
    )


def _reserved(
    desired: Desired, status: dict[str, Any], conditions: dict[str, Any]
) -> Iterator[Happened]:
    counts = {pod_set.name: pod_set.count for pod_set in desired.spec.pod_sets}
    checks = tuple(check["name"] for check in status.get("admissionChecks") or ())
    since = _since(conditions["QuotaReserved"])
    if (status.get("requeueState") or {}).get("count"):
        yield from _evicted_before(desired, status, {})
    admission = admission_of(status["admission"], counts)
    yield since, WorkloadQuotaReserved(admission=admission, checks=checks)
    for check in status.get("admissionChecks") or ():
        yield instant_of(check.get("lastTransitionTime"), since), _said_by(check)
    if _is_true(conditions, "Admitted"):
        yield _since(conditions["Admitted"]), WorkloadAdmitted(waited_seconds=0)
        yield from _readiness(conditions.get("PodsReady"))
    if status.get("unhealthyNodes"):
        hosts = {found["name"]: "NotReady" for found in status["unhealthyNodes"]}
        yield since, WorkloadHostsFailed(hosts=hosts)
    if _is_true(conditions, "Evicted"):
        yield _since(conditions["Evicted"]), _eviction(status, conditions)


def _said_by(check: dict[str, Any]) -> WorkloadCheckReported:
    return WorkloadCheckReported(
        check=check["name"],
        state=check.get("state", "Pending"),
        message=check.get("message", ""),
        requeue_after_seconds=check.get("requeueAfterSeconds"),
        pod_set_updates=updates_in(check),
    )


def _evicted_before(
    desired: Desired, status: dict[str, Any], conditions: dict[str, Any]
) -> Iterator[Happened]:
    requeue = status.get("requeueState") or {}
    if _is_true(conditions, "Evicted") or requeue:
        at = _since(conditions.get("Evicted") or {})
        counts = {pod_set.name: pod_set.count for pod_set in desired.spec.pod_sets}
        nowhere = {"clusterQueue": "", "podSetAssignments": []}
        yield at, WorkloadQuotaReserved(admission=admission_of(nowhere, counts))
        yield at, _eviction(status, conditions)
        yield at, WorkloadStopped(eviction="before")
    requeued = conditions.get("Requeued")
    if requeued is None:
        return
    if requeued["status"] == "True":
        reason: Any = REQUEUES.get(requeued.get("reason", ""), "Requested")
        yield _since(requeued), WorkloadRequeued(reason=reason)
    elif requeued.get("reason", "").startswith("Deactivated"):
        yield _since(requeued), WorkloadDeactivated(cause="Requested")
        if desired.spec.active:
            yield _since(requeued), WorkloadActivated()


def _eviction(status: dict[str, Any], conditions: dict[str, Any]) -> WorkloadEvicted:
    condition = conditions.get("Evicted") or {}
    reason = condition.get("reason", "PodsReadyTimeout")
    requeue = status.get("requeueState") or {}
    known: Any = reason if reason in EVICTIONS else "Requeued"
    known = "Preempted" if _is_true(conditions, "Preempted") else known
    known = "Deactivated" if reason.startswith("Deactivated") else known
    return WorkloadEvicted(
        eviction="before",
        reason=known,
        underlying_cause=(conditions.get("Preempted") or {}).get("reason", ""),
        message=condition.get("message", ""),
        count=requeue.get("count", 0),
        requeue_at=instant_of(requeue.get("requeueAt"), 0) or None,
    )


def _readiness(condition: dict[str, Any] | None) -> Iterator[Happened]:
    if condition is None:
        return
    if condition["status"] == "True":
        yield _since(condition), WorkloadPodsReady()
    elif condition.get("reason") == "WaitForRecovery":
        yield _since(condition), WorkloadPodsReady()
        yield _since(condition), WorkloadPodsNotReady()


def _assignment(given: dict[str, Any], count: int) -> PodSetAssignment:
    topology = given.get("topologyAssignment")
    return PodSetAssignment(
        name=given["name"],
        flavors=given.get("flavors") or {},
        resource_usage={
            resource: amount_of(resource, str(amount))
            for resource, amount in (given.get("resourceUsage") or {}).items()
        },
        count=given.get("count", count),
        topology_assignment=topology_assignment(topology) if topology else None,
        delayed_topology_request=given.get("delayedTopologyRequest"),
    )


def topology_assignment(value: dict[str, Any]) -> TopologyAssignment:
    """The places of a pod set as Kueue writes them."""
    domains = tuple(TopologyDomain(values=values, count=n) for values, n in decoded(value))
    return TopologyAssignment(levels=tuple(value["levels"]), domains=domains)


def _value(level: dict[str, Any], place: int) -> str:
    if "universal" in level:
        return str(level["universal"])
    own = level["individual"]
    return f"{own.get('prefix', '')}{own['roots'][place]}{own.get('suffix', '')}"


def _count(part: dict[str, Any], place: int) -> int:
    counts = part["podCounts"]
    return int(counts["universal"] if "universal" in counts else counts["individual"][place])


def _is_true(conditions: dict[str, Any], kind: str) -> bool:
    return (conditions.get(kind) or {}).get("status") == "True"


def _since(condition: dict[str, Any]) -> Instant:
    return instant_of(condition.get("lastTransitionTime"), NOW)
