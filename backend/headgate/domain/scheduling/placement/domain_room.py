"""How much room single domains have, now and if they were empty (preemption.md §6.7)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from headgate.domain.scheduling.placement.capacities import Capacities
from headgate.domain.scheduling.placement.domains import FlavorTopology
from headgate.domain.scheduling.placement.figures import Shape, capacities_for
from headgate.domain.scheduling.placement.ground import Ground
from headgate.domain.scheduling.placement.hosts import Bools, Ints


@dataclass(frozen=True, slots=True)
class Stretch:
    """The places of one domain as a mask over those of its flavor, and over the host table."""

    name: str
    within: Bools
    rows: Bools

    def holds_any(self, rows: Iterable[Ints]) -> bool:
        """Whether any of these rows of the host table lies in it."""
        return any(bool(self.rows[some].any()) for some in rows)


def domains_by_room(empty: Ground, now: Ground, shape: Shape, level: int) -> list[int]:
    """Domains of a level that could hold the shape if they were empty; the most room now first."""
    with capacities_for(empty, shape) as figures:
        could = np.flatnonzero(_pods(figures, level) >= shape.workers.count)
    with capacities_for(now, shape) as figures:
        can = _pods(figures, level)
        return sorted(could.tolist(), key=lambda domain: (-int(can[domain]), domain))


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
    rows = np.zeros(len(topology.place_of_row), dtype=np.bool_)
    rows[topology.rows[first:end]] = True
    return Stretch("/".join(topology.domain_path(level, domain)), within, rows)


def _pods(figures: Capacities, level: int) -> Ints:
    """How many pods the domains of a level can take, the leader among them if there is one."""
    pods: Ints = figures.slices_led[level] * figures.slicing.size
    return pods * (figures.leads[level] > 0) if figures.has_leader else pods
