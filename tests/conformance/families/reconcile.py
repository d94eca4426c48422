"""What follows for one workload from its state, its queues and the time (`pkg/controller/core`)."""

from collections.abc import Iterator
from typing import Any

from headgate.application.queries.queue_status import status_of
from headgate.domain.kinds.cluster_queue import ClusterQueueDeletionRequested
from headgate.domain.kinds.local_queue import LocalQueueDeletionRequested
from headgate.domain.scheduling.lifecycle.pods_ready import pods_ready_deadline
from headgate.domain.scheduling.lifecycle.transitions import due_events
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of, unreserved_condition
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.workloads.commands import DeleteWorkload
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.ended import expired_deletion
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadStopped
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, condition, is_admitted
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.consumption import consumed_until_now
from tests.conformance.families.family import Family
from tests.conformance.installed import CREATED, NAMESPACE, Installed, kind_of
from tests.conformance.instants import seconds_of

Given = dict[str, Any]

IN_USE = "kueue.x-k8s.io/resource-in-use"
"""The finalizer by which Kueue keeps a deleted workload until it has let go of it."""

DELETED = "Deleted"
"""The reason of the event that Kueue writes of a workload which it deletes."""

OPTIONS = ("waitForPodsReady", "workloadRetention")
READ_OF_WAITS = {
    *("timeout", "recoveryTimeout", "requeuingBackoffLimitCount", "requeuingBackoffBaseSeconds"),
    *("requeuingBackoffMaxDuration", "requeuingBackoffJitter"),
}
"""The times that a backoff is compared by are those of another test, so that its spread is not."""

MAX_STEPS = 10
JUDGED = ("Misconfigured", "Suspended", "Deactivated")
"""Reasons that follow without a look of the scheduler."""


def reconcile(case: Case) -> Iterator[str]:
    """Quota, admission, activity, requeues and evictions after all that is due has happened."""
    wanted = case.want.get("wantWorkload")
    if wanted is None:
        yield from _without_its_workload(case)
        return
    installed = _installed(case)
    evictions = _let_happen(installed)
    found = _workload(installed)
    evicted = evictions[-1].reason if evictions else _evicted_without_place(case, found)
    status = wanted.get("status") or {}
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    yield from differences(
        "state",
        {
            "quota": _has_quota(status, conditions),
            "admitted": _is(conditions, "Admitted"),
            "finished": _is(conditions, "Finished"),
            "active": _is_active(wanted, conditions),
            "requeues": _requeues(wanted, conditions),
            "evicted": _new_eviction(case, conditions),
        },
        {
            "quota": found is not None and has_quota_reservation(found),
            "admitted": found is not None and is_admitted(found),
            "finished": found is not None and found.finished_at is not None,
            "active": found is not None and found.spec.active,
            "requeues": found.requeue.count if found and _is_active(wanted, conditions) else 0,
            "evicted": evicted,
        },
    )


def _without_its_workload(case: Case) -> Iterator[str]:
    """Where the workload afterwards is not compared: that it is gone, or that it does not queue."""
    installed = _installed(case)
    _let_happen(installed)
    found = _workload(installed)
    is_deleted = any(event["reason"] == DELETED for event in case.want.get("wantEvents") or ())
    if is_deleted or _is_let_go(case.mapped("workload")):
        yield from differences("there", False, found is not None)
        return
    queued = case.want.get("wantWorkloadsInQueue")
    if queued is None or found is None:
        return
    name = cluster_queue_of(installed.cluster_state.config, found)
    is_queued = bool(name) and installed.partition_of(name).is_admission_candidate(found)
    yield from differences("queued", queued, int(is_queued))


def _requeues(wanted: Given, conditions: dict[str, Given]) -> int:
    """How often it was requeued; a deactivation forgets it, in Kueue in one of the next steps."""
    state = (wanted.get("status") or {}).get("requeueState") or {}
    return (state.get("count") or 0) if _is_active(wanted, conditions) else 0


def inadmissible(case: Case) -> Iterator[str]:
    """The same, and of what kind the reason is that it waits."""
    yield from reconcile(case)
    wanted = case.want.get("wantWorkload") or {}
    conditions = (wanted.get("status") or {}).get("conditions") or ()
    reason = next((c["reason"] for c in conditions if c["type"] == "QuotaReserved"), "")
    if reason not in JUDGED:
        return
    installed = _installed(case)
    _let_happen(installed)
    workload = _workload(installed)
    found = workload and unreserved_condition(installed.cluster_state.config, workload)
    yield from differences("reason", reason, found.reason if found else "")


def not_ready(case: Case) -> Iterator[str]:
    """Why and how long an admitted workload may still be without ready pods."""
    installed = _installed(case)
    workload = _workload(installed)
    assert workload is not None, "the case has a workload"
    deadline = pods_ready_deadline(installed.cluster_state.config, workload)
    left = 0 if deadline is None else max(0, deadline - installed.at) // MICROSECONDS_PER_SECOND
    cause = "" if deadline is None else workload.not_ready_cause
    yield from differences("left", seconds_of(case.want["wantRecheckAfter"]), left)
    yield from differences("cause", case.want["wantUnderlyingCause"] or "", cause)


def checks_follow(case: Case) -> Iterator[str]:
    """The checks of a workload that holds quota are those its ClusterQueue asks for."""
    installed = Installed()
    installed.add("ClusterQueue", case.inputs["cq"])
    value = case.inputs["wl"]
    status = {"conditions": [_RESERVED], **(value.get("status") or {})}
    nowhere = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 1}]}
    namespace = value["metadata"].get("namespace") or NAMESPACE
    door = {"name": "lq", "namespace": namespace}
    installed.add("LocalQueue", {"metadata": door, "spec": {"clusterQueue": "cq"}})
    spec = {**value["spec"], "queueName": "lq"}
    status = {"admission": nowhere, **status}
    installed.add("Workload", {**value, "spec": spec, "status": status})
    _let_happen(installed)
    workload = _workload(installed)
    wanted = sorted(check["name"] for check in case.want["wantChecks"] or ())
    yield from differences("checks", wanted, sorted(workload.checks) if workload else [])


def local_queue(case: Case) -> Iterator[str]:
    """Whether a LocalQueue lets work through, and how many workloads hold quota by it."""
    wanted = (case.want["wantLocalQueue"] or {}).get("status") or {}
    if (wanted.get("fairSharing") or {}).get("admissionFairSharingStatus"):
        yield from consumed_until_now(case)
    installed = Installed()
    installed.add_setup([made for made in case.setup() if made["kind"] in CREATED])
    queue = case.given("clusterQueue")
    if not case.given("deleteClusterQueue"):
        installed.add("ClusterQueue", _as_active_as_told(queue))
    local = case.inputs["localQueue"]
    installed.add("LocalQueue", local)
    installed.add("Workload", *case.listed("runningWls"))
    key = f"{local['metadata'].get('namespace') or NAMESPACE}/{local['metadata']['name']}"
    found = status_of(installed.cluster_state, local["spec"].get("clusterQueue", ""), key)
    for active in wanted.get("conditions") or ():
        if active["type"] == "Active":
            yield from differences("active", active["status"] == "True", found.activity.active)
            yield from differences("reason", active["reason"], found.activity.reason)
    yield from differences("reserving", wanted.get("reservingWorkloads", 0), found.reserving)
    yield from differences("admitted", wanted.get("admittedWorkloads", 0), found.admitted)


_RESERVED = {"type": "QuotaReserved", "status": "True"}


def _installed(case: Case) -> Installed:
    installed = Installed()
    installed.add_setup([made for made in case.setup() if made["kind"] == "Namespace"])
    installed.configure(**_retention(case))
    for value in case.listed("additionalObjects"):
        kind = kind_of(value)
        if kind in CREATED and kind not in {"ClusterQueue", "LocalQueue"}:
            installed.add(kind, value)
    value = case.mapped("workload")
    status = value.get("status") or {}
    queue = case.given("cq")
    if status.get("admission"):
        name = status["admission"].get("clusterQueue") or "cq"
        status = {**status, "admission": {**status["admission"], "clusterQueue": name}}
        is_missing = queue is None and case.given("lq") is None
        queue = {"metadata": {"name": name}, "spec": {}} if is_missing else queue
    if queue is not None:
        installed.add("ClusterQueue", {**queue, "spec": {**queue["spec"], **_waits(case)}})
    installed.add("LocalQueue", case.given("lq"))
    _terminate(installed, case)
    installed.add("Workload", _completed(value, status))
    if _is_let_go(value):
        _delete(installed)
    return installed


def _delete(installed: Installed) -> None:
    workload = _workload(installed)
    assert workload is not None, "the case has a workload"
    for event in WORKLOAD.decide(workload, DeleteWorkload(eviction="deleted"), installed.at):
        installed.record(f"workload/{workload.key}", event)


def _as_active_as_told(queue: Given | None) -> Given | None:
    """A ClusterQueue that is not told to be active, for whatever reason: here it is stopped."""
    conditions = ((queue or {}).get("status") or {}).get("conditions") or ()
    if queue is None or any(c["type"] == "Active" and c["status"] == "True" for c in conditions):
        return queue
    return {**queue, "spec": {**queue["spec"], "stopPolicy": "Hold"}}


def _completed(value: Given, status: Given) -> Given:
    metadata = {"name": "wl", **(value.get("metadata") or {})}
    spec = value.get("spec") or {}
    spec = {**spec, "podSets": spec.get("podSets") or [{"name": "main", "count": 1}]}
    if status.get("admission"):
        conditions = status.get("conditions") or []
        has = any(c["type"] == "QuotaReserved" for c in conditions)
        status = {**status, "conditions": conditions if has else [*conditions, _RESERVED]}
    return {"metadata": metadata, "spec": spec, "status": status}


def _waits(case: Case) -> Given:
    """The timeouts of the installation, which here are those of every ClusterQueue."""
    given = _option(case, "waitForPodsReady") or case.mapped("waitForPodsReady")
    if not given:
        return {}
    if given.keys() - READ_OF_WAITS:
        raise ValueError(f"not read of waitForPodsReady: {sorted(given.keys() - READ_OF_WAITS)}")
    strategy = {
        "backoffLimitCount": given.get("requeuingBackoffLimitCount"),
        "backoffBaseSeconds": given.get("requeuingBackoffBaseSeconds"),
    }
    if given.get("requeuingBackoffMaxDuration"):
        strategy["backoffMaxSeconds"] = seconds_of(given["requeuingBackoffMaxDuration"])
    waits = {
        "timeout": given.get("timeout"),
        "recoveryTimeout": given.get("recoveryTimeout"),
        "requeuingStrategy": strategy,
    }
    return {"waitForPodsReady": waits}


def _option(case: Case, name: str) -> Given:
    """What an option of the reconciler sets; ValueError where one sets what is not known here."""
    options = [found.get("$option") or {} for found in case.listed("reconcilerOpts")]
    unknown = {key for option in options for key in option} - {*OPTIONS}
    if unknown:
        raise ValueError(f"options that are not read: {', '.join(sorted(unknown))}")
    return next((option[name] for option in options if option.get(name)), {})


def _retention(case: Case) -> Given:
    """After how long finished workloads, and those that Kueue deactivated, are deleted."""
    given = _option(case, "workloadRetention")
    if (case.mapped("workload").get("metadata") or {}).get("deletionTimestamp"):
        return {}  # It is being deleted, and a finalizer that is not Kueue's keeps it.
    if given.keys() - {"afterFinished", "afterDeactivatedByKueue"}:
        raise ValueError(f"not read of workloadRetention: {sorted(given)}")
    return {"objectRetentionPolicies": {"workloads": given}} if given else {}


def _is_let_go(value: Given) -> bool:
    """Whether it is being deleted and only Kueue's finalizer keeps it."""
    metadata = value.get("metadata") or {}
    others = set(metadata.get("finalizers") or ()) - {IN_USE}
    return bool(metadata.get("deletionTimestamp")) and not (
        others or metadata.get("ownerReferences")
    )


def _terminate(installed: Installed, case: Case) -> None:
    if case.given("shouldDeleteCQ"):
        name = case.inputs["cq"]["metadata"]["name"]
        installed.record(f"clusterqueue/{name}", ClusterQueueDeletionRequested())
    if case.given("shouldDeleteLQ"):
        metadata = case.inputs["lq"]["metadata"]
        namespace = metadata.get("namespace") or NAMESPACE
        stream = f"localqueue/{namespace}/{metadata['name']}"
        installed.record(stream, LocalQueueDeletionRequested())


def _let_happen(installed: Installed) -> list[WorkloadEvicted]:
    """Everything that is due now; the evictions among it.

    That pods have stopped, and quota is released, is said by another controller than these cases
    are about: they end before it, also where there are no pods yet.
    """
    found: list[WorkloadEvicted] = []
    cluster_state = installed.cluster_state
    for _ in range(MAX_STEPS):
        workload = _workload(installed)
        if workload is None:
            break
        retention = cluster_state.config.configuration.retention
        expired = expired_deletion(workload, retention.after_finished_seconds, installed.at)
        due = due_events(cluster_state.config, workload, installed.at, "now")
        events = due if expired is None else (expired,)
        for event in events:
            if not isinstance(event, WorkloadStopped):
                installed.record(f"workload/{workload.key}", event)
        found += [event for event in events if isinstance(event, WorkloadEvicted)]
        if not events:
            break
    return found


def _workload(installed: Installed) -> Workload | None:
    return next(iter(installed.cluster_state.workloads.values()), None)


def _new_eviction(case: Case, conditions: dict[str, Given]) -> str:
    """The reason of an eviction that was not there before; Kueue adds to some why it was."""
    status = case.mapped("workload").get("status") or {}
    before = {c["type"]: c for c in status.get("conditions") or ()}
    evicted = conditions.get("Evicted") or {}
    if _is(conditions, "DeactivationTarget") and not _is(before, "DeactivationTarget"):
        return "Deactivated"
    if evicted.get("status") != "True" or _is(before, "Evicted"):
        return ""
    reason = str(evicted["reason"])
    return "Deactivated" if reason.startswith("Deactivated") else reason


def _evicted_without_place(case: Case, workload: Workload | None) -> str:
    """The eviction that a deactivation is for one that held nothing; empty if it was before."""
    status = case.mapped("workload").get("status") or {}
    before = {c["type"]: c for c in status.get("conditions") or ()}
    was_inactive = (before.get("Requeued") or {}).get("reason", "").startswith("Deactivated")
    if workload is None or workload.admission or was_inactive or _is(before, "Evicted"):
        return ""
    evicted = condition(workload, "Evicted")
    is_it = evicted is not None and evicted.status and evicted.reason.startswith("Deactivated")
    return "Deactivated" if is_it else ""


def _has_quota(status: Given, conditions: dict[str, Given]) -> bool:
    """By its condition; where a case has an admission without one, as in `_completed`."""
    return _is(conditions, "QuotaReserved") or (
        bool(status.get("admission")) and "QuotaReserved" not in conditions
    )


def _is_active(wanted: Given, conditions: dict[str, Given]) -> bool:
    """Kueue first marks what it is about to deactivate; here that is one step."""
    active: bool = (wanted.get("spec") or {}).get("active", True)
    return active and not _is(conditions, "DeactivationTarget")


def _is(conditions: dict[str, Given], kind: str) -> bool:
    return (conditions.get(kind) or {}).get("status") == "True"


def _needs_no_owner(case: Case, gate: str) -> bool:
    """Nothing finishes a workload for want of an owner, as where the gate is off.

    A pending workload has its reason from the start, as where statuses are explicit.
    """
    return gate in {"FinishOrphanedWorkloads=false", "UnadmittedWorkloadsExplicitStatus=true"}


NOT_COMPARED = {
    "want.wantDRAResourceTotal": "devices that are claimed are no resource of Headgate's",
    "want.wantError": "what the Kubernetes API answers",
    "want.wantErrorMsg": "what the Kubernetes API answers",
    "want.wantEvents": "the workload itself tells that it was evicted or deactivated, and why",
    "want.wantResult": "when Kueue looks again; here that is when the next step is due",
    "want.wantWorkloadUseMergePatch": "another way of writing to the Kubernetes API",
    "want.wantWorkloadsInQueue": "compared where the workload itself is not",
}
LIVES = Family(reconcile, _needs_no_owner, NOT_COMPARED)

FAMILIES = {
    "TestReconcile": LIVES,
    "TestReconcileEviction": LIVES,
    "TestReconcileRequeue": LIVES,
    "TestReconcileInadmissible": Family(inadmissible, _needs_no_owner, NOT_COMPARED),
    "TestAdmittedNotReadyWorkload": Family(not_ready),
    "TestLocalQueueReconcile": Family(
        local_queue,
        unread={
            "shared.pendingWlKey": "the workload of a penalty",
            "want.wantConsumedResources": "what the cache has; compared is what the status shows",
            "want.wantError": "what the Kubernetes API answers",
            "want.wantRequeueAfter": "when Kueue looks again; here usage is computed when asked",
            "inputs.pendingEntryPenalty": "it takes effect when the workload is admitted",
        },
    ),
    "TestReconcileSyncAdmissionChecks": Family(checks_follow),
}
