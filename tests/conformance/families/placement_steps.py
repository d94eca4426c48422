"""The steps that a placement is made of (`pkg/cache/scheduler/tas_*`), each put to ours."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologyRules, TopologySpec
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.scheduling.placement.balanced import (
    BalancedChoice,
    best_balanced_choice,
    distribute_shares,
    optimal_domain_set,
)
from headgate.domain.scheduling.placement.domain_capacities import Capacities, SliceConstraints
from headgate.domain.scheduling.placement.domain_selection import (
    DomainSelection,
    leader_order,
    plain_order,
)
from headgate.domain.scheduling.placement.flavor_topology import (
    FlavorTopology,
    belongs_to_flavor,
    build_host_table,
)
from headgate.domain.scheduling.placement.host_table import (
    ACTUAL,
    PODS,
    HostTable,
    Ints,
    is_schedulable,
)
from headgate.domain.scheduling.placement.placement_context import (
    PlacedPods,
    PlacementContext,
    add_assumed_usage,
    assignment_of,
    merge_placed,
    pods_of_assignment,
)
from headgate.domain.scheduling.placement.search import search_request
from headgate.domain.values.message import Message
from headgate.domain.workloads.admission import (
    TopologyAssignment,
    TopologyDomain,
    pod_count,
    trimmed_to,
)
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.installed import Installed, read

Given = dict[str, Any]
FLAVOR = "tas"


def plain_orders(case: Case) -> Iterator[str]:
    """The order of domains without a leader."""
    yield from _ordered(case, plain_order)


def leader_orders(case: Case) -> Iterator[str]:
    """The order of domains one of which is to host a leader."""
    yield from _ordered(case, leader_order)


def tightest_sets(case: Case) -> Iterator[str]:
    """The set of domains with least room to spare, of as few domains as possible."""
    domains = case.listed("domains")
    leaders, workers = case.number("leaderCount"), case.number("workerCount")
    capacities = _capacities(domains, has_leader=bool(leaders))
    everything = np.arange(len(domains))
    number = _number_taken_greedily(capacities, workers)
    found = optimal_domain_set(capacities, 0, everything, (number, workers))
    names = None if found is None else sorted(_id(domains, int(domain)) for domain in found)
    yield from differences("domains", sorted(case.want["want"] or []) or None, names)


def balanced_shares(case: Case) -> Iterator[str]:
    """Slices over domains in equal shares."""
    domains = case.listed("domains")
    has_leader = bool(case.number("leaderCount"))
    capacities = _capacities(domains, case.number("sliceSize") or 1, has_leader=has_leader)
    chosen = BalancedChoice(case.number("threshold"), 0, capacities, np.arange(len(domains)))
    held = distribute_shares(chosen, 0, case.number("sliceCount"))
    wanted = {
        name: (state.get("sliceCount", 0), state.get("leaderCount", 0))
        for name, state in (case.want["want"] or {}).items()
    }
    yield from differences("shares", wanted, _shares(domains, held))


def balanced_choices(case: Case) -> Iterator[str]:
    """The group of domains that balances best, with its share and how many domains it needs."""
    asked = case.mapped("params")
    flat = [{"domain": each, "state": each} for each in case.listed("domains")]
    size = asked.get("sliceSize") or 1
    constraints = SliceConstraints(size, asked.get("sliceLevelIdx", 0))
    capacities = _tree(flat, constraints, has_leader=bool(asked.get("leaderCount")))
    need = asked.get("count", 0) // size
    found = best_balanced_choice(capacities, 0, need)
    yield from differences("share", case.want["wantThreshold"], found.share if found else 0)
    number = len(found.domains) if found else 0
    yield from differences("domains", case.want["wantDomainsCount"], number)


def nodes_of_flavor(case: Case) -> Iterator[str]:
    """Nodes with the labels of a flavor and a value for every level."""
    flavor = ResourceFlavorSpec(node_labels=case.mapped("nodeLabels"))
    topology = TopologySpec(levels=tuple(case.listed("levels")))
    names = [
        node["metadata"]["name"]
        for node in case.shared["nc"]["nodes"].values()
        if belongs_to_flavor(_configured(node), flavor, topology)
    ]
    wanted = [node["metadata"]["name"] for node in case.want["wantNodes"] or ()]
    yield from differences("nodes", sorted(wanted), sorted(names))


def usable_nodes(case: Case) -> Iterator[str]:
    """Whether a node that was reported takes pods."""
    installed = Installed()
    latest = {n["metadata"]["name"]: n for n in (*case.listed("prime"), case.inputs["node"])}
    installed.add("Node", *latest.values())
    known = installed.cluster_state.config.nodes
    if case.given("enableSchedulerLibraryIntegration"):
        kept = [node["metadata"]["name"] for node in case.want["wantNodes"] or ()]
        yield from differences("kept", sorted(kept), sorted(known))
    usable = sorted(name for name, n in known.items() if is_schedulable(n.spec))
    wanted = sorted(case.want["wantSchedulableAndReady"] or ())
    yield from differences("usable", wanted, usable)


def trees(case: Case) -> Iterator[str]:
    """The domains of every level, what is in them, and what the lowest offer."""
    table, topology = _hosts(case.listed("levels"), case.listed("nodes"))
    dump = case.want["want"] or {}
    wanted = {
        tuple(found["levelValues"]): (
            len(found.get("children") or ()),
            found.get("cpuCapacity", 0),
        )
        for found in dump.values()
    }
    yield from differences("tree", wanted, _domains(table, topology))
    roots = {tuple(f["levelValues"]) for f in dump.values() if f.get("root")}
    yield from differences("roots", roots, set(_paths(topology, 0)))
    ids = {json.loads(key).get("level", 0) for key in dump}
    yield from differences("levels", len(ids), len(topology.levels))


def known_levels(case: Case) -> Iterator[str]:
    """Whether a topology has every level that a request names."""
    request = case.given("podSetTopologyRequest")
    asked = {**(request or {}), "podSetSliceSize": 1} if _slices(request) else request
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": []}}}
    if asked:
        pod_set["topologyRequest"] = asked
    read_one = read("Workload", {"metadata": {"name": "w"}, "spec": {"podSets": [pod_set]}}).spec
    levels = tuple(case.shared["levels"])
    wanted = search_request(read_one.pod_sets[0], levels, TopologyRules())
    names_one = bool(read_one.pod_sets[0].topology_request)
    yield from differences(
        "known", case.want["want"], names_one and not isinstance(wanted, Message)
    )


def paths_in_order(case: Case) -> Iterator[str]:
    """Which of two hosts comes first."""
    paths = [tuple(case.inputs[side]["levelValues"]) for side in ("a", "b")]
    levels = case.inputs["levels"]
    nodes = {
        path: {"metadata": {"name": path[-1], "labels": dict(zip(levels, path, strict=True))}}
        for path in paths
    }
    _, topology = _hosts(levels, nodes.values())
    first, second = (topology.paths.index(path) for path in paths)
    yield from differences("order", case.want["want"], (first > second) - (first < second))


def places_that_are_gone(case: Case) -> Iterator[str]:
    """Whether a place of an assignment exists no more."""
    levels = case.mapped("tree").get("domainsPerLevel") or [[]]
    values = [tuple(d["values"]) for d in case.mapped("assignment").get("domains") or ()]
    table = _named_places(list(levels[-1]), len(levels))
    gone = [
        v for v in values if not len(table.rows_of([(v if len(v) == 1 else (FLAVOR, *v), 1)])[0])
    ]
    yield from differences("stale", case.want["wantStale"], bool(gone))
    name = ",".join(gone[0]) if gone else ""
    yield from differences("domain", case.want["wantStaleDomain"], name)


def assumed_usage(case: Case) -> Iterator[str]:
    """What an assignment takes of every place, itself counted under pods."""
    own = case.mapped("tasRequests").get("singlePodRequests") or {}
    requests = case.shared.get("singlePodRequests") or own
    domains = case.mapped("assignment").get("domains") or []
    before = {name.rpartition(",")[2]: held for name, held in case.mapped("assumedUsage").items()}
    names = {domain["values"][-1] for domain in domains} | set(before)
    hosts = [_host(name) for name in sorted(names)]
    table, topology = _hosts([HOSTNAME_LABEL], hosts)
    context = PlacementContext(table, topology, ResourceFlavorSpec(), (ACTUAL,), {})
    rows, counts = table.rows_of((tuple(d["values"]), d["count"]) for d in domains)
    given = tuple(TopologyDomain(values=tuple(d["values"]), count=d["count"]) for d in domains)
    assignment = TopologyAssignment(levels=(HOSTNAME_LABEL,), domains=given)
    for name, held in before.items():
        for resource, amount in held.items():
            taken = context.assumed.setdefault(resource, np.zeros(len(names), dtype=np.int64))
            taken[table.row_of[(name,)]] += amount
    add_assumed_usage(context, PlacedPods(rows, counts, assignment), {PODS: 1, **requests})
    found = {
        place[-1]: {n: int(taken[row]) for n, taken in context.assumed.items() if taken[row]}
        for place, row in table.row_of.items()
    }
    wanted = {
        name.rpartition(",")[2]: {resource: n for resource, n in held.items() if n}
        for name, held in (case.want["want"] or {}).items()
    }
    yield from differences("assumed", *({k: v for k, v in m.items() if v} for m in (wanted, found)))


def pods_counted(case: Case) -> Iterator[str]:
    """How many pods have a place in an assignment."""
    yield from differences("pods", case.want["want"], pod_count(_assignment(case, "assignment")))


def cut_assignments(case: Case) -> Iterator[str]:
    """The places that stay where fewer pods are needed."""
    found = trimmed_to(_assignment(case, "assignment"), case.number("newCount"))
    yield from differences("domains", _pairs(case.want["want"] or {}), _told(found))


def merged_assignments(case: Case) -> Iterator[str]:
    """Pods placed at different times, as one assignment in order of path."""
    levels = case.mapped("a").get("levels") or case.mapped("b")["levels"]
    lowest = case.shared["tree"]["domainsPerLevel"][-1]
    table, topology = _hosts(levels, [_leaf(levels, path.split(",")) for path in lowest])
    context = PlacementContext(table, topology, ResourceFlavorSpec(), (ACTUAL,), {})
    pods = np.zeros(len(topology.paths), dtype=np.int64)
    for side in ("a", "b"):
        placed = pods_of_assignment(context, _assignment(case, side))
        assert placed is not None, "the tree has all domains of the case"
        pods = merge_placed(topology, pods, placed)
    found = assignment_of(topology, pods, np.flatnonzero(pods))
    yield from differences("domains", _pairs(case.want["want"] or {}), _told(found))


def _assignment(case: Case, field: str) -> TopologyAssignment:
    given = case.mapped(field)
    return TopologyAssignment(
        levels=tuple(given.get("levels") or ()),
        domains=tuple(TopologyDomain(values=tuple(v), count=n) for v, n in _pairs(given)),
    )


def _pairs(given: Given) -> list[tuple[tuple[str, ...], int]]:
    return [(tuple(each["values"]), each["count"]) for each in given.get("domains") or ()]


def _told(assignment: TopologyAssignment) -> list[tuple[tuple[str, ...], int]]:
    return [(each.values, each.count) for each in assignment.domains]


def _ordered(case: Case, order: Any) -> Iterator[str]:
    domains = case.listed("domains")
    capacities = _capacities(
        domains,
        has_leader=True,
        with_score=bool(case.given("enableTASPreferredSchedulingAffinity")),
    )
    best_fit = not case.given("unconstrained")
    found = order(capacities, 0, np.arange(len(domains)), best_fit=best_fit)
    names = [_id(domains, int(domain)) for domain in found]
    yield from differences("order", case.want["wantOrder"], names)


def _by_path(domains: list[Given]) -> list[Given]:
    return sorted(domains, key=lambda each: each["domain"]["levelValues"])


def _id(domains: list[Given], number: int) -> str:
    name: str = _by_path(domains)[number]["domain"]["id"]
    return name


def _capacities(
    domains: list[Given], size: int = 1, *, has_leader: bool, with_score: bool = False
) -> Capacities:
    """Domains of one level with the figures that the case gives them."""
    return _tree(domains, SliceConstraints(size, 0), has_leader=has_leader, with_score=with_score)


def _tree(
    domains: list[Given],
    constraints: SliceConstraints,
    *,
    has_leader: bool,
    with_score: bool = False,
) -> Capacities:
    depth = max(len(each["domain"]["levelValues"]) for each in domains)
    levels = [f"level-{number}" for number in range(depth)]
    leaves = [each for each in domains if len(each["domain"]["levelValues"]) == depth]
    nodes = [_leaf(levels, each["domain"]["levelValues"]) for each in leaves]
    _, topology = _hosts(levels, nodes)

    def figures(field: str) -> list[Ints]:
        return [
            np.array(
                [each["state"].get(field, 0) for each in _by_path(domains)
                 if len(each["domain"]["levelValues"]) == level + 1],
                dtype=np.int64,
            )
            for level in range(depth)
        ]  # fmt: skip

    pods, slices = figures("podCount"), figures("sliceCount")
    return Capacities(
        topology,
        constraints,
        has_leader,
        pods,
        slices,
        figures("podCountWithLeader") if has_leader else pods,
        figures("sliceCountWithLeader") if has_leader else slices,
        figures("leaderCount"),
        figures("affinityScore") if with_score else [],
    )


def _number_taken_greedily(capacities: Capacities, need: int) -> int:
    chosen = best_balanced_choice(capacities, 0, need)
    return chosen.number if chosen else 0


def _shares(domains: list[Given], held: DomainSelection | None) -> dict[str, tuple[int, int]]:
    if held is None:
        return {}
    return {
        _id(domains, int(domain)): (int(units), int(domain == held.leader))
        for domain, units in zip(held.domains, held.units, strict=True)
    }


def _hosts(levels: list[str], nodes: Iterable[Given]) -> tuple[HostTable, FlavorTopology]:
    flavor = Configured(
        name=FLAVOR, uid=FLAVOR, created_at=0, spec=ResourceFlavorSpec(topology_name="tree")
    )
    spec = TopologySpec(levels=tuple(levels))
    tree = Configured(name="tree", uid="tree", created_at=0, spec=spec)
    table, topologies = build_host_table([(flavor, tree)], [_configured(node) for node in nodes])
    return table, topologies[FLAVOR]


def _configured(node: Given) -> Configured[NodeSpec]:
    desired = read("Node", node)
    return Configured(
        name=node["metadata"]["name"],
        uid="",
        created_at=0,
        labels=node["metadata"].get("labels") or {},
        spec=desired.spec,
    )


def _leaf(levels: list[str], values: list[str]) -> Given:
    labels = dict(zip(levels, values, strict=True))
    return {"metadata": {"name": "-".join(values).replace("/", "-"), "labels": labels}}


def _host(name: str) -> Given:
    return {"metadata": {"name": name, "labels": {HOSTNAME_LABEL: name}}}


def _named_places(lowest: list[str], depth: int) -> HostTable:
    """Places of these names: hosts, or paths written with commas where they have several parts."""
    if all("," not in name for name in lowest):
        return _hosts([HOSTNAME_LABEL], [_host(name) for name in lowest])[0]
    levels = [f"level-{number}" for number in range(depth)]
    return _hosts(levels, [_leaf(levels, name.split(",")) for name in lowest])[0]


def _domains(table: HostTable, topology: FlavorTopology) -> dict[tuple[str, ...], tuple[int, int]]:
    """By path: how many domains it has below, and the cores it offers if it is a lowest one."""
    found = {}
    last = len(topology.levels) - 1
    for level in range(last + 1):
        for domain, path in enumerate(_paths(topology, level)):
            if level < last:
                bounds = topology.first_child[level]
                found[path] = (int(bounds[domain + 1] - bounds[domain]), 0)
            else:
                row = topology.rows[domain]
                found[path] = (0, int(table.capacity[table.resources["cpu"], row]))
    return found


def _paths(topology: FlavorTopology, level: int) -> list[tuple[str, ...]]:
    return [topology.domain_path(level, d) for d in range(len(topology.starts[level]))]


def _slices(request: Given | None) -> bool:
    return bool(request and request.get("podSetSliceRequiredTopology"))


def respects_affinity(case: Case, gate: str) -> bool:
    """Preferred affinity is a rule of the installation."""
    return gate == "TASRespectNodeAffinityPreferred=true"


def keeps_every_node(case: Case, gate: str) -> bool:
    """Nodes that take no pods are known all the same, as with Kueue's scheduler library."""
    return gate == "SchedulerLibraryIntegration=true"


OF_THE_PATHS = {"shared.levels": "as many as the paths are long"}
FAMILIES = {
    "TestSortedDomains": Family(plain_orders, respects_affinity, OF_THE_PATHS),
    "TestSortedDomainsWithLeader": Family(leader_orders, respects_affinity, OF_THE_PATHS),
    "TestSelectOptimalDomainSetToFit": Family(tightest_sets),
    "TestPlaceSlicesOnDomainsBalanced": Family(balanced_shares),
    "TestFindBestDomainsForBalancedPlacement": Family(balanced_choices),
    "TestNodesCacheFind": Family(nodes_of_flavor),
    "TestNodesCacheSync": Family(
        usable_nodes, keeps_every_node, {"checked.wantNodeNameNodes": "the same nodes by name"}
    ),
    "TestNewTopologyTree": Family(trees),
    "TestHasLevel": Family(known_levels),
    "TestCompareDomainLevelValues": Family(paths_in_order),
    "TestIsTopologyAssignmentStale": Family(places_that_are_gone),
    "TestAddAssumedUsage": Family(assumed_usage),
    "TestCountPodsInAssignment": Family(pods_counted),
    "TestTruncateAssignment": Family(cut_assignments),
    "TestMergeTopologyAssignments": Family(merged_assignments),
    "TestComputeAssumedUsageFromAssignment": Family(assumed_usage),
}
