"""Counts that slices do not divide: whole slices, and one shorter slice for the rest, the tail.

Kueue: `TASPartialSlices` (#15640). The tail lies in one domain of the slice level, among those that
hold whole slices where it can, and its domain is the last of the assignment, so that ranks below it
form whole slices. It costs a domain one slice where the pods beyond its slices are too few for it.
"""

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.domain_capacities import Capacities, SliceConstraints
from headgate.domain.scheduling.placement.domain_selection import (
    DomainSelection,
    domain_list,
    plain_order,
    take_until,
)
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.search import (
    LeafSelection,
    SearchRequest,
    SearchShortfall,
    distribute_pods,
)

IMPOSSIBLE = 1 << 40
"""The cost in slices of what a domain cannot take."""


class TailCosts(msgspec.Struct, frozen=True, gc=False):
    """How many whole slices the tail, the leader and both together cost each domain of a level.

    Without a leader `leader` is 0 and `both` is `tail`.
    """

    tail: Ints
    leader: Ints
    both: Ints


def tail_of(count: int, constraints: SliceConstraints) -> int:
    """Returns the pods beyond whole slices."""
    return count % constraints.size


def slices_needed(count: int, constraints: SliceConstraints) -> int:
    """Returns the slices of a count, with the tail as one."""
    return -(-count // constraints.size)


def slices_beside_tail(capacities: Capacities, tail: int, level: int) -> Ints:
    """Returns the whole slices that fit each domain of a level beside tail and leader.

    Negative where these do not fit.
    """
    slices: Ints = capacities.slices[level] - _costs(capacities, tail)[level].both
    return slices


def find_leaves_with_tail(
    capacities: Capacities, request: SearchRequest
) -> LeafSelection | SearchShortfall:
    """Returns leaves for all pods of an uneven count, and the leader, or the shortfall.

    Levels are searched as `find_leaves` does; of several domains that hold all, the one with the
    fewest slices beside the tail, then with the fewest slices.
    """
    tail = tail_of(request.count, capacities.constraints)
    need = request.count // capacities.constraints.size
    if not capacities.topology.paths:
        return SearchShortfall(0, need + 1, request.level)
    costs = _costs(capacities, tail)
    level = request.level
    one = _best_domain(capacities, costs, level, need)
    while one < 0 and request.may_move_up and level > 0:
        level -= 1
        one = _best_domain(capacities, costs, level, need)
    if one < 0 and not (request.may_move_up or request.may_split):
        return _shortfall(capacities, costs, level, need)
    width = len(capacities.topology.starts[level])
    candidates = np.array([one]) if one >= 0 else capacities.topology.indices[:width]
    found = _select(capacities, costs[level], level, candidates, need, best_fit=request.best_fit)
    while not isinstance(found, SearchShortfall) and level < capacities.constraints.level:
        selection, domain = found
        chosen = _with_places(selection, 1, (domain, 1)).domains
        candidates = capacities.topology.children_of(level, chosen)[0]
        level += 1
        found = _select(
            capacities, costs[level], level, candidates, need, best_fit=request.best_fit
        )
    if isinstance(found, SearchShortfall):
        return found
    selection, domain = found
    placed = _with_places(selection, capacities.constraints.size, (domain, tail))
    return distribute_pods(capacities, request, placed)


def tail_last(
    topology: FlavorTopology, constraints: SliceConstraints, leaves: Ints, counts: Ints
) -> Ints:
    """Returns the order of ascending leaves in which the domain with the tail is the last."""
    domains = np.searchsorted(topology.starts[constraints.level], leaves, side="right") - 1
    pods = np.bincount(domains, weights=counts).astype(np.int64)
    return np.argsort(pods[domains] % constraints.size > 0, kind="stable")


def _costs(capacities: Capacities, tail: int) -> list[TailCosts]:
    """Returns the costs of every level from the widest down to the slice level."""
    level, size = capacities.constraints.level, capacities.constraints.size
    slices, pods = capacities.slices[level], capacities.pods[level]
    short = (pods % size < tail).astype(np.int64)
    found = [TailCosts(short, capacities.topology.zeros[level], short)]
    if capacities.has_leader:
        may_lead = capacities.leader_capacity[level] > 0
        beside = (capacities.pods_with_leader[level] - tail) // size
        leader = np.where(may_lead, slices - capacities.slices_with_leader[level], IMPOSSIBLE)
        found = [TailCosts(short, leader, np.where(may_lead, slices - beside, IMPOSSIBLE))]
    while level > 0:
        level -= 1
        begins = capacities.topology.first_child[level][:-1]
        found.insert(0, _gathered(found[0], begins, has_leader=capacities.has_leader))
    return found


def _gathered(below: TailCosts, begins: Ints, *, has_leader: bool) -> TailCosts:
    """The costs of parents: tail and leader below one child, or below the two cheapest for them."""
    tail = np.minimum.reduceat(below.tail, begins)
    if not has_leader:
        return TailCosts(tail, np.zeros_like(tail), tail)
    leader = np.minimum.reduceat(below.leader, begins)
    cheapest, others = _two_cheapest(below.leader, begins)
    at_tail, other_tails = _two_cheapest(below.tail, begins)
    apart = np.where(
        cheapest == at_tail, np.minimum(leader + other_tails, others + tail), leader + tail
    )
    both = np.minimum(np.minimum.reduceat(below.both, begins), apart)
    return TailCosts(tail, leader, np.minimum(both, IMPOSSIBLE))


def _two_cheapest(costs: Ints, begins: Ints) -> tuple[Ints, Ints]:
    """Returns the child of lowest cost below each parent, and the lowest cost of its others."""
    number = len(costs)
    keys = costs * number + np.arange(number)
    first = np.minimum.reduceat(keys, begins) % number
    rest = costs.copy()
    rest[first] = IMPOSSIBLE
    return first, np.minimum.reduceat(rest, begins)


def _best_domain(capacities: Capacities, costs: list[TailCosts], level: int, need: int) -> int:
    """The domain that holds all with the fewest slices to spare; -1 if none does."""
    slices = capacities.slices[level]
    beside = slices - costs[level].both
    able = np.flatnonzero(beside >= need)
    if not len(able):
        return -1
    pods = capacities.pods_with_leader[level]
    score = -capacities.score[level] if capacities.score else capacities.topology.zeros[level]
    order = np.lexsort([able, pods[able], slices[able], beside[able], score[able]])
    return int(able[order[0]])


def _shortfall(
    capacities: Capacities, costs: list[TailCosts], level: int, need: int
) -> SearchShortfall:
    """What fits the domain that takes most slices; the tail counts as one."""
    slices, beside = capacities.slices[level], capacities.slices[level] - costs[level].both
    best = int(np.lexsort([-slices, -beside])[0])
    fits = min(int(slices[best]), need)
    lacks_leader = capacities.has_leader and int(costs[level].leader[best]) >= IMPOSSIBLE
    path = capacities.topology.domain_path(level, best)
    return SearchShortfall(fits, need + 1, level, path, lacks_leader)


def _select(  # noqa: PLR0913 - one level of a search with a tail
    capacities: Capacities,
    costs: TailCosts,
    level: int,
    candidates: Ints,
    need: int,
    *,
    best_fit: bool,
) -> tuple[DomainSelection, int] | SearchShortfall:
    """Selects domains of a level for whole slices and the leader, and the domain of the tail.

    The leader goes where it costs least beside the tail, the tail into the first domain in use that
    has room for it, else into the first other. All feasible requests are found: where no domain
    takes the tail for free, one slice more than needed fits, and so one of them is left.
    """
    order = plain_order(capacities, level, candidates, best_fit=best_fit)
    ordered = candidates[order]
    slices = capacities.slices[level][ordered].copy()
    tail_costs = costs.tail[ordered].copy()
    leader, begin = -1, 0
    if capacities.has_leader:
        leader = _cheapest_leader(costs, ordered)
        ordered = np.append(ordered[leader], np.delete(ordered, leader))
        slices = np.append(slices[leader], np.delete(slices, leader))
        tail_costs = np.append(tail_costs[leader], np.delete(tail_costs, leader))
        leader, begin = int(ordered[0]), 1
        slices[0] -= costs.leader[leader]
        tail_costs[0] = costs.both[leader] - costs.leader[leader]
    if int(slices.sum()) - int(tail_costs.min()) < need:
        lacks_leader = bool(begin) and int(slices[0]) < 0
        fits = 0 if lacks_leader else min(need, int(slices.sum()))
        return SearchShortfall(fits, need + 1, level, (), lacks_leader)
    units = np.zeros(len(ordered), dtype=np.int64)
    units[:begin] = np.minimum(slices[:begin], need)
    rest = domain_list(capacities, level, ordered[begin:], best_fit=best_fit)
    taken = take_until(rest, need - int(units.sum()))
    assert taken is not None, "all slices together are enough"
    units[taken.chosen + begin] += taken.units
    holds = units + tail_costs <= slices
    used = np.flatnonzero(holds & (units > 0))
    tail = int(ordered[used[0]] if len(used) else ordered[np.flatnonzero(holds)[0]])
    return DomainSelection(level, ordered[units > 0], units[units > 0], leader), tail


def _cheapest_leader(costs: TailCosts, ordered: Ints) -> int:
    """The position of the domain where the leader costs least, the tail there or elsewhere."""
    tails, leaders = costs.tail[ordered], costs.leader[ordered]
    others = np.full(len(ordered), int(tails.min()))
    cheapest = int(tails.argmin())
    others[cheapest] = int(np.delete(tails, cheapest).min(initial=IMPOSSIBLE))
    return int(np.minimum(leaders + others, costs.both[ordered]).argmin())


def _with_places(selection: DomainSelection, size: int, tail: tuple[int, int]) -> DomainSelection:
    """The selection in pods, with the domains of leader and tail, ascending."""
    pods = dict(zip(selection.domains.tolist(), (selection.units * size).tolist(), strict=True))
    domain, rest = tail
    pods[domain] = pods.get(domain, 0) + rest
    if selection.leader >= 0:
        pods.setdefault(selection.leader, 0)
    domains = np.array(sorted(pods), dtype=np.int64)
    counts = np.array([pods[each] for each in sorted(pods)], dtype=np.int64)
    return DomainSelection(selection.level, domains, counts, selection.leader)
