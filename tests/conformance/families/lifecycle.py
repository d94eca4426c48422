"""What one workload asks for, and how it stands (`pkg/workload`)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.pod_templates import read_template
from headgate.domain.kinds.configuration import ResourceRules, quota_amounts
from headgate.domain.scheduling.lifecycle.admission_checks import required_checks
from headgate.domain.scheduling.lifecycle.transitions import due_events
from headgate.domain.scheduling.ordering.entry_order import queued_at
from headgate.domain.values.quantities import Requests, scaled
from headgate.domain.workloads.commands import ReportCheckState
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadQuotaReserved
from headgate.domain.workloads.pods.limit_ranges import (
    LimitRangeBounds,
    limit_range_bounds,
    pod_limit_violations,
    with_pod_defaults,
)
from headgate.domain.workloads.state import Workload, condition, is_condition_true
from headgate.domain.workloads.transitions.admission_checks import check_state_of
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.families.reports import updates_in, with_reservation
from tests.conformance.families.validation import judged, judged_pointers, problem_of_creation
from tests.conformance.installed import Installed, read
from tests.conformance.instants import instant_of
from tests.conformance.statuses import admission_of

Given = dict[str, Any]

CHECKED_QUEUE: Given = {
    "metadata": {"name": "cq"},
    "spec": {
        "namespaceSelector": {},
        "resourceGroups": [{"flavors": [{"name": "flavor1"}, {"name": "flavor2"}]}],
        "admissionChecksStrategy": {
            "admissionChecks": [
                {"name": "ac1", "onFlavors": ["flavor1"]},
                {"name": "ac2", "onFlavors": ["flavor2"]},
                {"name": "ac3", "onFlavors": ["flavor1", "flavor2"]},
                {"name": "ac4", "onFlavors": ["flavor1", "flavor2", "non-existent-flavor"]},
                {"name": "ac5", "onFlavors": ["non-existent-flavor"]},
                {"name": "ac6"},
            ]
        },
    },
}
"""What `TestAdmissionChecksForWorkload` makes in its body for all its cases (Kueue's
`pkg/workload/workload_test.go`); the recording keeps only what stands in the table.
"""


def total_requests(case: Case) -> Iterator[str]:
    """The amounts of all pods of each pod set, or what an admitted workload takes."""
    rules = _resource_rules(case)
    value = _named(case.inputs["workload"])
    totals = case.want["wantInfo"].get("totalRequests") or []
    if (value.get("status") or {}).get("admission"):
        yield from _amounts_taken(value, totals)
        return
    pod_sets = value["spec"].get("podSets") or []
    for wanted, pod_set in zip(totals, pod_sets, strict=True):
        place, count = wanted["name"], pod_set.get("count", 1)
        yield from differences(place, wanted.get("count", 0), count)
        asked = scaled(quota_amounts(_requests_as_written(pod_set), rules), count)
        yield from differences(place, wanted.get("requests") or {}, asked)


def _requests_as_written(pod_set: Given) -> Requests:
    """What one pod asks for by its template, also where the product would refuse the workload."""
    return read_template(Fields(pod_set.get("template") or {}, "", [])).scheduling.requests


def _resource_rules(case: Case) -> ResourceRules:
    """The transformations and exclusions of the case, as the Configuration would have them."""
    resources: Given = {}
    for option in case.given("infoOptions") or ():
        given = option["$option"]
        resources["transformations"] = list((given.get("resourceTransformations") or {}).values())
        resources["excludeResourcePrefixes"] = given.get("excludedResourcePrefixes") or []
    value = {"metadata": {"name": "default"}, "spec": {"resources": resources}}
    rules: ResourceRules = read("Configuration", value).spec.resources
    return rules


def order_timestamp(case: Case) -> Iterator[str]:
    """When a workload took its place in line, by the setting of its ClusterQueue."""
    workload = _alone(case.inputs["wl"])
    for setting, wanted in case.want["want"].items():
        timestamp = json.loads(setting)["podsReadyRequeuingTimestamp"]
        strategy = {"requeuingStrategy": {"timestamp": timestamp}}
        spec = {"waitForPodsReady": {"timeout": "5m", **strategy}}
        queue = read("ClusterQueue", {"metadata": {"name": "cq"}, "spec": spec}).spec
        yield from differences(timestamp, instant_of(wanted, 0), queued_at(workload, queue))


def checks_by_flavor(case: Case) -> Iterator[str]:
    """The checks of a ClusterQueue that apply to an admission."""
    installed = Installed()
    installed.add("ClusterQueue", case.inputs["cq"])
    installed.add("Workload", case.inputs["wl"])
    (workload,) = installed.cluster_state.workloads.values()
    config = installed.cluster_state.config
    found = required_checks(config, workload.admission) if workload.admission else ()
    yield from differences("checks", sorted(case.want["wantAdmissionChecks"] or ()), sorted(found))


def checks_of_an_admission(case: Case) -> Iterator[str]:
    """The checks that apply, of the ClusterQueue that the body of the test makes."""
    yield from checks_by_flavor(replace(case, inputs={"cq": CHECKED_QUEUE, **case.inputs}))


def check_states(case: Case) -> Iterator[str]:
    """What all checks have said, after one of them spoke."""
    before, said = case.inputs["origStates"], case.inputs["state"]
    named = {
        update["name"] for check in (*before, said) for update in check.get("podSetUpdates") or ()
    }
    pod_sets = [{"name": name, "count": 1, "template": {}} for name in sorted(named or {"main"})]
    installed = Installed()
    value = {"metadata": {"name": "wl"}, "spec": {"podSets": pod_sets}}
    value["status"] = {"admissionChecks": before}
    installed.add("Workload", with_reservation(value))
    (workload,) = installed.cluster_state.workloads.values()
    report = ReportCheckState(
        uid=workload.uid,
        check=said["name"],
        state=said["state"],
        message=said.get("message", ""),
        pod_set_updates=updates_in(said),
    )
    for event in WORKLOAD.decide(workload, report, installed.at):
        installed.record(f"workload/{workload.key}", event)
    (workload,) = installed.cluster_state.workloads.values()
    for wanted in case.want["wantStates"]:
        found = check_state_of(workload, wanted["name"])
        told = (found.state, found.message, found.pod_set_updates)
        expected = (wanted["state"], wanted.get("message", ""), updates_in(wanted))
        yield from differences(wanted["name"], expected, told)


def admitted_condition(case: Case) -> Iterator[str]:
    """Whether a workload is admitted by its reservation and its checks."""
    checks = case.given("checkStates") or []
    rules = [{"name": check["name"]} for check in checks]
    strategy = {"admissionChecksStrategy": {"admissionChecks": rules}} if rules else {}
    queue_spec = {"namespaceSelector": {}, **strategy}
    installed = Installed()
    installed.add("ClusterQueue", {"metadata": {"name": "cq"}, "spec": queue_spec})
    alone: Given = {"podSetAssignments": [{"name": "main", "count": 1}]}
    admission = {**(case.given("admission") or alone), "clusterQueue": "cq"}
    status = {
        "admission": admission,
        "admissionChecks": checks,
        "conditions": case.given("conditions") or [],
    }
    pod_sets = [{"name": "main", "count": 1, "template": {}}]
    spec = {"podSets": pod_sets, "queueName": "lq"}
    installed.add("LocalQueue", {"metadata": {"name": "lq"}, "spec": {"clusterQueue": "cq"}})
    installed.add("Workload", {"metadata": {"name": "wl"}, "spec": spec, "status": status})
    (workload,) = installed.cluster_state.workloads.values()
    for event in due_events(installed.cluster_state.config, workload, installed.at, "e"):
        installed.record(f"workload/{workload.key}", event)
    (workload,) = installed.cluster_state.workloads.values()
    wanted = {c["type"]: c["status"] == "True" for c in case.want["wantConditions"] or ()}
    yield from differences(
        "admitted", wanted.get("Admitted", False), is_condition_true(workload, "Admitted")
    )


def evicted_by(reason: str, want: str) -> Family:
    """Whether the present eviction is for that reason."""

    def drive(case: Case) -> Iterator[str]:
        found = condition(_alone(case.inputs["workload"]), "Evicted")
        is_so = found is not None and found.status and found.reason == reason
        yield from differences("evicted", case.want[want], is_so)

    return Family(drive)


def resources_after_defaults(case: Case) -> Iterator[str]:
    """The requests that count, where limits, overhead and the namespace's defaults stand in."""
    workload = _alone(case.inputs["wl"])
    config, bounds = _limited(workload.namespace, case.given("limitranges") or ())
    for value in case.given("runtimeClasses") or ():
        config.add("RuntimeClass", value)
    classes = config.cluster_state.config.runtime_classes
    before = with_pod_defaults(workload.spec, bounds, classes).pod_sets
    after = _alone(case.want["wantWl"]).spec.pod_sets
    for wanted, found in zip(after, before, strict=True):
        yield from differences(found.name, wanted.scheduling.requests, found.scheduling.requests)


def _limited(namespace: str, ranges: Iterable[Given]) -> tuple[Installed, LimitRangeBounds]:
    """An installation with these LimitRanges, and the bounds of a namespace in it."""
    installed = Installed()
    for value in ranges:
        metadata = {**value["metadata"], "namespace": namespace}
        installed.add("LimitRange", {**value, "metadata": metadata})
    return installed, limit_range_bounds(installed.cluster_state.config.limit_ranges, namespace)


def within_limits(case: Case) -> Iterator[str]:
    """Pods outside the LimitRange of their namespace are refused where they are."""
    workload = _alone(case.inputs["workload"])
    _, bounds = _limited(workload.namespace, [case.inputs["limitRange"]])
    found = pod_limit_violations(workload.spec, bounds)
    yield from judged_pointers(case.want["wantError"], [violation.pointer for violation in found])


def valid_resources(case: Case) -> Iterator[str]:
    """Requests above limits are refused where they stand."""
    value = (case.given("workloadInfo") or {}).get("obj") or case.inputs["workload"]
    yield from judged(case.want["wantError"], problem_of_creation("Workload", _named(value)))


def reservation(case: Case) -> Iterator[str]:
    """The conditions of a workload that has just got its quota."""
    given = case.inputs["args"]
    installed = Installed()
    installed.add("Workload", given["workload"])
    (workload,) = installed.cluster_state.workloads.values()
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    reserved = WorkloadQuotaReserved(admission=admission_of(given["admission"], counts))
    installed.record(f"workload/{workload.key}", reserved)
    (workload,) = installed.cluster_state.workloads.values()
    wanted = case.want["want"]["status"]["conditions"]
    found = {c.type: (c.status, c.reason) for c in workload.conditions}
    for condition_ in wanted:
        expected = (condition_["status"] == "True", condition_["reason"])
        yield from differences(condition_["type"], expected, found.get(condition_["type"]))


def _amounts_taken(value: Given, totals: list[Given]) -> Iterator[str]:
    installed = Installed()
    name = value["status"]["admission"].get("clusterQueue") or "cq"
    value = {**value, "status": {**value["status"], **_charged_to(name, value["status"])}}
    installed.add("ClusterQueue", {"metadata": {"name": name}, "spec": {"namespaceSelector": {}}})
    installed.add("Workload", value)
    (workload,) = installed.cluster_state.workloads.values()
    assert workload.admission is not None, "it was read from an admission"
    charge = installed.partition_of(name).charges.charge_of(workload, workload.admission)
    wanted: dict[tuple[str, str], int] = {}
    for total in totals:
        for resource, amount in (total.get("requests") or {}).items():
            key = ((total.get("flavors") or {}).get(resource, ""), resource)
            wanted[key] = wanted.get(key, 0) + amount
    wanted = {key: amount for key, amount in wanted.items() if amount}
    yield from differences("taken", wanted, charge.amounts)


def _charged_to(name: str, status: Given) -> Given:
    """The admission with the name of a ClusterQueue, and reserved also where no condition says."""
    reserved = {"type": "QuotaReserved", "status": "True"}
    return {
        "admission": {**status["admission"], "clusterQueue": name},
        "conditions": status.get("conditions") or [reserved],
    }


def _alone(value: Given) -> Workload:
    installed = Installed()
    installed.add("Workload", _named(value))
    (workload,) = installed.cluster_state.workloads.values()
    return workload


def _named(value: Given) -> Given:
    """Many of the fixtures have no name, as nothing is asked by it."""
    metadata = {"name": "wl", **(value.get("metadata") or {})}
    return {**value, "metadata": {**metadata, "name": metadata["name"] or "wl"}}


FAMILIES = {
    "TestNewInfo": Family(total_requests),
    "TestGetQueueOrderTimestamp": Family(order_timestamp),
    "TestAdmissionChecksForWorkload": Family(checks_of_an_admission),
    "TestFilterChecksForAdmission": Family(checks_by_flavor),
    "TestSyncAdmittedCondition": Family(admitted_condition),
    "TestAdjustResources": Family(resources_after_defaults),
    "TestValidateResources": Family(valid_resources),
    "TestSetQuotaReservation": Family(reservation),
    "TestValidateLimitRange": Family(within_limits),
}
PATCHING_FAMILIES = {"TestSetCheckState": Family(check_states)}
EVICTION_FAMILIES = {
    "TestIsEvictedByDeactivation": evicted_by("Deactivated", "want"),
    "TestIsEvictedByPodsReadyTimeout": evicted_by("PodsReadyTimeout", "wantEvictedByTimeout"),
}
