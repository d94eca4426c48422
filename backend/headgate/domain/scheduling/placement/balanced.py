"""Balanced placement: equal shares over few domains instead of filling one after the other.

Of the groups of domains that could hold everything, the one whose smallest share is largest, then
the one that needs fewest domains; in it the tightest set of that number (topology.md §4.7). Where
no such share exists the ordinary search decides. Preferred affinity and inner layers play no part.
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
    Slicing,
    gather,
)
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.orders import leader_order, plain_order
from headgate.domain.scheduling.placement.search import Found, Held, Shortfall, hand_down
from headgate.domain.scheduling.placement.search_request import Wanted


@dataclass(frozen=True, slots=True)
class _Greedy:
    """How many domains are needed, and the last ones taken with and without the leader, or -1."""

    number: int
    last_led: int
    last: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Domains of a level after those below the share were left out, and the figures then."""

    share: int
    number: int
    capacities: Capacities
    domains: Ints


def balanced_places(capacities: Capacities, wanted: Wanted) -> Found | None:
    """Places in equal shares, or None if the ordinary search is to decide."""
    need = wanted.count // capacities.slicing.size
    if not len(capacities.pods[-1]):
        return None
    chosen = best_choice(capacities, wanted.level, need)
    if chosen is None:
        return None
    held = in_shares(chosen, wanted.level, need)
    if held is None:
        return None
    found = hand_down(chosen.capacities, wanted, held, capacities.slicing.size)
    return None if isinstance(found, Shortfall) else found


def best_choice(capacities: Capacities, level: int, need: int) -> Choice | None:
    """The group of domains with the largest smallest share, then the fewest domains needed."""
    best: Choice | None = None
    for domains in _groups(capacities, level):
        found = _choice(capacities, level, domains, (need, best.share if best else 0))
        if found is None:
            continue
        if best is None or (found.share, -found.number) > (best.share, -best.number):
            best = found
    return best


def _groups(capacities: Capacities, level: int) -> Iterator[Ints]:
    """The domains of a level that lie in one domain of the level above."""
    if level == 0:
        yield np.arange(len(capacities.pods[0]))
        return
    bounds = capacities.topology.first_child[level - 1]
    for begin, end in pairwise(bounds):
        yield np.arange(begin, end)


def _choice(
    capacities: Capacities, level: int, domains: Ints, goal: tuple[int, int]
) -> Choice | None:
    """What a group offers, unless it holds too little or only shares below those known."""
    need, least = goal
    low = level
    candidates = domains
    if level < capacities.slicing.level:
        low, candidates = level + 1, _below(capacities, level, domains)
    greedy = _taken_greedily(capacities, low, candidates, need)
    if greedy is None:
        return None
    shares = [need // greedy.number]
    if greedy.last_led >= 0:
        shares.append(int(capacities.slices_led[low][greedy.last_led]))
    if greedy.last >= 0:
        shares.append(int(capacities.slices[low][greedy.last]))
    tries = [min(shares)]
    if greedy.last_led >= 0 and greedy.last >= 0:
        tries.append(min(tries[0], int(capacities.slices_led[low][greedy.last])))
    for share in dict.fromkeys(tries):
        if share <= 0 or share < least:
            return None
        pruned = _pruned(capacities, level, domains, share)
        again = _taken_greedily(pruned, level, domains, need)
        if again is not None:
            return Choice(share, again.number, pruned, domains)
    return None


def _taken_greedily(capacities: Capacities, level: int, domains: Ints, need: int) -> _Greedy | None:
    """Largest first until all have a place, the leader before anything else."""
    number, last_led, last = 0, -1, -1
    if capacities.has_leader:
        domains = domains[leader_order(capacities, level, domains, best_fit=True)]
        last_led = int(domains[0])
        if not capacities.leads[level][last_led]:
            return None
        need -= int(capacities.slices_led[level][last_led])
        number, domains = 1, np.sort(domains[1:])
    if need > 0:
        ordered = domains[plain_order(capacities, level, domains, best_fit=True)]
        reached = np.cumsum(capacities.slices[level][ordered])
        if not len(reached) or reached[-1] < need:
            return None
        end = int(np.searchsorted(reached, need))
        number, last = number + end + 1, int(ordered[end])
    return _Greedy(number, last_led, last)


def _pruned(capacities: Capacities, level: int, domains: Ints, share: int) -> Capacities:
    """The figures without the domains that hold less than a share, and rolled up again."""
    pruned = replace(
        capacities,
        slicing=Slicing(capacities.slicing.size, capacities.slicing.level),
        pods=[each.copy() for each in capacities.pods],
        slices=[each.copy() for each in capacities.slices],
        leads=[each.copy() for each in capacities.leads],
        score=[],
        sizes={},
        answers={},
    )
    pruned.pods_led, pruned.slices_led = pruned.pods, pruned.slices
    if capacities.has_leader:
        pruned.pods_led = [each.copy() for each in capacities.pods_led]
        pruned.slices_led = [each.copy() for each in capacities.slices_led]
    if level + 1 < len(capacities.pods):
        _leave_out(pruned, level + 1, _below(capacities, level, domains), share)
        children, begins = capacities.topology.children_of(level, domains)
        gather(pruned, level, domains, children, begins)
    _leave_out(pruned, level, domains, share)
    return pruned


def _leave_out(pruned: Capacities, level: int, domains: Ints, share: int) -> None:
    too_small = domains[pruned.slices[level][domains] < share]
    led = pruned.slices_led[level][domains] < share
    no_host = domains[led & (pruned.leads[level][domains] > 0)] if pruned.has_leader else too_small
    for at in range(level, len(pruned.pods)):
        for figures in (pruned.pods, pruned.slices, pruned.pods_led, pruned.slices_led):
            figures[at][too_small] = 0
        for figures in (pruned.leads, pruned.pods_led, pruned.slices_led):
            figures[at][no_host] = 0
        if at + 1 < len(pruned.pods):
            too_small, no_host = _below(pruned, at, too_small), _below(pruned, at, no_host)


def _below(capacities: Capacities, level: int, domains: Ints) -> Ints:
    return capacities.topology.children_of(level, domains)[0]


def in_shares(chosen: Choice, level: int, need: int) -> Held | None:
    """Each of the tightest set of domains gets a share, the first ones what is left over."""
    capacities, domains = chosen.capacities, chosen.domains
    if level < capacities.slicing.level:
        order = _by_entropy(capacities, level, domains)
        picked = tightest_set(capacities, level, order, _needed(capacities, level, order, need))
        if picked is None:
            return None
        domains, level = np.sort(_below(capacities, level, np.sort(picked))), level + 1
    items = tightest_set(capacities, level, domains, _needed(capacities, level, domains, need))
    if items is None or need < len(items) * chosen.share:
        return None
    ordered = np.sort(items)
    ordered = ordered[leader_order(capacities, level, ordered, best_fit=True)]
    room = capacities.slices[level][ordered].copy()
    if capacities.has_leader:
        room[0] = capacities.slices_led[level][ordered[0]]
    extra = need - len(ordered) * chosen.share
    more = np.maximum(room - chosen.share, 0)
    given = np.clip(extra - (np.cumsum(more) - more), 0, more)
    if int(given.sum()) < extra:
        return None
    leader = int(ordered[0]) if capacities.has_leader else -1
    return Held(level, ordered, given + chosen.share, leader)


def _needed(capacities: Capacities, level: int, domains: Ints, need: int) -> tuple[int, int]:
    """How many domains the set has at best, and how many slices they are to hold."""
    greedy = _taken_greedily(capacities, level, np.sort(domains), need)
    return (greedy.number if greedy else 0), need


def _by_entropy(capacities: Capacities, level: int, domains: Ints) -> Ints:
    """Who can host the leader, most slices with it, most evenly filled children, path."""
    bounds, pods = capacities.topology.first_child[level], capacities.pods[level + 1]
    spread = np.array([entropy_of(pods[bounds[each] : bounds[each + 1]]) for each in domains])
    slices, leads = capacities.slices_led[level][domains], capacities.leads[level][domains]
    return domains[np.lexsort([domains, -spread, -slices, -leads])]


State = tuple[int, int]
"""Leaders and pods that still lie nowhere."""


def tightest_set(
    capacities: Capacities, level: int, domains: Ints, goal: tuple[int, int]
) -> Ints | None:
    """Exactly `goal[0]` of the domains for `goal[1]` slices, tightest in pods; None if none do.

    Domains are tried in their order, and the first set that comes to a state stands for it, as in
    Kueue (topology.md §4.7).
    """
    number, slices = goal
    if number == 0:
        return None
    start = (int(capacities.has_leader), slices * capacities.slicing.size)
    reached: list[dict[State, tuple[int, ...]]] = [{start: ()}, *({} for _ in range(number))]
    for domain in domains.tolist():
        for used in range(number - 1, -1, -1):
            for state, members in tuple(reached[used].items()):
                for following in _following(capacities, level, domain, state):
                    reached[used + 1].setdefault(following, (*members, domain))
    done = {left: members for (leaders, left), members in reached[number].items()
            if leaders == 0 and left <= 0}  # fmt: skip
    return np.array(done[max(done)], dtype=np.int64) if done else None


def _following(capacities: Capacities, level: int, domain: int, state: State) -> list[State]:
    leaders, pods = state
    found = []
    if leaders and capacities.leads[level][domain]:
        found.append((leaders - 1, pods - int(capacities.pods_led[level][domain])))
    if capacities.slices[level][domain] > 0:
        found.append((leaders, pods - int(capacities.pods[level][domain])))
    return found


BITS = 40


def entropy_of(pods: Ints) -> int:
    """Shannon's entropy of these capacities in units of 2**-40 bits; 0 where there is no room."""
    total = int(pods.sum())
    if total <= 0:
        return 0
    alike: Counter[int] = Counter(pods.tolist())
    weighted = sum(number * room * logarithm(room) for room, number in alike.items() if room > 0)
    return logarithm(total) - weighted // total


@cache
def logarithm(number: int) -> int:
    """The binary logarithm of a positive number, in units of 2**-40, rounded down."""
    whole = number.bit_length() - 1
    fraction, found = (number << BITS) >> whole, whole
    for _ in range(BITS):
        fraction = fraction * fraction >> BITS
        found <<= 1
        if fraction >> BITS >= 2:  # noqa: PLR2004 - the base of the logarithm
            fraction >>= 1
            found |= 1
    return found
