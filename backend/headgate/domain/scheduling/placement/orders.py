"""In which order domains of a level are visited; every order is total (topology.md §4.4).

Domains are handed in by ascending number, which is the order of their paths; sorting is stable, so
that paths decide where all else is equal.
"""

import numpy as np

from headgate.domain.scheduling.placement.capacities import Capacities
from headgate.domain.scheduling.placement.choosing import Offer, take
from headgate.domain.scheduling.placement.hosts import Ints

MANY = 2048
"""From here on finding first what need not be sorted costs less than sorting everything."""
SMALL = 1 << 16
"""Numbers below this are sorted and counted by their digits."""


def plain_order(capacities: Capacities, level: int, domains: Ints, *, best_fit: bool) -> Ints:
    """Score, then slices (large first for best fit, else small first), few pods, path."""
    slices = capacities.slices[level][domains]
    pods = slices
    if capacities.slices is not capacities.pods:
        pods = capacities.pods[level][domains]
    return _sorted(_keys(capacities, level, domains), slices, pods, best_fit=best_fit)


def leader_order(capacities: Capacities, level: int, domains: Ints, *, best_fit: bool) -> Ints:
    """Who can host the leader first, then as the plain order with the leader counted."""
    slices, pods = capacities.slices_led[level][domains], capacities.pods_led[level][domains]
    before = [*_keys(capacities, level, domains), -capacities.leads[level][domains]]
    return _sorted(before, slices, pods, best_fit=best_fit)


def take_in_order(
    capacities: Capacities, level: int, *, best_fit: bool, need: int
) -> tuple[Ints, Ints] | None:
    """Domains of a level in plain order until `need` slices lie somewhere, and what each takes."""
    slices = capacities.slices[level]
    if int(slices.sum()) < need:
        return None
    if need <= 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    candidates = np.arange(len(slices))
    if len(slices) >= MANY and not capacities.score:
        candidates = _that_matter(slices, need, best_fit=best_fit)
    ordered = candidates[plain_order(capacities, level, candidates, best_fit=best_fit)]
    score = capacities.score[level][ordered] if capacities.score else None
    offered = slices[ordered]
    taken = take(Offer(offered, offered, offered, score, best_fit), need)
    assert taken is not None, "what matters takes as much as everything"
    domains, units = ordered[taken.chosen], taken.units
    return domains[units > 0], units[units > 0]


def _that_matter(slices: Ints, need: int, *, best_fit: bool) -> Ints:
    """Domains that may be taken: those before the size at which `need` is reached, and the last.

    The last of a best fit is the tightest for what remains, which is no more than that size: it is
    among those of the smallest size that suffices.
    """
    largest = int(slices.max())
    if largest >= SMALL:
        return np.arange(len(slices))
    numbers = np.bincount(slices, minlength=largest + 1)
    sizes = np.arange(largest + 1)
    if not best_fit:
        size = int(np.searchsorted(np.cumsum(numbers * sizes), need))
        return np.flatnonzero((slices <= size) & (slices > 0))
    reached = np.cumsum((numbers * sizes)[::-1])
    size = largest - int(np.searchsorted(reached, need))
    above = int(reached[largest - size - 1]) if size < largest else 0
    rest = need - above
    rest -= (rest - 1) // size * size
    enough = rest + int(np.flatnonzero(numbers[rest:])[0])
    return np.flatnonzero((slices >= size) | (slices == enough))


def _keys(capacities: Capacities, level: int, domains: Ints) -> list[Ints]:
    return [-capacities.score[level][domains]] if capacities.score else []


def _sorted(before: list[Ints], slices: Ints, pods: Ints, *, best_fit: bool) -> Ints:
    size = int(slices.max(initial=0)) - slices if best_fit else slices
    if before:
        return np.lexsort([pods, size, *before])
    same = slices is pods
    key = size if same else size * (int(pods.max(initial=0)) + 1) + pods
    if len(key) and int(key.max()) < SMALL:
        return np.argsort(key.astype(np.uint16), kind="stable")
    return np.argsort(size, kind="stable") if same else np.lexsort([pods, size])
