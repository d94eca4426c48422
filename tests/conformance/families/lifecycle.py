"""What one workload asks for, and how it stands (`pkg/workload`)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from headgate.adapters.manifests.fields import Fields, Problems
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

KEEPS_ENDED_PODS = "ReclaimablePods=false"

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
    value = _named(case.mapped("workload"))
    totals = (case.want["wantInfo"] or {}).get("totalRequests") or []
    status = value.get("status") or {}
    if KEEPS_ENDED_PODS in case.gates:
        status = {name: part for name, part in status.items() if name != "reclaimablePods"}
    if status.get("admission"):
        yield from _amounts_taken({**value, "status": status}, totals)
        return
    ended = {pods["name"]: pods.get("count", 0) for pods in status.get("reclaimablePods") or ()}
    pod_sets = value["spec"].get("podSets") or []
    for wanted, pod_set in zip(totals, pod_sets, strict=True):
        place = wanted["name"]
        count = max(0, pod_set.get("count", 0) - ended.get(place, 0))
        yield from differences(place, wanted.get("count", 0), count)
        asked = scaled(quota_amounts(_requests_as_written(pod_set), rules), count)
        asked = {name: amount for name, amount in asked.items() if amount}
        amounts = {name: n for name, n in (wanted.get("requests") or {}).items() if n}
        yield from differences(place, amounts, asked)


def _requests_as_written(pod_set: Given) -> Requests:
    """What one pod asks for by its template, also where the product would refuse the workload."""
    return read_template(Fields(pod_set.get("template") or {}, "", Problems())).scheduling.requests


def _resource_rules(case: Case) -> ResourceRules:
    """The transformations and exclusions of the case, as the Configuration would have them."""
    resources: Given = {}
    for option in case.listed("infoOptions"):
        given = option.get("$option") or {}
        unknown = given.keys() - {"resourceTransformations", "excludedResourcePrefixes"}
        if unknown:
            raise ValueError(f"options that are not read: {', '.join(sorted(unknown))}")
        transformed = given.get("resourceTransformations") or {}
        listed = transformed.values() if isinstance(transformed, dict) else transformed
        resources.setdefault("transformations", []).extend(listed)
        excluded = given.get("excludedResourcePrefixes") or []
        resources.setdefault("excludeResourcePrefixes", []).extend(excluded)
    value = {"metadata": {"name": "default"}, "spec": {"resources": resources}}
    rules: ResourceRules = read("Configuration", value).spec.resources
    return rules


def order_timestamp(case: Case) -> Iterator[str]:
    """When a workload took its place in line, by the setting of its ClusterQueue."""
    workload = _alone(case.inputs["wl"])
    for setting, wanted in (case.want["want"] or {}).items():
        timestamp = json.loads(setting).get("podsReadyRequeuingTimestamp") or "Eviction"
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
    before, said = case.listed("origStates"), case.inputs["state"]
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
        state=said.get("state") or "Pending",
        message=said.get("message", ""),
        pod_set_updates=updates_in(said),
    )
    for event in WORKLOAD.decide(workload, report, installed.at):
        installed.record(f"workload/{workload.key}", event)
    (workload,) = installed.cluster_state.workloads.values()
    for wanted in case.want["wantStates"] or ():
        found = check_state_of(workload, wanted["name"])
        told = (found.state, found.message, found.pod_set_updates)
        state = wanted.get("state") or "Pending"
        expected = (state, wanted.get("message", ""), updates_in(wanted))
        yield from differences(wanted["name"], expected, told)


def admitted_condition(case: Case) -> Iterator[str]:
    """Whether a workload is admitted by its reservation and its checks."""
    checks = case.listed("checkStates")
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
        "conditions": case.listed("conditions"),
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
        found = condition(_alone(case.mapped("workload")), "Evicted")
        is_so = found is not None and found.status and found.reason.startswith(reason)
        yield from differences("evicted", case.want[want], is_so)

    return Family(drive, unread={"want.wantCondition": "the condition that the status has"})


def resources_after_defaults(case: Case) -> Iterator[str]:
    """The requests that count, where limits, overhead and the namespace's defaults stand in."""
    workload = _alone(case.inputs["wl"])
    config, bounds = _limited(workload.namespace, case.listed("limitranges"))
    for value in case.listed("runtimeClasses"):
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
    workload = _alone(case.mapped("workload"))
    _, bounds = _limited(workload.namespace, [case.inputs["limitRange"]])
    found = pod_limit_violations(workload.spec, bounds)
    yield from judged_pointers(case.want["wantError"], [violation.pointer for violation in found])


def valid_resources(case: Case) -> Iterator[str]:
    """Requests above limits are refused where they stand."""
    value = case.mapped("workloadInfo").get("obj") or case.mapped("workload")
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
    wanted = (case.want["want"].get("status") or {}).get("conditions") or ()
    found = {c.type: (c.status, c.reason) for c in workload.conditions}
    for condition_ in wanted:
        expected = (condition_["status"] == "True", condition_.get("reason", ""))
        given = found.get(condition_["type"])
        if given is None and not expected[0]:
            continue  # What was never so is no condition here, and in Kueue a false one.
        if given is not None and not given[0] and not expected[0]:
            continue  # Why something is no longer so is told by what came after it.
        yield from differences(condition_["type"], expected, given)


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


def _counts_ended_pods_or_not(case: Case, gate: str) -> bool:
    return gate == KEEPS_ENDED_PODS


FAMILIES = {
    "TestNewInfo": Family(
        total_requests,
        _counts_ended_pods_or_not,
        {"checked.info": "the whole of what is compared in its parts"},
    ),
    "TestGetQueueOrderTimestamp": Family(
        order_timestamp, unread={"checked.*gotTime": "the same instants as wanted"}
    ),
    "TestAdmissionChecksForWorkload": Family(
        checks_of_an_admission, unread={"inputs.wl": "read with the queue of the body beside it"}
    ),
    "TestFilterChecksForAdmission": Family(checks_by_flavor),
    "TestSyncAdmittedCondition": Family(
        admitted_condition,
        unread={
            "shared.testTime": "the clock of every test",
            "inputs.pastAdmittedTime": "the time that ran counts when its pods have stopped",
            "want.wantAdmittedTime": "the time that ran counts when its pods have stopped",
            "want.wantChange": "whether Kueue writes to the Kubernetes API",
        },
    ),
    "TestAdjustResources": Family(resources_after_defaults),
    "TestValidateResources": Family(valid_resources),
    "TestSetQuotaReservation": Family(reservation),
    "TestValidateLimitRange": Family(within_limits),
}
PATCHING_FAMILIES = {
    "TestSetCheckState": Family(
        check_states, unread={"checked.metav1.NewTime(now)": "times are not compared"}
    )
}
EVICTION_FAMILIES = {
    "TestIsEvictedByDeactivation": evicted_by("Deactivated", "want"),
    "TestIsEvictedByPodsReadyTimeout": evicted_by("PodsReadyTimeout", "wantEvictedByTimeout"),
}
