"""The status that a Workload has in Kueue, read so that the workload can be taken over with it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from headgate.adapters.manifests.fields import Fields, read_instant
from headgate.adapters.manifests.selectors import read_tolerations
from headgate.adapters.manifests.topology_requests import TopologyAssignmentSchema, in_domains
from headgate.domain.field_rules import shown
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.commands import ImportedCheck, ImportedStatus
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate

CARRIED = ("QuotaReserved", "Admitted", "PodsReady", "Evicted", "Finished", "Requeued")
"""Conditions of which the meaning is taken over, or follows from what is."""
CHECK_STATES = ("Pending", "Ready", "Retry", "Rejected")


def read_imported_status(root: Fields) -> ImportedStatus:
    """How the workload of a manifest stands in Kueue; what is not taken over is warned about.

    A workload that has finished, and one that is being evicted, is noted as a problem: the first
    has nothing to take over, and the pods of the second are about to stop.
    """
    metadata, status = root.child_or_empty("metadata"), root.child_or_empty("status")
    conditions = {each.text("type"): each for each in status.children("conditions")}
    holds = {name for name, each in conditions.items() if each.text("status") == "True"}
    given = status.child("admission")
    if "Finished" in holds:
        status.note("conditions", "ImportedFinished")
    elif given is not None and "Evicted" in holds:
        status.note("conditions", "ImportedEvicting", reason=conditions["Evicted"].text("reason"))
    for name in sorted(holds.difference(CARRIED)):
        status.warn("conditions", "ImportedConditionIgnored", condition=shown(name))
    requeue = status.child_or_empty("requeueState")
    admitted = given is not None and "Admitted" in holds
    created_at = read_instant(metadata, "creationTimestamp") or 0
    read = ImportedStatus(
        uid=metadata.text("uid"),
        created_at=created_at,
        admission=_admission(given) if given is not None else None,
        checks=tuple(_checks(status)) if given is not None else (),
        admitted_at=_transition(conditions["Admitted"], created_at) if admitted else None,
        # Without waitForPodsReady Kueue has no such condition, and does not wait for pods.
        is_ready=admitted and ("PodsReady" in holds or "PodsReady" not in conditions),
        reclaimable={
            each.text("name"): each.integer("count", 0)
            for each in status.children("reclaimablePods")
        },
        executed_seconds=status.integer("accumulatedPastExecutionTimeSeconds", 0)
        or status.integer("accumulatedPastExexcutionTimeSeconds", 0),
        requeues=requeue.integer("count", 0),
        requeue_at=read_instant(requeue, "requeueAt") if requeue.has("requeueAt") else None,
    )
    if not metadata.has("uid") or not metadata.has("creationTimestamp"):
        metadata.note("", "ImportedFromNowhere")
    if given is None:
        status.ignore("admissionChecks")
    status.ignore("resourceRequests")
    status.pass_over(
        "clusterName",
        "nominatedClusterNames",
        "schedulingStats",
        "unhealthyNodes",
        "preemptionGates",
    )
    status.reject_unknown()
    return read


def _admission(fields: Fields) -> Admission:
    given = Admission(
        cluster_queue=fields.required_text("clusterQueue"),
        pod_set_assignments=tuple(_assigned(each) for each in fields.children("podSetAssignments")),
    )
    fields.reject_unknown()
    return given


def _assigned(fields: Fields) -> PodSetAssignment:
    read = PodSetAssignment(
        name=fields.text("name", "main"),
        flavors=fields.text_map("flavors"),
        resource_usage=fields.amounts("resourceUsage"),
        count=fields.integer("count", 0),
        topology_assignment=_topology_assignment(fields),
        delayed_topology_request=fields.choice(
            "delayedTopologyRequest", ("Pending", "Ready"), None
        ),
    )
    fields.reject_unknown()
    return read


def _topology_assignment(fields: Fields) -> TopologyAssignment | None:
    """The assignment; where hosts are the lowest level, they alone name the domains."""
    value = fields.raw("topologyAssignment")
    if value is None:
        return None
    try:
        written = msgspec.convert(value, TopologyAssignmentSchema)
        found: dict[str, Any] = value if written.slices is None else in_domains(value)
        levels = tuple(written.levels)
        domains = tuple(
            TopologyDomain(values=tuple(each["values"]), count=each["count"])
            for each in found.get("domains") or ()
        )
    except (msgspec.ValidationError, LookupError, TypeError) as problem:
        fields.note(
            "topologyAssignment", "ImportedAssignmentUnreadable", reason=shown(str(problem))
        )
        return None
    if levels[-1:] == (HOSTNAME_LABEL,):
        levels = (HOSTNAME_LABEL,)
        domains = tuple(TopologyDomain((each.values[-1],), each.count) for each in domains)
    return TopologyAssignment(levels=levels, domains=domains)


def _checks(status: Fields) -> Iterator[ImportedCheck]:
    for each in status.children("admissionChecks"):
        each.ignore("lastTransitionTime", "requeueAfterSeconds", "retryCount")
        yield ImportedCheck(
            name=each.required_text("name"),
            state=each.choice("state", CHECK_STATES, "Pending"),
            message=each.text("message"),
            pod_set_updates=tuple(_update(update) for update in each.children("podSetUpdates")),
        )
        each.reject_unknown()


def _update(fields: Fields) -> PodSetUpdate:
    read = PodSetUpdate(
        name=fields.required_text("name"),
        labels=fields.text_map("labels"),
        annotations=fields.text_map("annotations"),
        node_selector=fields.text_map("nodeSelector"),
        tolerations=read_tolerations(fields),
    )
    fields.reject_unknown()
    return read


def _transition(condition: Fields, otherwise: Instant) -> Instant:
    return read_instant(condition, "lastTransitionTime") or otherwise
