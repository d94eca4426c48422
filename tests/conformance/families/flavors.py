"""Which flavors pod sets get, and why not (`pkg/scheduler/flavorassigner`)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from headgate.domain.scheduling.evaluation.evaluate import evaluate, largest_fitting
from headgate.domain.scheduling.evaluation.evaluation_summary import explain_evaluation
from headgate.domain.scheduling.flavors.assignment import FlavorAssignment, assign_flavors
from headgate.domain.scheduling.flavors.eligibility import flavor_options, options_for_workload
from headgate.domain.scheduling.quota.usage import Oracle, QuotaView, add_usage, borrowing_level
from headgate.domain.scheduling.results import FlavorAttempt, Mode, QuotaResult
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.admission import needed_pod_sets
from headgate.domain.workloads.specs import ALLOWED_FLAVORS, ELASTIC, REPLACES, PodSet
from headgate.domain.workloads.state import Workload
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.families.quota_tree import amounts_of
from tests.conformance.installed import NAMESPACE, Installed, key_of, quantities_of, read

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

FORESEEN = {"preemptionPossiblity", "borrowingAfterSimulation"}
"""What it foresees of a flavor and a resource, spelled as in Kueue."""

KEEPS_ENDED_PODS = "ReclaimablePods=false"
QUEUE = "test-clusterqueue"
OTHER = "other-clusterqueue"
DELETED = "deleted-flavor"
"""The flavor that the body of TestDeletedFlavors takes away again."""

Given = dict[str, Any]


def assignment(case: Case) -> Iterator[str]:
    """The mode of a workload, and for what fits or may preempt the flavors and their modes."""
    installed = _installed(case)
    choice = _choice(case, installed, case.listed("wlPods"))
    yield from differences("mode", case.want["wantRepMode"], MODES[choice.mode])
    wanted = case.want["wantAssignment"] or {}
    if case.want["wantRepMode"] == "NoFit" or choice.mode == Mode.NO_FIT:
        return
    yield from differences("borrowing", wanted.get("borrowing", 0), choice.borrowing_level)
    counts = {given.pod_set.name: given.pod_set.count for given in choice.pod_sets}
    for pod_set in wanted.get("podSets") or ():
        name = pod_set["name"]
        yield from differences(f"{name}.count", pod_set.get("count", 0), counts.get(name, 0))
        yield from differences(
            name,
            {
                resource: (f["name"], f["mode"])
                for resource, f in (pod_set.get("flavors") or {}).items()
            },
            _given(choice, name),
        )


def assignment_of_one(case: Case) -> Iterator[str]:
    """The same for one pod set, by the flavor of each resource."""
    choice = _choice(case, _installed(case), [case.inputs["workloadRequests"]])
    yield from differences("mode", case.want["wantMode"], MODES[choice.mode])
    flavors = case.want["wantAssigment"] or {}
    if case.want["wantMode"] != "NoFit":
        (given,) = choice.pod_sets
        yield from differences("flavors", flavors, given.flavors)


def assignment_of_allowed(case: Case) -> Iterator[str]:
    """The flavor of a pod that is too large for the smallest one, if it allows only some."""
    installed = _installed(case)
    queue = case.shared["cq"]["metadata"]["name"]
    container = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    pod_set = {"name": "main", "template": {"spec": {"containers": [container]}}}
    metadata = {"name": "wl", "annotations": _allowed(case)}
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


def _allowed(case: Case) -> dict[str, str]:
    """The annotation that names the flavors that are allowed; none where all are."""
    names = case.listed("allowedFlavors")
    return {ALLOWED_FLAVORS: ",".join(names)} if names else {}


def flavors_of_groups(case: Case) -> Iterator[str]:
    """The flavors of each pod set of a group, or that there are none."""
    choice = _choice(case, _installed(case), case.listed("wlPods"))
    refused = bool(case.want["wantPodSetErrors"])
    found = case.want["wantPodSetFlavors"] or {}
    yield from differences("refused", refused, choice.mode == Mode.NO_FIT)
    if not refused:
        for name, flavors in found.items():
            wanted = {resource: (f["name"], f["mode"]) for resource, f in flavors.items()}
            yield from differences(name, wanted, _given(choice, name))


def why_not(case: Case) -> Iterator[str]:
    """The kind of reason for a workload, and for each flavor that was looked at."""
    installed = _installed(case)
    name = (case.given("cq") or case.shared["cq"])["metadata"]["name"]
    local = {"metadata": {"name": "lq"}, "spec": {"clusterQueue": name}}
    installed.add("LocalQueue", local)
    annotations = {**_allowed(case), **_replace(case, installed, name)}
    spec = {"podSets": [case.inputs["podSet"]], "queueName": "lq"}
    installed.add(
        "Workload", {"metadata": {"name": "wl", "annotations": annotations}, "spec": spec}
    )
    _use(installed, name, _without_replaced(case))
    for sibling, usage in case.mapped("siblingCQUsage").items():
        _use(installed, sibling, usage)
    workload = installed.cluster_state.workloads[key_of("/wl")]
    partition = installed.partition_of(name)
    evaluation = evaluate(partition, installed.cluster_state.workloads, workload)
    wanted, attempts = case.want["wantNoFitReason"], case.want["wantFlavorAttempts"] or {}
    fits = evaluation.mode == Mode.FIT or _would_fit_after_preemptions(case, installed, name)
    yield from differences("fits", not wanted, fits)
    if not wanted:
        return
    found = explain_evaluation(partition, installed.cluster_state.workloads, evaluation)
    yield from differences("reason", wanted, found.dominant)
    for flavor, reason in attempts.items():
        reasons = {b.reason for b in found.blockers if b.flavor == flavor}
        if reason and reason not in reasons:
            yield f"{flavor}: wanted {reason}, got {', '.join(sorted(reasons)) or 'nothing'}"


def _would_fit_after_preemptions(case: Case, installed: Installed, name: str) -> bool:
    """Whether the oracle of the case foresees so; no workload is there to preempt."""
    if not case.mapped("simulationResult"):
        return False
    workload = installed.cluster_state.workloads[key_of("/wl")]
    return _chosen(case, installed, name, workload).mode in {Mode.PREEMPT, Mode.RECLAIM}


def _replace(case: Case, installed: Installed, queue: str) -> dict[str, str]:
    """The slice that the workload replaces, with its quota; returns how that is named."""
    replaced = case.mapped("replaceWl")
    if not replaced:
        return {}
    totals = replaced.get("totalRequests") or []
    old = replaced.get("obj") or {}
    metadata = {"name": "replaced", **(old.get("metadata") or {})}
    namespace = metadata.get("namespace") or NAMESPACE
    given = [
        {
            "name": total["name"],
            "count": total.get("count", 1),
            "flavors": total.get("flavors") or {},
            "resourceUsage": quantities_of(total.get("requests") or {}),
        }
        for total in totals
    ]
    pod_sets = [{"name": one["name"], "count": one["count"]} for one in given]
    status = {
        "admission": {"clusterQueue": queue, "podSetAssignments": given},
        "conditions": [{"type": "QuotaReserved", "status": "True"}],
    }
    spec = {"podSets": pod_sets, "queueName": "lq"}
    installed.add("Workload", {"metadata": metadata, "spec": spec, "status": status})
    return {REPLACES: f"{namespace}/{metadata['name']}", ELASTIC: "true"}


def _without_replaced(case: Case) -> Given:
    """What the ClusterQueue uses beside the slice that is replaced, which holds its own."""
    usage = {flavor: dict(amounts) for flavor, amounts in case.mapped("cqUsage").items()}
    for total in case.mapped("replaceWl").get("totalRequests") or ():
        for resource, flavor in (total.get("flavors") or {}).items():
            known = usage.get(flavor, {}).get(resource, 0)
            held = (total.get("requests") or {}).get(resource, 0)
            usage.setdefault(flavor, {})[resource] = max(0, known - held)
    return usage


def largest_count(case: Case) -> Iterator[str]:
    """The greatest number of pods that a limit lets through."""
    limit = case.number("countLimit")
    value = {"metadata": {"name": "wl"}, "spec": {"podSets": case.listed("podSets")}}
    pod_sets: tuple[PodSet, ...] = read("Workload", value).spec.pod_sets if _shrinks(case) else ()
    found: int | None = _count(pod_sets) if pod_sets else None
    if _count(pod_sets) > limit:
        found = largest_fitting(pod_sets, _count, lambda count: count <= limit)
    count = case.want["wantCount"]
    yield from differences("found", case.want["wantFound"], found is not None)
    if case.want["wantFound"]:
        yield from differences("count", count, found)


def _shrinks(case: Case) -> bool:
    """Whether there is a pod set that may be smaller; else Kueue's search has nothing to find."""
    return any(
        pod_set.get("minCount", pod_set.get("count", 0)) < pod_set.get("count", 0)
        for pod_set in case.listed("podSets")
    )


def _count(pod_sets: tuple[PodSet, ...]) -> int:
    return sum(pod_set.count for pod_set in pod_sets)


def _installed(case: Case) -> Installed:
    installed = Installed()
    installed.add_setup([m for m in case.setup() if _name_of(m) != DELETED])
    shared_flavors, shared_queue = case.shared.get("resourceFlavors"), case.shared.get("cq")
    flavors = case.given("resourceFlavors") or shared_flavors or {}
    installed.add("ResourceFlavor", *(flavors.values() if isinstance(flavors, dict) else flavors))
    installed.add("Topology", *_listed(case, "topologies"))
    queue = case.given("cq") or case.given("clusterQueue") or shared_queue
    installed.add("ClusterQueue", queue, case.given("secondaryClusterQueue"))
    installed.add("ClusterQueue", *_listed(case, "siblingCQs"))
    return installed


def _choice(case: Case, installed: Installed, pod_sets: list[Given]) -> FlavorAssignment:
    """What the flavor family chooses, told by quota alone that preemption may be possible."""
    name = (case.given("clusterQueue") or {"metadata": {"name": QUEUE}})["metadata"]["name"]
    for usage in ("clusterQueueUsage", "testClusterQueueUsage"):
        _use(installed, name, case.given(usage))
    _use(installed, OTHER, case.given("otherClusterQueueUsage"))
    second = case.given("secondaryClusterQueue")
    if second:
        _use(installed, second["metadata"]["name"], case.given("secondaryClusterQueueUsage"))
    value = {"metadata": {"name": "wl"}, "spec": {"podSets": pod_sets}}
    installed.add("Workload", value)
    return _chosen(case, installed, name, installed.cluster_state.workloads[key_of("/wl")])


def _chosen(case: Case, installed: Installed, name: str, workload: Workload) -> FlavorAssignment:
    """The same for a workload that is there, in the ClusterQueue of this name."""
    partition = installed.partition_of(name)
    quota = QuotaView(partition.tree, *partition.usage)
    config = installed.cluster_state.config

    spec = config.cluster_queues[name].spec
    node = f"clusterqueue/{name}"

    simulated = case.mapped("simulationResult")

    def foreseen(key: FlavorResource, need: int) -> tuple[Mode, int]:
        known = simulated.get(key[0], {}).get(key[1])
        if known is None:
            level, _ = borrowing_level(partition.tree, partition.usage[0], node, key, need)
            return Mode.PREEMPT, level
        unknown = known.keys() - FORESEEN
        if unknown:
            raise ValueError(f"not read of the simulation: {', '.join(sorted(unknown))}")
        mode = POSSIBILITIES[known.get("preemptionPossiblity", "NoCandidates")]
        return mode, known.get("borrowingAfterSimulation", 0)

    shares = case.given("enableFairSharing") and spec.preemption.reclaim_within_cohort != "Never"
    borrows = spec.preemption.borrow_within_cohort.policy != "Never"
    oracle = Oracle(foreseen, while_borrowing=borrows or bool(shares))

    def ask(key: FlavorResource, need: int) -> QuotaResult:
        return quota.check(node, key, need, oracle)

    offer = replace(
        options_for_workload(flavor_options(config, spec, {}), workload),
        fixed_flavors=_pinned(case),
    )
    return assign_flavors(offer, needed_pod_sets(workload.spec.pod_sets, _reclaimable(case)), ask)


def _reclaimable(case: Case) -> dict[str, int]:
    """How many pods of each pod set have ended for good, unless a gate says not to count them."""
    listed = case.listed("wlReclaimablePods")
    if KEEPS_ENDED_PODS in case.gates:
        return {}
    return {found["name"]: found.get("count", 0) for found in listed}


def _name_of(made: Given) -> str:
    name: str = (made.get("object") or {}).get("metadata", {}).get("name") or made.get("name", "")
    return name


def _pinned(case: Case) -> dict[tuple[str, str], str]:
    """The flavors of the slice that the workload replaces."""
    replaced = case.mapped("preemptWorkloadSlice")
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


def _counts_ended_pods_or_not(case: Case, gate: str) -> bool:
    return gate == KEEPS_ENDED_PODS


def _allows_some(case: Case, gate: str) -> bool:
    """The annotation alone says which flavors are allowed."""
    return gate == "ConcurrentAdmission=true"


IN_THE_SETUP = {
    "inputs.testClusterQueueFlavors": "the ClusterQueue of the setup has them",
    "inputs.flavorFungibility": "the ClusterQueue of the setup has it",
}
FAMILIES = {
    "TestAssignFlavors": Family(assignment, _counts_ended_pods_or_not),
    "TestAssignFlavorsWithAllowedFlavors": Family(assignment_of_allowed, _allows_some),
    "TestDeletedFlavors": Family(assignment, _counts_ended_pods_or_not),
    "TestHierarchical": Family(assignment_of_one, unread=IN_THE_SETUP),
    "TestReclaimBeforePriorityPreemption": Family(assignment_of_one, unread=IN_THE_SETUP),
    "TestAssignFlavors_LeaderWorkerSetTASFlavor": Family(flavors_of_groups),
    "TestIsNoFitDueToCapacityAndLimits": Family(why_not, _allows_some),
    "TestSearch": Family(largest_count),
}
