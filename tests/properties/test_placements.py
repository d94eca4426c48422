"""Invariants of every placement on random hosts with random usage (topology.md §9.5)."""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologyRules, TopologySpec
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.scheduling.placement.capacity_cache import (
    CachedCapacities,
    RequestShape,
    capacities_for,
    compute_capacities,
    leaf_capacities,
)
from headgate.domain.scheduling.placement.domain_capacities import Capacities, refresh
from headgate.domain.scheduling.placement.domain_selection import plain_order, select_in_order
from headgate.domain.scheduling.placement.flavor_topology import build_host_table
from headgate.domain.scheduling.placement.group_placement import PodSetPlacement
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.placement.place import PlacementFailure, place_pod_sets
from headgate.domain.scheduling.placement.placement_context import (
    PlacedPods,
    PlacementContext,
    single_pod_requests,
)
from headgate.domain.scheduling.placement.search import search_request, slice_constraints
from headgate.domain.scheduling.placement.size_index import MAX_INDEXED_SIZE
from headgate.domain.workloads.admission import TopologyDomain
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest
from tests.builders.instants import T0
from tests.hypothesis_profiles import examples

LEVELS = ("block", "rack", HOSTNAME_LABEL)
FLAVOR = Configured(
    name="tas", uid="tas", created_at=T0, spec=ResourceFlavorSpec(topology_name="tree")
)
TREE = Configured(name="tree", uid="tree", created_at=T0, spec=TopologySpec(levels=LEVELS))

_small = st.integers(min_value=0, max_value=9)


@st.composite
def nodes(draw: st.DrawFn, most: int = 14) -> list[Configured[NodeSpec]]:
    """Up to `most` hosts in a few racks, the names of which repeat in several blocks."""
    return [
        Configured(
            name=f"h{number}",
            uid=f"h{number}",
            created_at=T0,
            labels={
                "block": f"b{draw(st.integers(0, 2))}",
                "rack": f"r{draw(st.integers(0, 2))}",
                "kind": draw(st.sampled_from(["old", "new"])),
            },
            spec=NodeSpec(
                ready=draw(st.integers(0, 9)) > 0,
                allocatable={"cpu": draw(_small), "gpu": draw(_small), "pods": draw(_small)},
            ),
        )
        for number in range(draw(st.integers(1, most)))
    ]


@st.composite
def pod_sets(draw: st.DrawFn) -> list[PodSet]:
    """One to three pod sets, two of them a group at times."""
    kind = draw(st.sampled_from(["plain", "sliced", "group"]))
    asked: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"required": "rack"},
                {"required": "block"},
                {"preferred": "rack"},
                {"preferred": "rack", "balanced": True},
                {"preferred": HOSTNAME_LABEL},
                {"unconstrained": True},
                {},
            ]
        )
    )
    if kind == "group":
        asked = {**asked, "pod_set_group_name": "ring"}
        leader = _pod_set(draw, "leader", 1, asked)
        size = draw(st.sampled_from([0, 0, 2, 3]))
        level = HOSTNAME_LABEL if asked.get("preferred") == HOSTNAME_LABEL else "rack"
        layers = (SliceLayer(level=level, size=size),) if size else ()
        return [leader, _pod_set(draw, "workers", draw(st.integers(size + 1, 12)), asked, layers)]
    if kind == "sliced":
        size = draw(st.integers(1, 4))
        level = draw(st.sampled_from(["rack", HOSTNAME_LABEL]))
        if asked.get("preferred") == HOSTNAME_LABEL:
            level = HOSTNAME_LABEL
        layers = (SliceLayer(level=level, size=size),)
        count = size * draw(st.integers(1, 5)) + draw(st.sampled_from([0, 0, size - 1]))
        return [_pod_set(draw, "main", count, asked, layers)]
    return [
        _pod_set(draw, f"p{number}", draw(st.integers(1, 12)), asked)
        for number in range(draw(st.integers(1, 3)))
    ]


def _pod_set(
    draw: st.DrawFn,
    name: str,
    count: int,
    asked: dict[str, Any],
    layers: tuple[SliceLayer, ...] = (),
) -> PodSet:
    selector = draw(st.sampled_from([{}, {}, {"kind": "new"}]))
    return PodSet(
        name=name,
        count=count,
        scheduling=Scheduling(
            requests={"cpu": draw(st.integers(0, 3)), "gpu": draw(st.integers(0, 2))},
            node_selector=selector,
        ),
        topology_request=TopologyRequest(slice_layers=layers, **asked),
    )


profiles = st.sampled_from([TopologyRules(), TopologyRules(profile="BestFit")])


def context_on(hosts: list[Configured[NodeSpec]], rules: TopologyRules) -> PlacementContext:
    table, topologies = build_host_table([(FLAVOR, TREE)], hosts)
    return PlacementContext(
        table, topologies["tas"], FLAVOR.spec, (ACTUAL, PROJECTED), {}, rules=rules
    )


def place_on(
    context: PlacementContext, sets: list[PodSet]
) -> dict[str, PlacedPods] | PlacementFailure:
    fresh = PlacementContext(
        context.table, context.topology, context.flavor, context.views, {}, rules=context.rules
    )
    return place_pod_sets([PodSetPlacement(fresh, pod_set) for pod_set in sets])


def charge(
    context: PlacementContext, sets: list[PodSet], found: dict[str, PlacedPods], sign: int = 1
) -> None:
    for pod_set in sets:
        placed = found[pod_set.name]
        for view in context.views:
            context.table.charge(
                view, placed.rows, sign * placed.counts, single_pod_requests(pod_set)
            )


@given(hosts=nodes(), histories=st.lists(pod_sets(), min_size=1, max_size=6), rules=profiles)
@settings(max_examples=examples(2_000, quick=40), deadline=None)
def test_no_host_exceeds_its_capacity_and_every_pod_is_placed(
    hosts: list[Configured[NodeSpec]], histories: list[list[PodSet]], rules: TopologyRules
) -> None:
    context = context_on(hosts, rules)
    for sets in histories:
        found = place_on(context, sets)
        if isinstance(found, PlacementFailure):
            continue
        for pod_set in sets:
            assert int(found[pod_set.name].counts.sum()) == pod_set.count
            assert (found[pod_set.name].counts > 0).all()
            assert context.table.schedulable[found[pod_set.name].rows].all()
        charge(context, sets, found)
        assert (context.table.free[ACTUAL] >= 0).all()


@given(hosts=nodes(), sets=pod_sets(), rules=profiles)
@settings(max_examples=examples(2_000, quick=40), deadline=None)
def test_required_means_one_domain_and_slices_stay_together(
    hosts: list[Configured[NodeSpec]], sets: list[PodSet], rules: TopologyRules
) -> None:
    context = context_on(hosts, rules)
    found = place_on(context, sets)
    if isinstance(found, PlacementFailure):
        return
    path_of = {path[-1]: path for path in context.topology.paths}
    for pod_set in sets:
        request = pod_set.topology_request or TopologyRequest()
        domains = found[pod_set.name].assignment.domains
        paths = [path_of[domain.values[-1]] for domain in domains]
        assert paths == in_order(paths, pod_set, domains), "pods are ordered by their whole path"
        if request.required:
            depth = LEVELS.index(request.required) + 1
            together = {path_of[d.values[-1]][:depth] for s in sets
                        for d in found[s.name].assignment.domains
                        if s.name == pod_set.name or request.pod_set_group_name}  # fmt: skip
            assert len(together) == 1
        for layer in request.slice_layers:
            inside: Counter[tuple[str, ...]] = Counter()
            for domain, path in zip(domains, paths, strict=True):
                inside[path[: LEVELS.index(layer.level) + 1]] += domain.count
            rest = pod_set.count % layer.size
            assert sorted(pods % layer.size for pods in inside.values() if pods % layer.size) == (
                [rest] if rest else []
            ), "one domain has the pods beyond whole slices"


def in_order(
    paths: list[tuple[str, ...]], pod_set: PodSet, domains: tuple[TopologyDomain, ...]
) -> list[tuple[str, ...]]:
    """The paths in their order, those of the domain with the pods beyond whole slices last."""
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    inside: Counter[tuple[str, ...]] = Counter()
    depth = LEVELS.index(layers[0].level) + 1 if layers else 0
    for domain, path in zip(domains, paths, strict=True):
        inside[path[:depth]] += domain.count
    size = layers[0].size if layers else 1
    return sorted(paths, key=lambda path: (inside[path[:depth]] % size, path))


@given(hosts=nodes(), sets=pod_sets(), rules=profiles)
@settings(max_examples=examples(2_000, quick=60), deadline=None)
def test_whatever_has_a_place_is_placed(
    hosts: list[Configured[NodeSpec]], sets: list[PodSet], rules: TopologyRules
) -> None:
    """Slices, their tail and a leader, by trying every host for the leader, every domain for it."""
    context = context_on(hosts, rules)
    leader, workers = (sets[0], sets[1]) if len(sets) == 2 else (None, sets[0])
    request = workers.topology_request or TopologyRequest()
    if leader is not None and not (request.pod_set_group_name and workers.count > 1):
        return
    found = place_on(context, [workers, *([leader] if leader else [])])
    assert isinstance(found, dict) == has_a_place(hosts, workers, leader)


def has_a_place(hosts: list[Configured[NodeSpec]], workers: PodSet, leader: PodSet | None) -> bool:
    request = workers.topology_request or TopologyRequest()
    paths = {h.name: (h.labels["block"], h.labels["rack"], h.name) for h in hosts}
    depth = LEVELS.index(request.required) + 1 if request.required else 0
    homes = {path[:depth] for path in paths.values()}
    for home in homes:
        inside = [host for host in hosts if paths[host.name][:depth] == home]
        for leads in inside if leader else [None]:
            if leader is None or leads is None or pods_on(leads, leader):
                free = {h.name: pods_on(h, workers, leader if h is leads else None) for h in inside}
                if holds_slices(free, paths, workers):
                    return True
    return False


def pods_on(host: Configured[NodeSpec], pod_set: PodSet, beside: PodSet | None = None) -> int:
    selector = pod_set.scheduling.node_selector
    if not host.spec.ready or any(host.labels[key] != value for key, value in selector.items()):
        return 0
    taken = single_pod_requests(beside) if beside else {}
    return max(
        0,
        min(
            (host.spec.allocatable.get(name, 0) - taken.get(name, 0)) // amount
            for name, amount in single_pod_requests(pod_set).items()
            if amount
        ),
    )


def holds_slices(
    free: dict[str, int], paths: Mapping[str, tuple[str, ...]], workers: PodSet
) -> bool:
    request = workers.topology_request or TopologyRequest()
    if not request.slice_layers:
        return sum(free.values()) >= workers.count
    (layer,) = request.slice_layers
    depth = LEVELS.index(layer.level) + 1
    pods: Counter[tuple[str, ...]] = Counter()
    for name, number in free.items():
        pods[paths[name][:depth]] += number
    slices, tail = divmod(workers.count, layer.size)
    return any(
        pods[end] >= tail
        and sum((n - tail * (d == end)) // layer.size for d, n in pods.items()) >= slices
        for end in pods
    )


@given(
    hosts=nodes(),
    histories=st.lists(pod_sets(), min_size=1, max_size=6),
    changes=st.lists(st.tuples(st.integers(0, 13), st.booleans(), _small), max_size=6),
    rules=profiles,
)
@settings(max_examples=examples(2_000, quick=40), deadline=None)
def test_updated_capacities_equal_recomputed_ones(
    hosts: list[Configured[NodeSpec]],
    histories: list[list[PodSet]],
    changes: list[tuple[int, bool, int]],
    rules: TopologyRules,
) -> None:
    context = context_on(hosts, rules)
    held: list[tuple[list[PodSet], dict[str, PlacedPods]]] = []
    kept: dict[object, CachedCapacities] = {}
    for step in range(2 * len(histories)):
        sets = histories[step % len(histories)]
        found = place_on(context, sets)
        _assert_capacities_are_current(context, histories, kept)
        if not isinstance(found, PlacementFailure):
            charge(context, sets, found)
            held.append((sets, found))
        elif held:
            charge(context, *held.pop(0), -1)
        if step < len(changes):
            _change(context, hosts, changes[step])
        _assert_capacities_are_current(context, histories, kept)
    for sets, found in held:
        charge(context, sets, found, -1)
    assert (context.table.free[ACTUAL] == context.table.capacity).all()


def _change(
    context: PlacementContext, hosts: list[Configured[NodeSpec]], change: tuple[int, bool, int]
) -> None:
    number, ready, cpu = change
    node = hosts[number % len(hosts)]
    spec = NodeSpec(ready=ready, allocatable={**node.spec.allocatable, "cpu": cpu})
    context.table.node_changed(
        Configured(name=node.name, uid=node.uid, created_at=T0, labels=node.labels, spec=spec)
    )


def _assert_capacities_are_current(
    context: PlacementContext, histories: list[list[PodSet]], kept: dict[object, CachedCapacities]
) -> None:
    for sets in histories:
        workers, leader = (sets[1], sets[0]) if sets[0].name == "leader" else (sets[0], None)
        if isinstance(search_request(workers, LEVELS, context.rules), str):
            continue
        shape = RequestShape(workers, leader, slice_constraints(workers, LEVELS))
        anew = compute_capacities(context, shape)
        with capacities_for(context, shape) as looked_up:
            _assert_equal(looked_up, anew)
        _assert_equal(_updated(context, shape, kept), anew)


def _assert_equal(one: Capacities, other: Capacities) -> None:
    for figures in ("pods", "slices", "pods_with_leader", "slices_with_leader", "leader_capacity"):
        for these, those in zip(getattr(one, figures), getattr(other, figures), strict=True):
            assert these.tolist() == those.tolist(), figures


def _updated(
    context: PlacementContext, shape: RequestShape, kept: dict[object, CachedCapacities]
) -> Capacities:
    """Capacities updated for the changed leaves only, as on many hosts."""
    changes = [context.table.changes[view] for view in context.views]
    known = kept.setdefault(
        shape.key(context), CachedCapacities(compute_capacities(context, shape), ())
    )
    since = [each.since(at) for each, at in zip(changes, known.positions, strict=False)]
    if None in since:
        known.capacities = compute_capacities(context, shape)
    elif rows := [row for each in since if each for row in each]:
        leaves = context.topology.leaves_of(np.unique(np.concatenate(rows)))
        refresh(known.capacities, leaves, leaf_capacities(context, shape, leaves))
    known.positions = tuple(each.position for each in changes)
    return known.capacities


@given(hosts=nodes(), sets=pod_sets(), rules=profiles, data=st.data())
@settings(max_examples=examples(2_000, quick=40), deadline=None)
def test_the_order_of_nodes_does_not_change_a_placement(
    hosts: list[Configured[NodeSpec]], sets: list[PodSet], rules: TopologyRules, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(hosts))
    one, other = (
        place_on(context_on(hosts, rules), sets),
        place_on(context_on(shuffled, rules), sets),
    )
    if isinstance(one, PlacementFailure) or isinstance(other, PlacementFailure):
        assert one == other
        return
    assert {name: p.assignment for name, p in one.items()} == {
        name: p.assignment for name, p in other.items()
    }


@given(
    slices=st.lists(st.integers(0, 6), min_size=1, max_size=30),
    spare=st.lists(st.integers(0, 3), min_size=30, max_size=30),
    need=st.integers(1, 60),
    scale=st.sampled_from(
        [(1, 1), (1, MAX_INDEXED_SIZE), (10, 1), (10, MAX_INDEXED_SIZE), (200, 1)]
    ),
    best_fit=st.booleans(),
)
@settings(max_examples=examples(2_000, quick=40), deadline=None)
def test_selection_by_size_equals_selection_in_order(
    slices: list[int], spare: list[int], need: int, *, scale: tuple[int, int], best_fit: bool
) -> None:
    repeat, unit = scale
    need = need * unit * repeat - repeat // 3
    sliced = _flat([size * unit for size in slices], spare, repeat)
    for capacities in (sliced, replace(sliced, pods=sliced.slices)):
        found = select_in_order(capacities, 0, None, need, best_fit=best_fit)
        plain = _one_by_one(capacities, need, best_fit=best_fit)
        if found is None or plain is None:
            assert found is None
            assert plain is None
        else:
            assert list(zip(found.domains.tolist(), found.units.tolist(), strict=True)) == plain


def _flat(slices: list[int], spare: list[int], repeat: int) -> Capacities:
    size = np.array(slices * repeat, dtype=np.int64)
    pods = 4 * size + np.array(spare[: len(slices)] * repeat, dtype=np.int64)
    none = np.zeros_like(size)
    topology: Any = None
    constraints: Any = None
    return Capacities(topology, constraints, False, [pods], [size], [pods], [size], [none], [])


def _one_by_one(
    capacities: Capacities, need: int, *, best_fit: bool
) -> list[tuple[int, int]] | None:
    """The rule as it is written (topology.md §4.5): visit in order, the last one tightest."""
    slices = capacities.slices[0]
    left = plain_order(capacities, 0, np.arange(len(slices)), best_fit=best_fit).tolist()
    taken = []
    while need > 0 and left:
        domain = left[0]
        if best_fit and slices[domain] >= need:
            domain = min((d for d in left if slices[d] >= need), key=lambda d: int(slices[d]))
        left.remove(domain)
        amount = min(int(slices[domain]), need)
        need -= amount
        if amount:
            taken.append((domain, amount))
    return None if need else sorted(taken)


@st.composite
def groups(draw: st.DrawFn) -> list[PodSet]:
    """Three pod sets of a group in a rack or block, those of a block with slices in racks."""
    required = draw(st.sampled_from(["rack", "block"]))
    found = []
    for name in ("one", "two", "three"):
        count = draw(st.integers(1, 3))
        layers: tuple[SliceLayer, ...] = ()
        if required == "block" and draw(st.booleans()):
            layers = (SliceLayer(level="rack", size=count),)
        asked = {"required": required, "pod_set_group_name": "ring"}
        found.append(_pod_set(draw, name, count, asked, layers))
    return found


@given(hosts=nodes(most=5), sets=groups())
@settings(max_examples=examples(3_000, quick=60), deadline=None)
def test_a_group_of_three_pod_sets_is_placed_wherever_it_has_a_place(
    hosts: list[Configured[NodeSpec]], sets: list[PodSet]
) -> None:
    """KEP-2724, story 3, by trying all placements of all its pods (2724-28)."""
    context = context_on(hosts, TopologyRules())
    found = place_on(context, sets)
    assert isinstance(found, dict) == group_has_a_place(hosts, sets)
    if isinstance(found, dict):
        charge(context, sets, found)
        assert (context.table.free[ACTUAL] >= 0).all()
        assert [int(found[each.name].counts.sum()) for each in sets] == [s.count for s in sets]


def group_has_a_place(hosts: list[Configured[NodeSpec]], sets: list[PodSet]) -> bool:
    request = sets[0].topology_request or TopologyRequest()
    labels = ("block", "rack") if request.required == "rack" else ("block",)
    areas: dict[tuple[str, ...], list[Configured[NodeSpec]]] = {}
    for host in hosts:
        areas.setdefault(tuple(host.labels[name] for name in labels), []).append(host)
    return any(_hold_all(inside, sets) for inside in areas.values())


def _hold_all(hosts: list[Configured[NodeSpec]], sets: list[PodSet]) -> bool:
    if not sets:
        return True
    pod_set, *others = sets
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    for chosen in combinations_with_replacement(range(len(hosts)), pod_set.count):
        pods = Counter(chosen)
        racks = {hosts[number].labels["rack"] for number in chosen}
        if layers and len(racks) > 1:
            continue
        if all(pods_on(hosts[number], pod_set) >= count for number, count in pods.items()):
            left = [
                host if number not in pods else _beside(host, pod_set, pods[number])
                for number, host in enumerate(hosts)
            ]
            if _hold_all(left, others):
                return True
    return False


def _beside(host: Configured[NodeSpec], pod_set: PodSet, count: int) -> Configured[NodeSpec]:
    """The host with what is left beside some pods."""
    requests = single_pod_requests(pod_set)
    left = {
        name: amount - requests.get(name, 0) * count
        for name, amount in host.spec.allocatable.items()
    }
    return replace(host, spec=replace(host.spec, allocatable=left))
