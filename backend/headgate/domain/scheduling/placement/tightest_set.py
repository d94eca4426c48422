"""The set of so many domains that holds everything with the least room to spare."""

import numpy as np

from headgate.domain.scheduling.placement.capacities import Capacities
from headgate.domain.scheduling.placement.hosts import Ints

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
