"""Taking domains from an ordered list until all have a place (reference topology.md §4.4, §4.6)."""

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.domain_capacities import UNREACHABLE
from headgate.domain.scheduling.placement.host_table import Ints


class DomainList(msgspec.Struct, frozen=True, gc=False):
    """A list of domains as it is visited: what each takes alone, and with the leader beside.

    `best_fit` takes as the last domain the tightest of those left instead of the next in line;
    with `score`, only of those left that score as the next in line does.
    """

    units: Ints
    units_with_leader: Ints
    leader_capacity: Ints
    score: Ints | None
    best_fit: bool

    def after(self, first: int) -> "DomainList":
        """The rest of the list."""
        score = None if self.score is None else self.score[first:]
        return DomainList(
            self.units[first:],
            self.units_with_leader[first:],
            self.leader_capacity[first:],
            score,
            self.best_fit,
        )

    def ordered(self, order: Ints) -> "DomainList":
        """The same domains in another order."""
        score = None if self.score is None else self.score[order]
        return DomainList(
            self.units[order],
            self.units_with_leader[order],
            self.leader_capacity[order],
            score,
            self.best_fit,
        )


class ListSelection(msgspec.Struct, frozen=True, gc=False):
    """Numbers in the list, the units each takes, and which of `chosen` hosts the leader, or -1."""

    chosen: Ints
    units: Ints
    leader: int = -1


def best_fit_position(capacity: Ints, need: int, score: Ints | None = None) -> int:
    """The first of the smallest that suffice, among the leading ones of equal score; else 0."""
    if score is not None:
        others = np.flatnonzero(score != score[0])
        capacity = capacity[: others[0]] if len(others) else capacity
    sizes = np.where(capacity >= need, capacity, UNREACHABLE)
    best = int(sizes.argmin())
    return best if sizes[best] != UNREACHABLE else 0


def take_until(offer: DomainList, need: int) -> ListSelection | None:
    """Domains in order until `need` units lie somewhere; None if there are too few."""
    nothing = np.zeros(0, dtype=np.int64)
    if need <= 0:
        return ListSelection(nothing, nothing)
    total = offer.units.cumsum()
    if not len(total) or total[-1] < need:
        return None
    last = int(total.searchsorted(need))
    rest = need - (int(total[last - 1]) if last else 0)
    closing = last
    if offer.best_fit:
        score = None if offer.score is None else offer.score[last:]
        closing = last + best_fit_position(offer.units[last:], rest, score)
    chosen = np.arange(last + 1)
    chosen[last] = closing
    units = offer.units[: last + 1].copy()
    units[last] = rest
    return ListSelection(chosen, units)


def take_until_with_leader(offer: DomainList, need: int) -> ListSelection | None:
    """The same with a leader, who lies in the first domain that can host it."""
    front = leader_first(offer, need)
    offer = offer.ordered(front)
    hosts = np.flatnonzero(offer.leader_capacity > 0)
    if not len(hosts):
        return None
    host = int(hosts[0])
    before = np.minimum(np.cumsum(offer.units_with_leader[:host]), need)
    given = np.diff(before, prepend=0)
    left = need - (int(before[-1]) if host else 0)
    chosen = np.arange(host + 1)
    if offer.units_with_leader[host] >= left:
        if offer.best_fit:
            tail = offer.after(host)
            able = np.where(tail.leader_capacity > 0, tail.units_with_leader, -1)
            chosen[-1] += best_fit_position(able, left, tail.score)
        return ListSelection(front[chosen], np.append(given, left), host)
    beside = int(offer.units_with_leader[host])
    rest = take_until(offer.after(host + 1), left - beside)
    if rest is None:
        return None
    return ListSelection(
        front[np.append(chosen, rest.chosen + host + 1)],
        np.concatenate([given, [beside], rest.units]),
        host,
    )


def leader_first(offer: DomainList, need: int) -> Ints:
    """Numbers of the list, the first domain in front that may host the leader without harm.

    Harm would be that the others together no longer take all (trap 17).
    """
    numbers = np.arange(len(offer.units))
    spare = int(offer.units.sum()) - (offer.units - offer.units_with_leader)
    able = np.flatnonzero((offer.leader_capacity > 0) & (spare >= need))
    if not len(able):
        return numbers
    return np.concatenate([able[:1], np.delete(numbers, able[0])])
