"""The preemption targets of a workload and their reasons (`pkg/scheduler/preemption`)."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configuration import DEFAULT_FAIR_STRATEGIES
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.scheduling.ordering.entry_order import queued_at
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.preemption.candidates import (
    candidate_order,
    in_candidate_order,
    protection_rule,
)
from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.fair_sharing import FairSharingOrder
from headgate.domain.scheduling.preemption.request import Candidate, PreemptionRequest
from headgate.domain.scheduling.preemption.victim_plan import SearchRules, plan_victims
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.values.quantities import FlavorResource, scaled
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.eviction import preemption_message, preemptor_reference
from headgate.messages.catalogue import text_of
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.installed import Installed, key_of, read, without_status

DOOR = "in"
BOOSTS = "PriorityBoost=true"
ONLY_FLAVOR = "default"
"""What the cases of fair sharing have chosen, where they do not say `assignmentFlavor`."""


def victims(case: Case) -> Iterator[str]:
    """The preemption targets of the incoming workload in the flavors that the case has chosen."""
    return _victims(case, SearchRules())


def victims_by_shares(case: Case) -> Iterator[str]:
    """The same under fair sharing."""
    strategies = case.listed("strategies") or DEFAULT_FAIR_STRATEGIES
    return _victims(case, SearchRules(tuple(strategies)))


def _victims(case: Case, rules: SearchRules) -> Iterator[str]:
    installed = _installed(case)
    shared = case.shared.get("flavors") or ()
    installed.add("ResourceFlavor", *(case.listed("flavors") or shared))
    installed.add("Cohort", *case.listed("cohorts"))
    installed.add("ClusterQueue", *case.listed("clusterQueues"))
    target = case.text("targetCQ")
    local = {"metadata": {"name": DOOR}, "spec": {"clusterQueue": target}}
    installed.add("LocalQueue", local)
    installed.add("Workload", *case.listed("admitted"))
    incoming = without_status(case.inputs["incoming"])
    installed.add("Workload", incoming)
    cluster_state, partition = installed.cluster_state, installed.partition_of(target)
    spec = cluster_state.config.cluster_queues[target].spec
    metadata = incoming["metadata"]
    preemptor = cluster_state.workloads[
        key_of(f"{metadata.get('namespace', '')}/{metadata['name']}")
    ]
    amounts, contested = _chosen(case, preemptor, spec)
    request = PreemptionRequest(
        preemptor,
        f"clusterqueue/{target}",
        spec.preemption,
        lambda other: queued_at(other, spec),
        amounts,
        contested,
    )
    plan = plan_victims(_quota_view(partition, cluster_state.workloads), request, rules)
    found = {victim.workload.key: victim.reason for victim in plan.victims}
    leaving = {
        key for key, workload in cluster_state.workloads.items() if workload.eviction is not None
    }
    wanted = {key: reason for key, reason in _wanted(case).items() if key not in leaving}
    yield from differences("preempted", wanted, found)


def _chosen(
    case: Case, preemptor: Workload, spec: ClusterQueueSpec
) -> tuple[FlavorResourceQuantities, tuple[FlavorResource, ...]]:
    """What the incoming workload asks for by flavor, and in which of it others stand in the way."""
    covered = {name for group in spec.resource_groups for name in group.covered_resources}
    only = {"name": case.text("assignmentFlavor") or ONLY_FLAVOR, "mode": "Preempt"}
    assigned = case.mapped("assignment").get("podSets") or [{"flavors": {"cpu": only}}]
    amounts: FlavorResourceQuantities = {}
    contested: dict[FlavorResource, None] = {}
    for pod_set, given in zip(preemptor.spec.pod_sets, assigned, strict=True):
        requests = scaled(pod_set.scheduling.requests, pod_set.count)
        if "pods" in covered:
            requests["pods"] = pod_set.count
        for resource, flavor in (given.get("flavors") or {}).items():
            key = (flavor["name"], resource)
            amounts[key] = amounts.get(key, 0) + requests.get(resource, 0)
            if flavor["mode"] == "Preempt":
                contested[key] = None
    return amounts, tuple(contested)


def policy_is_met(case: Case) -> Iterator[str]:
    """Whether one workload may be preempted for another under a policy."""
    installed = _installed(case)
    for field in ("preemptor", "candidate"):
        value = case.mapped(field)
        metadata = {"name": field, **(value.get("metadata") or {})}
        pod_sets = {"podSets": [{"name": "main", "count": 1}]}
        spec = {**pod_sets, **(value.get("spec") or {})}
        installed.add("Workload", {**value, "metadata": metadata, "spec": spec})
    preemptor, candidate = installed.cluster_state.workloads.values()
    policy: Any = case.text("policy") or "Never"
    rule = protection_rule(_request_of(preemptor), policy, candidate)
    yield from differences("may be preempted", case.want["want"], policy != "Never" and not rule)


def order_of_candidates(case: Case) -> Iterator[str]:
    """The order of the preemption candidates."""
    installed = _installed(case)
    given = case.listed("candidates")
    installed.add("Workload", *(found["obj"] for found in given))
    candidates = [_candidate(workload) for workload in installed.cluster_state.workloads.values()]
    spec = {"podSets": [{"name": "main", "count": 1}]}
    installed.add("Workload", {"metadata": {"name": DOOR}, "spec": spec})
    request = _request_of(installed.cluster_state.workloads[key_of(f"/{DOOR}")])
    present = [found for found in candidates if found.workload.eviction is None]
    usage = {
        found["obj"]["metadata"]["name"]: Fraction(found.get("localQueueFSUsage", 0))
        for found in given
    }
    request = replace(request, local_queue_usage=lambda found: (False, usage[found.workload.name]))
    found = [each.workload.name for each in in_candidate_order(request, present, lambda each: each)]
    leaving = {c.workload.name for c in candidates} - set(found)
    wanted = [
        name
        for key in case.want["wantCandidates"] or ()
        if (name := key.rpartition("/")[2]) not in leaving
    ]
    yield from differences("order", wanted, found)


def order_of_queues(case: Case) -> Iterator[str]:
    """Which ClusterQueue yields at every turn of the tournament."""
    installed = _installed(case)
    installed.add_setup(case.setup())
    installed.add("Cohort", *case.listed("cohorts"))
    installed.add("ClusterQueue", *case.listed("clusterQueues"))
    installed.add("Workload", *case.listed("admitted"))
    name = case.text("preemptorCQ")
    partition = installed.partition_of(name)
    view = _quota_view(partition, installed.cluster_state.workloads)
    spec = {"podSets": [{"name": "main", "count": 1}]}
    installed.add("Workload", {"metadata": {"name": DOOR}, "spec": spec})
    request = _request_of(
        installed.cluster_state.workloads[key_of(f"/{DOOR}")], f"clusterqueue/{name}"
    )
    candidates = [
        found
        for queue in case.listed("candidateCQs")
        for found in view.candidates_of(f"clusterqueue/{queue}")
    ]
    contest = FairSharingOrder(
        view, request, sorted(candidates, key=lambda c: candidate_order(request, c))
    )
    found, actions = [], case.listed("actions")
    while (node := contest.next_node()) is not None:
        found.append(node.removeprefix("clusterqueue/"))
        if actions and actions.pop(0) == "drop":
            contest.drop(node)
        else:
            view.remove(contest.pop(node))
    yield from differences("order", case.want["wantOrder"] or [], found)


def message(case: Case) -> Iterator[str]:
    """What the conditions of a victim say about its preemptor."""
    installed = Installed()
    metadata = {"name": "preemptor", **(case.mapped("preemptor").get("metadata") or {})}
    spec = {"podSets": [{"name": "main", "count": 1}]}
    installed.add("Workload", {"metadata": metadata, "spec": spec})
    (preemptor,) = installed.cluster_state.workloads.values()
    found = preemptor_reference(preemptor, case.text("preemptorPath"), case.text("preempteePath"))
    told = text_of(preemption_message(found, case.text("reason")))
    yield from differences("message", case.want["want"], told)


def _installed(case: Case) -> Installed:
    """An empty cell, in which boosts count where the case lets them."""
    return Installed(boosts_count=BOOSTS in case.gates)


def _quota_view(partition: Partition, workloads: Mapping[str, Workload]) -> CapacityView:
    usage = partition.usage[PROJECTED]
    return CapacityView(partition.tree, usage, partition=partition, workloads=workloads)


def _request_of(preemptor: Workload, node: str = "clusterqueue/preemptor") -> PreemptionRequest:
    queue = {"metadata": {"name": "cq"}, "spec": {"namespaceSelector": {}}}
    spec = read("ClusterQueue", queue).spec
    return PreemptionRequest(
        preemptor, node, ClusterQueuePreemption(), lambda other: queued_at(other, spec), {}, ()
    )


def _candidate(workload: Workload) -> Candidate:
    name = workload.admission.cluster_queue if workload.admission else ""
    return Candidate(workload, f"clusterqueue/{name}", {})


def _wanted(case: Case) -> dict[str, str]:
    if "preempted" in case.derived:
        return {key_of(key): reason for key, reason in case.derived["preempted"].items()}
    wanted = case.want["wantPreempted"]
    pairs = [text.rpartition(":") for text in wanted] if isinstance(wanted, list) else []
    return {key_of(key): reason for key, _, reason in pairs}


def _counts_boosts(case: Case, gate: str) -> bool:
    return gate == BOOSTS


VICTIMS = Family(
    victims,
    _counts_boosts,
    {
        "want.wantPreempted": "the number of those that are named and compared",
        "want.wantWorkloads": "the preempted stand apart from them with their reasons, compared",
    },
)
FAMILIES = {
    "TestPreemption": VICTIMS,
    "TestHierarchicalPreemptions": VICTIMS,
    "TestCandidatesOrdering": Family(order_of_candidates, _counts_boosts),
    "TestFairPreemptions": Family(victims_by_shares),
    "TestPreemptionMessage": Family(message),
}
FAIR_FAMILIES = {"TestMakeClusterQueueOrdering": Family(order_of_queues)}
POLICY_FAMILIES = {"TestSatisfiesPreemptionPolicy": Family(policy_is_met, _counts_boosts)}
