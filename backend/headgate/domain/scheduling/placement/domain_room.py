"""How much room single domains have, now and if they were empty (preemption.md §6.7)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from headgate.domain.scheduling.placement.capacities import Capacities
from headgate.domain.scheduling.placement.domains import FlavorTopology
from headgate.domain.scheduling.placement.figures import Shape, capacities_for, computed
from headgate.domain.scheduling.placement.ground import Ground
from headgate.domain.scheduling.placement.hosts import PROJECTED, TRIAL, Bools, Ints
from headgate.domain.values.quantities import Requests

Pods: TypeAlias = tuple[Ints, Ints, Requests]
"""Rows of the host table, the pods in each, and what one pod takes."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The places of one domain as a mask over those of its flavor."""

    name: str
    within: Bools


def domains_by_room(now: Ground, shape: Shape, level: int, leaving: Iterable[Pods]) -> list[int]:
    """Domains of a level that could hold the shape if these pods left; the most room now first."""
    gone = _without(now, leaving)
    could = np.flatnonzero(_pods(computed(gone, shape), level) >= shape.workers.count)
    with capacities_for(now, shape) as figures:
        can = _pods(figures, level)
        return sorted(could.tolist(), key=lambda domain: (-int(can[domain]), domain))


def domains_of(topology: FlavorTopology, level: int, pods: Iterable[Pods]) -> list[int]:
    """The domains of a level that these pods lie in, each once."""
    found: dict[int, bool] = {}
    for rows, _, _ in pods:
        places = topology.places_of(rows)
        at = np.searchsorted(topology.starts[level], places, side="right") - 1
        found.update(dict.fromkeys(at.tolist(), True))
    return list(found)


def has_room(now: Ground, shape: Shape, level: int, domain: int) -> bool:
    """Whether one domain has room for the shape now."""
    with capacities_for(now, shape) as figures:
        return int(_pods(figures, level)[domain]) >= shape.workers.count


def stretch_of(topology: FlavorTopology, level: int, domain: int) -> Stretch:
    """The places of a domain."""
    starts = topology.starts[level]
    first = int(starts[domain])
    end = int(starts[domain + 1]) if domain + 1 < len(starts) else len(topology.paths)
    within = np.zeros(len(topology.paths), dtype=np.bool_)
    within[first:end] = True
    return Stretch("/".join(topology.domain_path(level, domain)), within)


def _without(now: Ground, leaving: Iterable[Pods]) -> Ground:
    table = now.table
    free = table.free[TRIAL]
    free[:] = table.free[PROJECTED]
    for rows, counts, requests in leaving:
        for resource, amount in requests.items():
            line = table.resources.get(resource)
            if line is not None:
                free[line, rows] += amount * counts
    return replace(now, views=(TRIAL,))


def _pods(figures: Capacities, level: int) -> Ints:
    """How many pods the domains of a level can take, the leader among them if there is one."""
    pods: Ints = figures.slices_led[level] * figures.slicing.size
    return pods * (figures.leads[level] > 0) if figures.has_leader else pods
