"""Which flavors pod sets get, and why not (`pkg/scheduler/flavorassigner`)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from headgate.domain.scheduling.evaluation.evaluate import evaluate
from headgate.domain.scheduling.evaluation.evaluation_summary import explain_evaluation
from headgate.domain.scheduling.evaluation.partial_admission import largest_fitting
from headgate.domain.scheduling.flavors.assignment import FlavorAssignment, assign_flavors
from headgate.domain.scheduling.flavors.eligibility import flavor_options, options_for_workload
from headgate.domain.scheduling.quota.usage import Oracle, QuotaView, add_usage, borrowing_level
from headgate.domain.scheduling.results import FlavorAttempt, Mode, QuotaResult
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.specs import ALLOWED_FLAVORS, PodSet
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.families.quota_tree import amounts_of
from tests.conformance.installed import Installed, read

MODES = {
    Mode.NO_FIT: "NoFit",
    Mode.NO_CANDIDATES: "Preempt",
    Mode.PREEMPT: "Preempt",
    Mode.RECLAIM: "Preempt",
    Mode.DEFERRED: "Preempt",
    Mode.FIT: "Fit",
}
POSSIBILITIES = {
    "NoCandidates": Mode.NO_CANDIDATES,
    "Preempt": Mode.PREEMPT,
    "Reclaim": Mode.RECLAIM,
}
"""What the oracle of a case foresees."""

QUEUE = "test-clusterqueue"
OTHER = "other-clusterqueue"
DELETED = "deleted-flavor"
"""The flavor that the body of TestDeletedFlavors takes away again."""

Given = dict[str, Any]


def assignment(case: Case) -> Iterator[str]:
    """The mode of a workload, and for what fits or may preempt the flavors and their modes."""
    installed = _installed(case)
    choice = _choice(case, installed, case.inputs["wlPods"])
    yield from differences("mode", case.want["wantRepMode"], MODES[choice.mode])
    wanted = case.want["wantAssignment"]
    if case.want["wantRepMode"] == "NoFit" or choice.mode == Mode.NO_FIT:
        return
    yield from differences("borrowing", wanted.get("borrowing", 0), choice.borrowing_level)
    for pod_set in wanted["podSets"]:
        yield from differences(
            pod_set["name"],
            {name: (f["name"], f["mode"]) for name, f in (pod_set.get("flavors") or {}).items()},
            _given(choice, pod_set["name"]),
        )


def assignment_of_one(case: Case) -> Iterator[str]:
    """The same for one pod set, by the flavor of each resource."""
    choice = _choice(case, _installed(case), [case.inputs["workloadRequests"]])
    yield from differences("mode", case.want["wantMode"], MODES[choice.mode])
    if case.want["wantMode"] != "NoFit":
        (given,) = choice.pod_sets
        yield from differences("flavors", case.want["wantAssigment"], given.flavors)


def assignment_of_allowed(case: Case) -> Iterator[str]:
    """The flavor of a pod that is too large for the smallest one, if it allows only some."""
    installed = _installed(case)
    queue = case.shared["cq"]["metadata"]["name"]
    container = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    pod_set = {"name": "main", "template": {"spec": {"containers": [container]}}}
    allowed = {ALLOWED_FLAVORS: ",".join(case.given("allowedFlavors") or ())}
    metadata = {"name": "wl", "annotations": allowed}
    installed.add("Workload", {"metadata": metadata, "spec": {"podSets": [pod_set]}})
    (workload,) = installed.cluster_state.workloads.values()
    partition = installed.partition_of(queue)
    quota = QuotaView(partition.tree, *partition.usage)
    offer = options_for_workload(partition.offers[queue], workload)
    nobody = Oracle(lambda *_: (Mode.NO_CANDIDATES, 0), while_borrowing=False)

    def ask(key: FlavorResource, need: int) -> QuotaResult:
        return quota.check(f"clusterqueue/{queue}", key, need, nobody)

    choice = assign_flavors(offer, workload.spec.pod_sets, ask)
    found = choice.pod_sets[0].flavors.get("cpu", "")
    yield from differences("mode", case.want["wantRepMode"], MODES[choice.mode])
    yield from differences("flavor", case.want["wantFlavor"], found)


def flavors_of_groups(case: Case) -> Iterator[str]:
    """The flavors of each pod set of a group, or that there are none."""
    choice = _choice(case, _installed(case), case.inputs["wlPods"])
    refused = bool(case.want["wantPodSetErrors"])
    yield from differences("refused", refused, choice.mode == Mode.NO_FIT)
    if not refused:
        for name, flavors in case.want["wantPodSetFlavors"].items():
            wanted = {resource: (f["name"], f["mode"]) for resource, f in flavors.items()}
            yield from differences(name, wanted, _given(choice, name))


def why_not(case: Case) -> Iterator[str]:
    """The kind of reason for a workload, and for each flavor that was looked at."""
    installed = _installed(case)
    name = (case.given("cq") or case.shared["cq"])["metadata"]["name"]
    local = {"metadata": {"name": "lq"}, "spec": {"clusterQueue": name}}
    installed.add("LocalQueue", local)
    spec = {"podSets": [case.inputs["podSet"]], "queueName": "lq"}
    installed.add("Workload", {"metadata": {"name": "wl"}, "spec": spec})
    _use(installed, name, case.given("cqUsage"))
    for sibling, usage in (case.given("siblingCQUsage") or {}).items():
        _use(installed, sibling, usage)
    (workload,) = installed.cluster_state.workloads.values()
    partition = installed.partition_of(name)
    evaluation = evaluate(partition, installed.cluster_state.workloads, workload)
    wanted = case.want["wantNoFitReason"]
    yield from differences("fits", not wanted, evaluation.mode == Mode.FIT)
    if not wanted:
        return
    found = explain_evaluation(partition, installed.cluster_state.workloads, evaluation)
    yield from differences("reason", wanted, found.dominant)
    for flavor, reason in (case.want["wantFlavorAttempts"] or {}).items():
        reasons = {b.reason for b in found.blockers if b.flavor == flavor}
        if reason not in reasons:
            yield f"{flavor}: wanted {reason}, got {', '.join(sorted(reasons)) or 'nothing'}"


def largest_count(case: Case) -> Iterator[str]:
    """The greatest number of pods that a limit lets through."""
    limit = case.inputs["countLimit"]
    value = {"metadata": {"name": "wl"}, "spec": {"podSets": case.inputs["podSets"]}}
    pod_sets: tuple[PodSet, ...] = read("Workload", value).spec.pod_sets
    found: int | None = _count(pod_sets)
    if _count(pod_sets) > limit:
        found = largest_fitting(pod_sets, _count, lambda count: count <= limit)
    yield from differences("found", case.want["wantFound"], found is not None)
    if case.want["wantFound"]:
        yield from differences("count", case.want["wantCount"], found)


def _count(pod_sets: tuple[PodSet, ...]) -> int:
    return sum(pod_set.count for pod_set in pod_sets)


def _installed(case: Case) -> Installed:
    installed = Installed()
    installed.add_setup([m for m in case.setup() if m["object"]["metadata"]["name"] != DELETED])
    flavors = case.given("resourceFlavors") or case.shared.get("resourceFlavors") or {}
    installed.add("ResourceFlavor", *flavors.values())
    installed.add("Topology", *_listed(case, "topologies"))
    queue = case.given("cq") or case.given("clusterQueue") or case.shared.get("cq")
    installed.add("ClusterQueue", queue, case.given("secondaryClusterQueue"))
    installed.add("ClusterQueue", *_listed(case, "siblingCQs"))
    return installed


def _choice(case: Case, installed: Installed, pod_sets: list[Given]) -> FlavorAssignment:
    """What the flavor family chooses, told by quota alone that preemption may be possible."""
    name = (case.given("clusterQueue") or {"metadata": {"name": QUEUE}})["metadata"]["name"]
    _use(installed, name, case.given("clusterQueueUsage") or case.given("testClusterQueueUsage"))
    _use(installed, OTHER, case.given("otherClusterQueueUsage"))
    second = case.given("secondaryClusterQueue")
    if second:
        _use(installed, second["metadata"]["name"], case.given("secondaryClusterQueueUsage"))
    partition = installed.partition_of(name)
    quota = QuotaView(partition.tree, *partition.usage)
    config = installed.cluster_state.config

    spec = config.cluster_queues[name].spec
    node = f"clusterqueue/{name}"

    def foreseen(key: FlavorResource, need: int) -> tuple[Mode, int]:
        known = (case.given("simulationResult") or {}).get(key[0], {}).get(key[1])
        if known is None:
            level, _ = borrowing_level(partition.tree, partition.usage[0], node, key, need)
            return Mode.PREEMPT, level
        mode = POSSIBILITIES[known.get("preemptionPossiblity", "NoCandidates")]
        return mode, known.get("borrowingAfterSimulation", 0)

    shares = case.given("enableFairSharing") and spec.preemption.reclaim_within_cohort != "Never"
    borrows = spec.preemption.borrow_within_cohort.policy != "Never"
    oracle = Oracle(foreseen, while_borrowing=borrows or bool(shares))

    def ask(key: FlavorResource, need: int) -> QuotaResult:
        return quota.check(node, key, need, oracle)

    value = {"metadata": {"name": "wl"}, "spec": {"podSets": pod_sets}}
    installed.add("Workload", value)
    (workload,) = installed.cluster_state.workloads.values()
    offer = replace(
        options_for_workload(flavor_options(config, spec, {}), workload),
        fixed_flavors=_pinned(case),
    )
    return assign_flavors(offer, workload.spec.pod_sets, ask)


def _pinned(case: Case) -> dict[tuple[str, str], str]:
    """The flavors of the slice that the workload replaces."""
    replaced = case.given("preemptWorkloadSlice") or {}
    return {
        (total["name"], resource): flavor
        for total in replaced.get("totalRequests") or ()
        for resource, flavor in (total.get("flavors") or {}).items()
    }


def _use(installed: Installed, name: str, usage: Given | None) -> None:
    """Amounts of a ClusterQueue that are in use, by whomever."""
    if usage:
        partition = installed.partition_of(name)
        for view in partition.usage:
            add_usage(partition.tree, view, f"clusterqueue/{name}", amounts_of(usage))


def _given(choice: FlavorAssignment, name: str) -> dict[str, tuple[str, str]]:
    """The flavor of each resource of a pod set, and how it fits there."""
    tries: dict[str, FlavorAttempt] = {
        t.flavor: t for t in choice.flavor_attempts if t.pod_set == name
    }
    return {
        resource: (flavor, MODES[tries[flavor].answers[resource].mode])
        for given in choice.pod_sets
        if given.pod_set.name == name
        for resource, flavor in given.flavors.items()
    }


def _listed(case: Case, name: str) -> list[Given]:
    found: list[Given] = case.given(name) or case.shared.get(name) or []
    return found


FAMILIES = {
    "TestAssignFlavors": Family(assignment),
    "TestAssignFlavorsWithAllowedFlavors": Family(
        assignment_of_allowed, lambda _, gate: gate == "ConcurrentAdmission=true"
    ),
    "TestDeletedFlavors": Family(assignment),
    "TestHierarchical": Family(assignment_of_one),
    "TestReclaimBeforePriorityPreemption": Family(assignment_of_one),
    "TestAssignFlavors_LeaderWorkerSetTASFlavor": Family(flavors_of_groups),
    "TestIsNoFitDueToCapacityAndLimits": Family(why_not),
    "TestSearch": Family(largest_count),
}
