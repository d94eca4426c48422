"""Where pods are placed on hosts (`pkg/cache/scheduler/tas_*` and lines of random problems)."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.group_placement import PodSetPlacement
from headgate.domain.scheduling.placement.host_table import ACTUAL, PODS, leaf_id
from headgate.domain.scheduling.placement.place import PlacementFailure, place_pod_sets
from headgate.domain.scheduling.placement.placement_context import PlacementContext
from headgate.domain.scheduling.placement.replacement import RunningPods, place_scale_up
from headgate.domain.workloads.specs import PodSet
from tests.conformance.cases import Case, refuse_unknown
from tests.conformance.comparison import differences
from tests.conformance.installed import Installed, Unreadable, quantities_of, read
from tests.conformance.statuses import decoded, topology_assignment

FLAVOR = "tas"
QUEUE = "cq"
MAIN = "main"
"""The pod set of a case that leaves its name out."""

LINE_FIELDS = {"name", "count", "req", "tr", "group", "selector", "existing", "tol"}
TABLE_FIELDS = {
    *("podSetName", "count", "requests", "topologyRequest", "podSetGroupName", "nodeSelector"),
    *("tolerations", "nodeAffinity", "previousAssignment"),
}
"""What pod sets of lines and of the table have."""

Domains = list[tuple[tuple[str, ...], int]]
Given = dict[str, Any]


KUEUES_WORDS = {
    "Affinity": "affinity",
    "NodeSelector": "nodeSelector",
    "Resource": "resource",
    "Taint": "taint",
    "TopologyDomain": "topologyDomain",
}


def random_problem(case: Case) -> Iterator[str]:
    """One line of random problems: hosts, what they hold already, and pod sets."""
    installed = hosts_of_line(case)
    pod_sets = [_balanced(case, pod_set_of_line(given)) for given in case.listed("podSets")]
    wanted = {name: as_domains(expected.get("domains")) for name, expected in case.want.items()}
    yield from judged(wanted, _placed(installed, pod_sets))
    yield from _figures(case, installed, pod_sets)


def _figures(case: Case, installed: Installed, pod_sets: list[Given]) -> Iterator[str]:
    """How much fits and which hosts are out, where the line tells it of what we refuse as well.

    Not of groups: there the leader's own filters count, which Kueue does not ask (trap 15).
    """
    try:
        spec = read("Workload", workload_of(pod_sets)).spec
    except Unreadable:
        return
    context = ground_of(installed)
    short = place_pod_sets([PodSetPlacement(context, pod_set) for pod_set in spec.pod_sets])
    if not isinstance(short, PlacementFailure) or any(
        each.get("group") for each in case.listed("podSets")
    ):
        return
    told, found = case.want[short.pod_set].get("failure") or {}, short.shortfall
    if told.get("code") == "nofit":
        yield from differences("fits", told["fit"], found.fits)
        yield from differences("needs", told["need"], found.needs)
    if told.get("code") == "nofit-layers":
        ours = {layer.level: [layer.fits, layer.needs] for layer in found.layers}
        for fits, needs, level in told["layers"]:
            name = level.rstrip(";")
            yield from differences(f"layer {name}", [fits, needs], ours.get(name))
    if told.get("code", "").startswith("nofit"):
        out = {
            f"{KUEUES_WORDS[each.cause]} {each.detail}".rstrip(): each.hosts
            for each in found.excluded
            if each.cause != "Unusable"
        }
        yield from differences("excluded", told.get("excluded") or {}, out)


def hosts_of_line(case: Case) -> Installed:
    """The hosts of a line, with what they hold already."""
    others = used_by_others(case.listed("nonTas"))
    nodes = [_node(node, others.get(node["name"], {})) for node in case.listed("nodes")]
    installed = installed_hosts(case.inputs["levels"], {}, nodes)
    _configure(installed, case)
    usage = case.listed("usage")
    usage = [] if case.given("simulateEmpty") else usage
    take(installed.partition_of(QUEUE), [(u["values"], u["count"], u["req"]) for u in usage])
    return installed


def topology_assignments(case: Case) -> Iterator[str]:
    """Hosts as nodes, with pods of others on them, and pod sets of one workload."""
    installed = hosts_of_table(case)
    pod_sets = [_balanced(case, pod_set_of_table(given)) for given in case.listed("podSets")]
    wanted = {
        name or MAIN: None if found["wantAssignment"] is None else decoded(found["wantAssignment"])
        for name, found in (case.want["wantPodSets"] or {}).items()
    }
    yield from judged(wanted, _placed(installed, pod_sets, _standing(case)))


def hosts_of_table(case: Case, levels: list[str] | None = None) -> Installed:
    """The nodes of a case of the table, with pods of others and of earlier workloads on them."""
    others = used_by_others(other_pods(case.listed("pods")))
    nodes = [
        {**node, "status": {**(node.get("status") or {}), "usedByOthers": others[name]}}
        if (name := node["metadata"]["name"]) in others
        else node
        for node in case.listed("nodes")
    ]
    installed = installed_hosts(levels or case.listed("levels"), case.mapped("nodeLabels"), nodes)
    _configure(installed, case)
    prior = [*case.listed("priorFlavorUsage"), *case.listed("priorOwnUsage")]
    take(
        installed.partition_of(QUEUE),
        [(u["values"], u.get("count", 0), u.get("singlePodRequests") or {}) for u in prior],
    )
    return installed


def judged(wanted: dict[str, Domains | None], got: dict[str, Domains | None]) -> Iterator[str]:
    """Where pod sets lie otherwise than wanted."""
    for name, domains in wanted.items():
        yield from differences(name, domains, got.get(name))


def _placed(
    installed: Installed, pod_sets: list[Given], standing: RunningPods | None = None
) -> dict[str, Domains | None]:
    """The domains of each pod set before the first that finds no place."""
    groups = _taken_from_the_unconstrained(pod_sets)
    try:
        spec = read("Workload", workload_of(pod_sets)).spec
    except Unreadable:
        return {}
    pod_sets_left = [_in_group(pod_set, groups.get(pod_set.name)) for pod_set in spec.pod_sets]
    while True:
        context = ground_of(installed)
        seats = [PodSetPlacement(context, pod_set) for pod_set in pod_sets_left]
        placed = place_scale_up(seats, standing) if standing else place_pod_sets(seats)
        if not isinstance(placed, PlacementFailure):
            break
        pod_sets_left = _before(pod_sets_left, placed.pod_set)
    return {
        name: [(d.values, d.count) for d in place.assignment.domains]
        for name, place in placed.items()
    }


def _standing(case: Case) -> RunningPods:
    """Where pods stand that are taken over from an earlier slice of the workload."""
    return {
        given.get("podSetName") or MAIN: topology_assignment(given["previousAssignment"])
        for given in case.listed("podSets")
        if given.get("previousAssignment")
    }


def _taken_from_the_unconstrained(pod_sets: list[Given]) -> dict[str, str]:
    """Groups of pod sets that ask for no level, which submission refuses and the step takes."""
    requests = {each["name"]: each.get("topologyRequest") or {} for each in pod_sets}
    return {
        name: request.pop("podSetGroupName")
        for name, request in requests.items()
        if request.get("unconstrained") and "podSetGroupName" in request
    }


def _in_group(pod_set: PodSet, group: str | None) -> PodSet:
    if group is None or pod_set.topology_request is None:
        return pod_set
    request = replace(pod_set.topology_request, pod_set_group_name=group)
    return replace(pod_set, topology_request=request)


def _before(pod_sets: list[PodSet], failed: str) -> list[PodSet]:
    """Those placed before the group of the failed one; a group has the turn of its first."""
    groups = list(dict.fromkeys(_group(pod_set) for pod_set in pod_sets))
    failing = next(groups.index(_group(p)) for p in pod_sets if p.name == failed)
    return [p for p in pod_sets if groups.index(_group(p)) < failing]


def _group(pod_set: PodSet) -> str:
    request = pod_set.topology_request
    return (request.pod_set_group_name if request else None) or f"only {pod_set.name}"


def ground_of(installed: Installed) -> PlacementContext:
    """All hosts of the one flavor there is."""
    partition = installed.partition_of(QUEUE)
    return PlacementContext(
        partition.hosts,
        partition.topologies[FLAVOR],
        installed.cluster_state.config.resource_flavors[FLAVOR].spec,
        (ACTUAL,),
        {},
        rules=installed.cluster_state.config.configuration.topology,
    )


def installed_hosts(levels: list[str], labels: dict[str, str], nodes: list[Given]) -> Installed:
    """Hosts of one flavor under one topology, and a ClusterQueue for it."""
    installed = Installed()
    spec = {"levels": [{"nodeLabel": level} for level in levels]}
    installed.add("Topology", {"metadata": {"name": "tree"}, "spec": spec})
    flavor = {"nodeLabels": labels, "topologyName": "tree"}
    installed.add("ResourceFlavor", {"metadata": {"name": FLAVOR}, "spec": flavor})
    installed.add("Node", *nodes)
    quota = {"name": FLAVOR, "resources": [{"name": "cpu", "nominalQuota": "1"}]}
    group = {"coveredResources": ["cpu"], "flavors": [quota]}
    queue = {"namespaceSelector": {}, "resourceGroups": [group]}
    installed.add("ClusterQueue", {"metadata": {"name": QUEUE}, "spec": queue})
    return installed


def take(partition: Partition, usage: Iterable[tuple[list[str], int, dict[str, int]]]) -> None:
    """Pods of other workloads on the hosts."""
    levels = partition.topologies[FLAVOR].levels
    for values, count, requests in usage:
        rows, counts = partition.hosts.rows_of([(leaf_id(FLAVOR, levels, tuple(values)), count)])
        partition.hosts.charge(ACTUAL, rows, counts, {PODS: 1, **requests})
    assert np.all(partition.hosts.capacity >= partition.hosts.free[ACTUAL]), "usage only takes"


def used_by_others(pods: Iterable[Given]) -> dict[str, dict[str, str]]:
    """What pods that are no workload of ours use, per node, as its manifest says it."""
    total: dict[str, dict[str, int]] = {}
    for pod in pods:
        node = total.setdefault(pod["values"][-1], {})
        for resource, amount in {PODS: 1, **pod["req"]}.items():
            node[resource] = node.get(resource, 0) + amount * pod["count"]
    return {name: quantities_of(amounts) for name, amounts in total.items()}


def other_pods(pods: Iterable[Given]) -> Iterator[Given]:
    """Kubernetes pods that still run and that no topology-aware workload owns."""
    for pod in pods:
        ended = (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
        labels = pod["metadata"].get("labels") or {}
        node = pod["spec"].get("nodeName")
        if node and not ended and "kueue.x-k8s.io/tas" not in labels:
            (pod_set,) = read("Workload", workload_of([_template(pod["spec"])])).spec.pod_sets
            yield {"values": [node], "count": 1, "req": pod_set.scheduling.requests}


def _node(node: Given, others: dict[str, str]) -> Given:
    ready = "False" if node.get("notReady") else "True"
    return {
        "metadata": {"name": node["name"], "labels": node["labels"]},
        "spec": {"taints": node.get("taints") or [], "unschedulable": bool(node.get("unsched"))},
        "status": {
            "allocatable": quantities_of(node["alloc"]),
            "usedByOthers": others,
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def pod_set_of_line(given: Given) -> Given:
    """A pod set as lines write it."""
    refuse_unknown(f"pod set {given['name']}", given, LINE_FIELDS)
    pod = {
        "nodeSelector": given.get("selector") or {},
        "tolerations": given.get("tol") or [],
        "containers": [_container(given["req"])],
    }
    group = {"podSetGroupName": given["group"]} if given.get("group") else {}
    return _pod_set(given["name"], given["count"], pod, {**(given.get("tr") or {}), **group})


def pod_set_of_table(given: Given) -> Given:
    """A pod set as the table writes it."""
    refuse_unknown(f"pod set {given.get('podSetName', MAIN)}", given, TABLE_FIELDS)
    pod = {
        "nodeSelector": given.get("nodeSelector") or {},
        "tolerations": given.get("tolerations") or [],
        "containers": [_container(given.get("requests") or {})],
    }
    if given.get("nodeAffinity"):
        pod["affinity"] = {"nodeAffinity": given["nodeAffinity"]}
    group = given.get("podSetGroupName")
    request = _as_it_counts({**(given.get("topologyRequest") or {})}, in_group=bool(group))
    if group:
        request["podSetGroupName"] = group
    return _pod_set(given.get("podSetName") or MAIN, given.get("count", 0), pod, request)


def _as_it_counts(request: Given, *, in_group: bool) -> Given:
    """Without a slice size that has no level, or a leader's slice level that has no size.

    Both are refused when a workload is submitted; the step of Kueue's does not look at them.
    """
    if "podSetSliceRequiredTopology" not in request:
        request.pop("podSetSliceSize", None)
    if in_group and "podSetSliceSize" not in request:
        request.pop("podSetSliceRequiredTopology", None)
    return request


def _pod_set(name: str, count: int, pod: Given, request: Given) -> Given:
    asked = {"topologyRequest": request} if request else {}
    return {"name": name, "count": count, "template": {"spec": pod}, **asked}


def _template(pod: Given) -> Given:
    kept = {"containers", "initContainers", "overhead"}
    return _pod_set("main", 1, {k: v for k, v in pod.items() if k in kept}, {})


def _container(requests: dict[str, int]) -> Given:
    return {"name": "c", "resources": {"requests": quantities_of(requests)}}


def workload_of(pod_sets: list[Given]) -> Given:
    """A workload of these pod sets."""
    return {"metadata": {"name": "wl"}, "spec": {"podSets": pod_sets}}


def as_domains(domains: list[Any] | None) -> Domains | None:
    """Domains as lines write them."""
    return None if domains is None else [(tuple(values), count) for values, count in domains]


def known_gate(case: Case, gate: str) -> bool:
    """Balanced placement is asked for by the request, growth by the workload that is taken over.

    A single pod is replaced like any other. The others are rules of the installation.
    """
    return gate in {
        "TASBalancedPlacement=true",
        "TASProfileMixed=false",
        "ElasticJobsViaWorkloadSlicesWithTAS=true",
        "SkipReassignmentForPodOwnedWorkloads=false",
        "TASRespectNodeAffinityPreferred=true",
        "TASNodeFeasibilityForAllLevels=true",
        "TASPartialSlices=true",
        "TASGroupedPodSetSlicing=true",
    }


def _configure(installed: Installed, case: Case) -> None:
    """The rules that the gates of a case stand for."""
    installed.configure(
        topology={
            "profile": "BestFit" if "TASProfileMixed=false" in case.gates else "Mixed",
            "respectPreferredAffinity": "TASRespectNodeAffinityPreferred=true" in case.gates,
            "nodeFeasibilityForAllLevels": "TASNodeFeasibilityForAllLevels=true" in case.gates,
            "partialSlices": "TASPartialSlices=true" in case.gates,
            "groupedPodSetSlicing": "TASGroupedPodSetSlicing=true" in case.gates,
        }
    )


def _balanced(case: Case, pod_set: Given) -> Given:
    """Kueue's gate makes every preferred placement a balanced one."""
    request = pod_set.get("topologyRequest") or {}
    if "TASBalancedPlacement=true" not in case.gates or not request.get("preferred"):
        return pod_set
    return {**pod_set, "topologyRequest": {**request, "balanced": True}}
