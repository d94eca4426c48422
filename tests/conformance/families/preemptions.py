"""Whom a workload makes leave, and why (`pkg/scheduler/preemption`)."""

from collections.abc import Iterator
from typing import Any

from headgate.domain.scheduling.ordering.order import queued_at
from headgate.domain.scheduling.preemption.candidates import Claim, candidates
from tests.conformance.cases import Case
from tests.conformance.comparing import differences
from tests.conformance.families.cycles import one_cycle, preempted_in
from tests.conformance.families.family import Family
from tests.conformance.installed import Installed, key_of, read

DOOR = "in"
MOST_IMPORTANT = 1_000_000_000


def victims(case: Case) -> Iterator[str]:
    """A cycle with the incoming workload as the only one that waits."""
    installed = Installed()
    installed.add("ResourceFlavor", *(case.given("flavors") or case.shared["flavors"]))
    installed.add("Cohort", *(case.given("cohorts") or ()))
    flavors = _assigned_flavors(case)
    for queue in case.inputs["clusterQueues"]:
        is_target = queue["metadata"]["name"] == case.inputs["targetCQ"]
        installed.add("ClusterQueue", _only(queue, flavors) if is_target and flavors else queue)
    local = {"metadata": {"name": DOOR}, "spec": {"clusterQueue": case.inputs["targetCQ"]}}
    installed.add("LocalQueue", local)
    installed.add("Workload", *(case.given("admitted") or ()), _queued(case.inputs["incoming"]))
    with one_cycle(installed) as cell:
        yield from differences("preempted", _wanted(case), preempted_in(cell))


def policy_is_met(case: Case) -> Iterator[str]:
    """Whether one workload may be preempted for another under a policy."""
    installed = Installed()
    queue = {"metadata": {"name": "cq"}, "spec": {"namespaceSelector": {}}}
    installed.add("Workload", case.inputs["preemptor"], case.inputs["candidate"])
    spec = read("ClusterQueue", queue).spec
    preemptor, candidate = installed.cell.workloads.values()
    claim = Claim(
        preemptor,
        case.inputs["policy"],
        lambda workload: queued_at(workload, spec),
        lambda _: True,
    )
    found = candidates(claim, [candidate]).ordered if case.inputs["policy"] != "Never" else ()
    yield from differences("may be preempted", case.want["want"], bool(found))


def order_of_candidates(case: Case) -> Iterator[str]:
    """Who is asked to leave first, by someone more important than all of them."""
    installed = Installed()
    queue = {"metadata": {"name": "preemptor"}, "spec": {"namespaceSelector": {}}}
    installed.add("Workload", *(found["obj"] for found in case.inputs["candidates"]))
    holding = list(installed.cell.workloads.values())
    pod_sets = [{"name": "main", "count": 1}]
    spec = {"podSets": pod_sets, "priority": MOST_IMPORTANT}
    installed.add("Workload", {"metadata": {"name": "preemptor"}, "spec": spec})
    settings = read("ClusterQueue", queue).spec
    claim = Claim(
        installed.cell.workloads[key_of("/preemptor")],
        "LowerPriority",
        lambda workload: queued_at(workload, settings),
        lambda _: True,
    )
    found = [workload.name for workload in candidates(claim, holding).ordered]
    yield from differences("order", case.want["wantCandidates"], found)


def _assigned_flavors(case: Case) -> set[str]:
    """The flavors that the case has chosen already."""
    pod_sets = (case.given("assignment") or {}).get("podSets") or ()
    return {given["name"] for p in pod_sets for given in (p.get("flavors") or {}).values()}


def _only(queue: dict[str, Any], flavors: set[str]) -> dict[str, Any]:
    """The ClusterQueue with no other flavors to choose from, in groups that have one of these."""
    groups = []
    for group in queue["spec"].get("resourceGroups") or ():
        kept = [flavor for flavor in group["flavors"] if flavor["name"] in flavors]
        groups.append({**group, "flavors": kept or group["flavors"]})
    return {**queue, "spec": {**queue["spec"], "resourceGroups": groups}}


def _wanted(case: Case) -> dict[str, str]:
    if "preempted" in case.derived:
        return {key_of(key): reason for key, reason in case.derived["preempted"].items()}
    wanted = case.want["wantPreempted"]
    pairs = [text.rpartition(":") for text in wanted] if isinstance(wanted, list) else []
    return {key_of(key): reason for key, _, reason in pairs}


def _queued(value: dict[str, Any]) -> dict[str, Any]:
    return {**value, "spec": {**value["spec"], "queueName": DOOR}}


FAMILIES = {
    "TestPreemption": Family(victims),
    "TestHierarchicalPreemptions": Family(victims),
    "TestCandidatesOrdering": Family(order_of_candidates),
    "TestFairPreemptions": Family(victims),
}
POLICY_FAMILIES = {"TestSatisfiesPreemptionPolicy": Family(policy_is_met)}
