"""The search for the leaves of one pod set, or of a leader and its workers.

Kueue: `tas_flavor_snapshot.go: findTopologyAssignment, findLevelWithFitDomains` with BestFit and
LeastFreeCapacity (KEP-2724 §Algorithm; topology.md §4.4 to §4.6). One domain of the requested level
takes all pods, or several of the widest; then the domains below them are selected level by level
down to the slice level, and each distributes its pods to its children.
"""

from itertools import pairwise

import msgspec
import numpy as np

from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.scheduling.placement.domain_capacities import (
    MIN_INDEXED_DOMAINS,
    UNREACHABLE,
    Capacities,
    SliceConstraints,
    size_index_of,
)
from headgate.domain.scheduling.placement.domain_selection import (
    DomainSelection,
    domain_list,
    domain_selection,
    leader_first,
    leader_order,
    limit_to_need,
    plain_order,
    select_in_order,
    take_until,
    take_until_with_leader,
)
from headgate.domain.scheduling.placement.host_table import Bools, Ints
from headgate.domain.scheduling.placement.size_index import NO_DOMAINS, best_fit_domains
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.specs import PodSet, TopologyRequest

NO_REQUEST = TopologyRequest()


class SearchRequest(msgspec.Struct, frozen=True, gc=False):
    """The pods of a search, the level it begins at, and how far it may go.

    With `may_move_up` the search goes up and takes several domains at the top, with `may_split` it
    takes several at once; `best_fit` takes large domains first and the tightest last, otherwise
    small ones first. `balanced` asks for equal shares where possible.
    """

    count: int
    level: int
    may_move_up: bool = False
    may_split: bool = False
    best_fit: bool = True
    balanced: bool = False


def search_request(
    pod_set: PodSet, levels: tuple[str, ...], rules: TopologyRules
) -> SearchRequest | Message:
    """Returns the search for a pod set, or the rule that its topology request breaks.

    A request without level searches hosts, or with slices the widest domains, and may split (trap
    4); `unconstrained: false` requests nothing (trap 5).
    """
    request = pod_set.topology_request or NO_REQUEST
    broken = _invalid_request(pod_set.count, request, levels)
    if broken is not None:
        return broken
    asked = request.required or request.preferred
    lowest = 0 if request.slice_layers else len(levels) - 1
    may_move_up = request.required is None and request.preferred is not None
    return SearchRequest(
        count=pod_set.count,
        level=levels.index(asked) if asked else lowest,
        may_move_up=may_move_up,
        may_split=asked is None,
        best_fit=asked is not None or rules.profile == "BestFit",
        balanced=request.balanced and may_move_up,
    )


def slice_constraints(pod_set: PodSet, levels: tuple[str, ...]) -> SliceConstraints:
    """Returns the slice constraints of a pod set; without slices any host takes any pod."""
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    if not layers:
        return SliceConstraints(1, len(levels) - 1)
    inner = [
        (level, layer.size)
        for above, layer in pairwise(layers)
        for level in range(levels.index(above.level) + 1, levels.index(layer.level) + 1)
    ]
    return SliceConstraints(layers[0].size, levels.index(layers[0].level), tuple(inner))


def _invalid_request(
    count: int, request: TopologyRequest, levels: tuple[str, ...]
) -> Message | None:
    for name in (request.required, request.preferred):
        if name is not None and name not in levels:
            return message("TopologyLacksLevel", missing=name)
    return _invalid_slices(count, request, levels) if request.slice_layers else None


def _invalid_slices(
    count: int, request: TopologyRequest, levels: tuple[str, ...]
) -> Message | None:
    layers = request.slice_layers
    for layer in layers:
        if layer.level not in levels:
            return message("TopologyLacksLevel", missing=layer.level)
    asked = request.required or request.preferred
    if asked and levels.index(layers[0].level) < levels.index(asked):
        return message("SliceLevelTooWide", slice_level=layers[0].level, requested=asked)
    if layers[0].size < 1 or (len(layers) > 1 and count % layers[0].size):
        return message("PodsNotDivisible", pods=count, size=layers[0].size)
    for above, layer in pairwise(layers):
        if levels.index(layer.level) <= levels.index(above.level):
            return message("SliceLevelNotBelow", slice_level=layer.level, above=above.level)
        if layer.size < 1 or above.size % layer.size:
            return message("SlicesNotDivisible", outer=above.size, size=layer.size)
    return None


class LeafSelection(msgspec.Struct, frozen=True, gc=False):
    """Leaves of the flavor, ascending, with the pods on each; `leader` is its leaf, or -1."""

    leaves: Ints
    counts: Ints
    leader: int = -1


class SearchShortfall(msgspec.Struct, frozen=True, gc=False):
    """The units (pods, or slices) that fit the best domain, or all where several may be used."""

    fits: int
    needs: int
    level: int
    domain: tuple[str, ...] = ()
    lacks_leader: bool = False


def find_leaves(capacities: Capacities, request: SearchRequest) -> LeafSelection | SearchShortfall:
    """Returns leaves for the pods of a request and the leader if there is one, or the shortfall."""
    need = request.count // capacities.constraints.size
    if not capacities.topology.paths:
        return SearchShortfall(0, need, request.level)
    if need <= 0 and not capacities.has_leader:
        return LeafSelection(NO_DOMAINS, NO_DOMAINS)
    found = _find_level_with_fit_domains(capacities, request, need)
    while isinstance(found, DomainSelection) and found.level < capacities.constraints.level:
        found = _select_children(capacities, request, found, need)
    if isinstance(found, SearchShortfall):
        return found
    return distribute_to_children(capacities, request, found)


def distribute_to_children(
    capacities: Capacities, request: SearchRequest, selection: DomainSelection
) -> LeafSelection | SearchShortfall:
    """Returns the leaves below selected domains, each of which hands down exactly its own pods.

    At and below the slice level (topology.md §4.6, loop 2; example E10).
    """
    size = capacities.constraints.size
    domains, units, leader = selection.domains, selection.units, selection.leader
    if size > 1:
        units = units * size
    pods = DomainSelection(selection.level, domains, units, leader)
    return distribute_pods(capacities, request, pods)


def distribute_pods(
    capacities: Capacities, request: SearchRequest, selection: DomainSelection
) -> LeafSelection | SearchShortfall:
    """Returns the leaves below a selection in pods, for these pods and the leader."""
    last = len(capacities.topology.starts) - 1
    if selection.level == last and selection.leader < 0:
        return LeafSelection(selection.domains, selection.units)
    while selection.level < last:
        lower = _distribute_level(capacities, request, selection)
        if lower is None:
            return SearchShortfall(0, int(selection.units.sum()), selection.level)
        selection = lower
    filled = selection.units > 0
    leaves, counts = selection.domains[filled], selection.units[filled]
    order = np.argsort(leaves, kind="stable")
    return LeafSelection(leaves[order], counts[order], selection.leader)


def _find_level_with_fit_domains(
    capacities: Capacities, request: SearchRequest, need: int
) -> DomainSelection | SearchShortfall:
    """One domain for all pods, else several of the widest level where the request may split."""
    level = request.level
    one = _best_fit_domain(capacities, request, level, need)
    while one < 0 and request.may_move_up and level > 0:
        level -= 1
        one = _best_fit_domain(capacities, request, level, need)
    if one >= 0:
        domain = capacities.topology.indices[one : one + 1]
        leader = one if capacities.has_leader else -1
        return DomainSelection(level, domain, np.array([need]), leader)
    if not (request.may_move_up or request.may_split):
        return _shortfall_of_best(capacities, level, need)
    if capacities.has_leader:
        return _split_with_leader(capacities, request, level, need)
    found = select_in_order(capacities, level, None, need, best_fit=request.best_fit)
    return found or SearchShortfall(int(capacities.slices[level].sum()), need, level)


def _best_fit_domain(capacities: Capacities, request: SearchRequest, level: int, need: int) -> int:
    """The smallest domain that holds all, of equals the one with fewest pods, by path; or -1.

    Kueue: `findBestFitDomain`. The same rule for domains in another form: `best_fit_position` of an
    ordered list, `size_index.best_fit_domains` of an index by size.
    """
    slices = capacities.slices_with_leader[level]
    if capacities.has_leader or capacities.score:
        able = slices >= need
        if capacities.has_leader:
            able &= capacities.leader_capacity[level] > 0
        if capacities.score:
            able &= _scores_best(capacities, request, level, able)
        sizes = np.where(able, slices, UNREACHABLE)
        found = (sizes == sizes.min()).nonzero()[0] if able.any() else NO_DOMAINS
        alike: list[int] | Ints = found
    else:
        is_large = len(slices) >= MIN_INDEXED_DOMAINS
        index = size_index_of(capacities, level) if is_large else None
        alike = best_fit_domains(slices, need, index)
    if not len(alike):
        return -1
    if len(alike) == 1 or capacities.pods_with_leader is capacities.slices_with_leader:
        return int(alike[0])
    return int(alike[capacities.pods_with_leader[level][alike].argmin()])


def _scores_best(capacities: Capacities, request: SearchRequest, level: int, able: Bools) -> Bools:
    """The domains with the best score of those able; none where the first in order is not able."""
    score = capacities.score[level]
    best = score[able].max(initial=-1)
    if request.best_fit and (request.may_move_up or request.may_split):
        leader = capacities.leader_capacity[level]
        if best < score[leader == leader.max()].max():
            return np.zeros_like(able)
    found: Bools = score == best
    return found


def _select_children(
    capacities: Capacities, request: SearchRequest, selection: DomainSelection, need: int
) -> DomainSelection | SearchShortfall:
    """Selects among all children of selected domains, whatever was assigned to each of these."""
    level, topology = selection.level + 1, capacities.topology
    if capacities.has_leader:
        inside = topology.children(selection.level, np.sort(selection.domains))
        domains = topology.indices[inside] if isinstance(inside, slice) else inside
        ordered = domains[plain_order(capacities, level, domains, best_fit=request.best_fit)]
        found = limit_to_need(capacities, level, ordered, need, best_fit=request.best_fit)
    else:
        inside = topology.children(selection.level, selection.domains)
        found = select_in_order(capacities, level, inside, need, best_fit=request.best_fit)
    return found or SearchShortfall(0, need, request.level)


def _shortfall_of_best(capacities: Capacities, level: int, need: int) -> SearchShortfall:
    """What fits the first domain in Kueue's order: one for the leader, then most slices with it."""
    everything = np.arange(len(capacities.slices[level]))
    best = int(leader_order(capacities, level, everything, best_fit=True)[0])
    fits = int(capacities.slices[level][best])
    lacks_leader = capacities.has_leader and fits >= need
    path = capacities.topology.domain_path(level, best)
    return SearchShortfall(fits, need, level, path, lacks_leader)


def _split_with_leader(
    capacities: Capacities, request: SearchRequest, level: int, need: int
) -> DomainSelection | SearchShortfall:
    best_fit = request.best_fit
    everything = np.arange(len(capacities.slices[level]))
    domains = everything[leader_order(capacities, level, everything, best_fit=best_fit)]
    offered = domain_list(capacities, level, domains, best_fit=best_fit)
    front = leader_first(offered, need)
    domains, offered = domains[front], offered.at(front)
    if not offered.leader_capacity[0]:
        return SearchShortfall(0, need, level, lacks_leader=True)
    rest = np.sort(domains[1:])
    rest = rest[plain_order(capacities, level, rest, best_fit=best_fit)]
    left = need - int(offered.units_with_leader[0])
    taken = take_until(domain_list(capacities, level, rest, best_fit=best_fit), left)
    if taken is None:
        fits = need - left + int(capacities.slices[level][rest].sum())
        return SearchShortfall(fits, need, level)
    chosen = np.append(domains[:1], rest[taken.chosen])
    found = limit_to_need(capacities, level, chosen, need, best_fit=best_fit)
    return found or SearchShortfall(0, need, request.level)


def _distribute_level(
    capacities: Capacities, request: SearchRequest, selection: DomainSelection
) -> DomainSelection | None:
    """The pods of each domain on its children, fewest pods first, in multiples of the layer."""
    level, constraints = selection.level + 1, capacities.constraints
    is_wide = level <= constraints.level
    unit = constraints.size if is_wide else dict(constraints.inner).get(level, 1)
    singly = selection.domains == selection.leader
    if is_wide or capacities.score:
        singly = np.ones(len(selection.domains), dtype=np.bool_)
    bounds = capacities.topology.bounds[selection.level]
    parts: list[DomainSelection] = []
    for domain, amount in zip(
        selection.domains[singly].tolist(), selection.units[singly].tolist(), strict=True
    ):
        children = np.arange(bounds[domain], bounds[domain + 1])
        ordered = children[plain_order(capacities, level, children, best_fit=request.best_fit)]
        offered = domain_list(capacities, level, ordered, best_fit=request.best_fit, unit=unit)
        take = take_until_with_leader if domain == selection.leader else take_until
        taken = take(offered, amount // unit)
        if taken is None:
            return None
        part = domain_selection(level, ordered, taken)
        parts.append(DomainSelection(level, part.domains, part.units * unit, part.leader))
    simple = ~singly & (selection.units > 0)
    if simple.any():
        many = DomainSelection(selection.level, selection.domains[simple], selection.units[simple])
        parts.append(_distribute_many(capacities, many, unit))
    return DomainSelection(
        level,
        np.concatenate([part.domains for part in parts]),
        np.concatenate([part.units for part in parts]),
        max(part.leader for part in parts),
    )


def _distribute_many(capacities: Capacities, many: DomainSelection, unit: int) -> DomainSelection:
    """The pods of many domains at once, on children with fewest pods first."""
    level = many.level + 1
    bounds = capacities.topology.first_child[many.level]
    order = np.argsort(many.domains)
    parents, needs = many.domains[order], many.units[order] // unit
    domains, begins = capacities.topology.children_of(many.level, parents)
    owner = np.repeat(np.arange(len(parents)), bounds[parents + 1] - bounds[parents])
    order = np.lexsort([capacities.pods[level][domains], owner])
    domains = domains[order]
    offered = capacities.pods[level][domains] // unit
    reached = np.cumsum(offered)
    before = reached - offered - (reached[begins] - offered[begins])[owner]
    units = np.clip(needs[owner] - before, 0, offered)
    return DomainSelection(level, domains[units > 0], units[units > 0] * unit)
