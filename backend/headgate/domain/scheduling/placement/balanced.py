"""Balanced placement: equal shares on few domains instead of filling one after the other.

Kueue: `tas_balanced_placement.go` (topology.md §4.7, trap 26). Of the groups of domains that hold
all pods it takes the one with the largest minimum share, then with the fewest domains, and in it
the tightest set of that number. Where no share exists the plain search decides. Affinity scores
and inner slice layers are ignored.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from headgate.domain.scheduling.placement.domain_capacities import (
    Capacities,
    SliceConstraints,
    roll_up_level,
)
from headgate.domain.scheduling.placement.domain_selection import (
    DomainSelection,
    leader_order,
    plain_order,
)
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.search import (
    LeafSelection,
    SearchRequest,
    SearchShortfall,
    distribute_to_children,
)


@dataclass(frozen=True, slots=True)
class _Greedy:
    """The number of domains taken, and the last ones with and without the leader, or -1."""

    number: int
    last_with_leader: int
    last: int


@dataclass(frozen=True, slots=True)
class BalancedChoice:
    """The domains of a group, its minimum share, and the counts without domains below the share."""

    share: int
    number: int
    capacities: Capacities
    domains: Ints


def balanced_leaves(capacities: Capacities, request: SearchRequest) -> LeafSelection | None:
    """Returns leaves in equal shares; None where the plain search decides."""
    need = request.count // capacities.constraints.size
    if not len(capacities.pods[-1]):
        return None
    chosen = best_balanced_choice(capacities, request.level, need)
    if chosen is None:
        return None
    selection = distribute_shares(chosen, request.level, need)
    if selection is None:
        return None
    found = distribute_to_children(chosen.capacities, request, selection)
    return None if isinstance(found, SearchShortfall) else found


def best_balanced_choice(capacities: Capacities, level: int, need: int) -> BalancedChoice | None:
    """Returns the group with the largest minimum share, then with the fewest domains.

    Kueue: `findBestDomainsForBalancedPlacement`.
    """
    best: BalancedChoice | None = None
    for domains in _groups(capacities, level):
        found = _choice(capacities, level, domains, (need, best.share if best else 0))
        if found is None:
            continue
        if best is None or (found.share, -found.number) > (best.share, -best.number):
            best = found
    return best


def _groups(capacities: Capacities, level: int) -> Iterator[Ints]:
    """Yields the domains of a level that share a parent."""
    if level == 0:
        yield np.arange(len(capacities.pods[0]))
        return
    bounds = capacities.topology.first_child[level - 1]
    for begin, end in pairwise(bounds):
        yield np.arange(begin, end)


def _choice(
    capacities: Capacities, level: int, domains: Ints, goal: tuple[int, int]
) -> BalancedChoice | None:
    """The share of a group; None if it holds too little, or no share of at least the best known."""
    need, least = goal
    low = level
    candidates = domains
    if level < capacities.constraints.level:
        low, candidates = level + 1, _below(capacities, level, domains)
    greedy = _take_greedily(capacities, low, candidates, need)
    if greedy is None:
        return None
    shares = [need // greedy.number]
    if greedy.last_with_leader >= 0:
        shares.append(int(capacities.slices_with_leader[low][greedy.last_with_leader]))
    if greedy.last >= 0:
        shares.append(int(capacities.slices[low][greedy.last]))
    tries = [min(shares)]
    if greedy.last_with_leader >= 0 and greedy.last >= 0:
        tries.append(min(tries[0], int(capacities.slices_with_leader[low][greedy.last])))
    for share in dict.fromkeys(tries):
        if share <= 0 or share < least:
            return None
        pruned = _pruned(capacities, level, domains, share)
        again = _take_greedily(pruned, level, domains, need)
        if again is not None:
            return BalancedChoice(share, again.number, pruned, domains)
    return None


def _take_greedily(capacities: Capacities, level: int, domains: Ints, need: int) -> _Greedy | None:
    """Takes domains, largest first, until all slices are taken; one for the leader first."""
    number, last_with_leader, last = 0, -1, -1
    if capacities.has_leader:
        domains = domains[leader_order(capacities, level, domains, best_fit=True)]
        last_with_leader = int(domains[0])
        if not capacities.leader_capacity[level][last_with_leader]:
            return None
        need -= int(capacities.slices_with_leader[level][last_with_leader])
        number, domains = 1, np.sort(domains[1:])
    if need > 0:
        ordered = domains[plain_order(capacities, level, domains, best_fit=True)]
        reached = np.cumsum(capacities.slices[level][ordered])
        if not len(reached) or reached[-1] < need:
            return None
        end = int(np.searchsorted(reached, need))
        number, last = number + end + 1, int(ordered[end])
    return _Greedy(number, last_with_leader, last)


def _pruned(capacities: Capacities, level: int, domains: Ints, share: int) -> Capacities:
    """The counts without domains below the share, rolled up again."""
    pruned = replace(
        capacities,
        constraints=SliceConstraints(capacities.constraints.size, capacities.constraints.level),
        pods=[each.copy() for each in capacities.pods],
        slices=[each.copy() for each in capacities.slices],
        leader_capacity=[each.copy() for each in capacities.leader_capacity],
        score=[],
        sizes={},
        results={},
    )
    pruned.pods_with_leader, pruned.slices_with_leader = pruned.pods, pruned.slices
    if capacities.has_leader:
        pruned.pods_with_leader = [each.copy() for each in capacities.pods_with_leader]
        pruned.slices_with_leader = [each.copy() for each in capacities.slices_with_leader]
    if level + 1 < len(capacities.pods):
        _leave_out(pruned, level + 1, _below(capacities, level, domains), share)
        children, begins = capacities.topology.children_of(level, domains)
        roll_up_level(pruned, level, domains, children, begins)
    _leave_out(pruned, level, domains, share)
    return pruned


def _leave_out(pruned: Capacities, level: int, domains: Ints, share: int) -> None:
    too_small = domains[pruned.slices[level][domains] < share]
    led = pruned.slices_with_leader[level][domains] < share
    no_host = (
        domains[led & (pruned.leader_capacity[level][domains] > 0)]
        if pruned.has_leader
        else too_small
    )
    for at in range(level, len(pruned.pods)):
        for figures in (
            pruned.pods,
            pruned.slices,
            pruned.pods_with_leader,
            pruned.slices_with_leader,
        ):
            figures[at][too_small] = 0
        for figures in (pruned.leader_capacity, pruned.pods_with_leader, pruned.slices_with_leader):
            figures[at][no_host] = 0
        if at + 1 < len(pruned.pods):
            too_small, no_host = _below(pruned, at, too_small), _below(pruned, at, no_host)


def _below(capacities: Capacities, level: int, domains: Ints) -> Ints:
    return capacities.topology.children_of(level, domains)[0]


def distribute_shares(chosen: BalancedChoice, level: int, need: int) -> DomainSelection | None:
    """Assigns a share to each of the tightest set of domains, and the rest to the first of them.

    None if the rest does not fit. Kueue: `placeSlicesOnDomainsBalanced`.
    """
    capacities, domains = chosen.capacities, chosen.domains
    if level < capacities.constraints.level:
        order = _by_entropy(capacities, level, domains)
        picked = optimal_domain_set(
            capacities, level, order, _needed(capacities, level, order, need)
        )
        if picked is None:
            return None
        domains, level = np.sort(_below(capacities, level, np.sort(picked))), level + 1
    items = optimal_domain_set(
        capacities, level, domains, _needed(capacities, level, domains, need)
    )
    if items is None or need < len(items) * chosen.share:
        return None
    ordered = np.sort(items)
    ordered = ordered[leader_order(capacities, level, ordered, best_fit=True)]
    room = capacities.slices[level][ordered].copy()
    if capacities.has_leader:
        room[0] = capacities.slices_with_leader[level][ordered[0]]
    extra = need - len(ordered) * chosen.share
    more = np.maximum(room - chosen.share, 0)
    given = np.clip(extra - (np.cumsum(more) - more), 0, more)
    if int(given.sum()) < extra:
        return None
    leader = int(ordered[0]) if capacities.has_leader else -1
    order = np.argsort(ordered)
    return DomainSelection(level, ordered[order], (given + chosen.share)[order], leader)


def _needed(capacities: Capacities, level: int, domains: Ints, need: int) -> tuple[int, int]:
    """The number of domains of the set, and the slices it is to hold."""
    greedy = _take_greedily(capacities, level, np.sort(domains), need)
    return (greedy.number if greedy else 0), need


def _by_entropy(capacities: Capacities, level: int, domains: Ints) -> Ints:
    """Domains by leader, slices with it, entropy of their children, each descending, and path."""
    bounds, pods = capacities.topology.first_child[level], capacities.pods[level + 1]
    spread = np.array([entropy_of(pods[bounds[each] : bounds[each + 1]]) for each in domains])
    slices = capacities.slices_with_leader[level][domains]
    leader_capacity = capacities.leader_capacity[level][domains]
    return domains[np.lexsort([domains, -spread, -slices, -leader_capacity])]


OpenNeed = tuple[int, int]
"""Leaders and pods not assigned yet."""


def optimal_domain_set(
    capacities: Capacities, level: int, domains: Ints, goal: tuple[int, int]
) -> Ints | None:
    """Returns `goal[0]` of the domains that hold `goal[1]` slices with the fewest pods; or None.

    Domains are tried in order, and the first set that reaches a state stands for it (Kueue:
    `selectOptimalDomainSetToFit`).
    """
    number, slices = goal
    if number == 0:
        return None
    start = (int(capacities.has_leader), slices * capacities.constraints.size)
    reached: list[dict[OpenNeed, tuple[int, ...]]] = [{start: ()}, *({} for _ in range(number))]
    for domain in domains.tolist():
        for used in range(number - 1, -1, -1):
            for state, members in tuple(reached[used].items()):
                for following in _following(capacities, level, domain, state):
                    reached[used + 1].setdefault(following, (*members, domain))
    done = {left: members for (leaders, left), members in reached[number].items()
            if leaders == 0 and left <= 0}  # fmt: skip
    return np.array(done[max(done)], dtype=np.int64) if done else None


def _following(capacities: Capacities, level: int, domain: int, state: OpenNeed) -> list[OpenNeed]:
    leaders, pods = state
    found = []
    if leaders and capacities.leader_capacity[level][domain]:
        found.append((leaders - 1, pods - int(capacities.pods_with_leader[level][domain])))
    if capacities.slices[level][domain] > 0:
        found.append((leaders, pods - int(capacities.pods[level][domain])))
    return found


ENTROPY_BITS = 40


def entropy_of(pods: Ints) -> int:
    """Returns the Shannon entropy of these capacities in units of 2**-40 bits; 0 if all are 0.

    In whole numbers, so that no machine rounds it differently.
    """
    total = int(pods.sum())
    if total <= 0:
        return 0
    alike: Counter[int] = Counter(pods.tolist())
    weighted = sum(number * room * logarithm(room) for room, number in alike.items() if room > 0)
    return logarithm(total) - weighted // total


@cache
def logarithm(number: int) -> int:
    """Returns the binary logarithm of a positive number in units of 2**-40, rounded down."""
    whole = number.bit_length() - 1
    fraction, found = (number << ENTROPY_BITS) >> whole, whole
    for _ in range(ENTROPY_BITS):
        fraction = fraction * fraction >> ENTROPY_BITS
        found <<= 1
        if fraction >> ENTROPY_BITS >= 2:  # noqa: PLR2004 - the base of the logarithm
            fraction >>= 1
            found |= 1
    return found
