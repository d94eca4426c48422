"""What a workload's status says that in Headgate is reported: ended pods, and words of checks."""

from collections.abc import Iterator
from typing import Any

from headgate.adapters.manifests.fields import Fields, Problems
from headgate.adapters.manifests.selectors import read_tolerations
from headgate.domain.rejection import Rejection
from headgate.domain.workloads.commands import ReportCheckState, ReportReclaimable
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate
from headgate.domain.workloads.state import Workload
from tests.conformance.instants import NOW

Given = dict[str, Any]
_RESERVED = {"type": "QuotaReserved", "status": "True"}


def with_reservation(value: Given) -> Given:
    """The workload with quota, where checks say something: before that they are not asked."""
    status = value.get("status") or {}
    checks = named_checks(status)
    if not checks or status.get("admission"):
        return value
    names = [{"name": pod_set["name"]} for pod_set in value["spec"]["podSets"]]
    admission = {"clusterQueue": "cluster-queue", "podSetAssignments": names}
    reserved = {"admission": admission, "conditions": [_RESERVED], "admissionChecks": checks}
    return {**value, "status": {**status, **reserved}}


def named_checks(status: Given) -> list[Given]:
    """The check states, each with a name."""
    found = status.get("admissionChecks") or []
    return [{"name": f"check-{index}", **check} for index, check in enumerate(found)]


def updates_in(check: Given) -> tuple[PodSetUpdate, ...]:
    """What a check adds to pods."""
    return tuple(
        PodSetUpdate(
            name=update["name"],
            labels=update.get("labels") or {},
            annotations=update.get("annotations") or {},
            node_selector=update.get("nodeSelector") or {},
            tolerations=read_tolerations(Fields(update, "", _nowhere())),
        )
        for update in check.get("podSetUpdates") or ()
    )


def broken_by_reports(workload: Workload, status: Given) -> Iterator[str]:
    """The pointers into the status of what is refused when it is reported."""
    told = {found["name"]: found["count"] for found in status.get("reclaimablePods") or ()}
    pods = {**dict.fromkeys(workload.reclaimable, 0), **told}
    for name, count in pods.items():
        command = ReportReclaimable(uid=workload.uid, pods={name: count})
        yield from (
            _moved(p, "/pods", "/status/reclaimablePods") for p in _broken(workload, command)
        )
    for index, check in enumerate(named_checks(status)):
        if check.get("podSetUpdates"):
            said = ReportCheckState(
                uid=workload.uid,
                check=check["name"],
                state=check.get("state", "Pending"),
                message=check.get("message", ""),
                pod_set_updates=updates_in(check),
            )
            for pointer in _broken(workload, said):
                yield _moved(pointer, "", f"/status/admissionChecks/{index}")


def _broken(workload: Workload, command: ReportReclaimable | ReportCheckState) -> list[str]:
    try:
        WORKLOAD.decide(workload, command, NOW)
    except Rejection as refusal:
        return [violation.pointer for violation in refusal.violations]
    return []


def _moved(pointer: str, source: str, target: str) -> str:
    return target + pointer[len(source) :]


def _nowhere() -> Problems:
    return Problems()
