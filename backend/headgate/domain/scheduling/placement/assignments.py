"""Assignments as pods in places and back: which are there still, and the whole in order of path."""

import numpy as np

from headgate.domain.scheduling.placement.domains import FlavorTopology
from headgate.domain.scheduling.placement.ground import Ground, Placed
from headgate.domain.scheduling.placement.hosts import Ints, place_named
from headgate.domain.workloads.admission import TopologyAssignment, TopologyDomain


def standing_at(ground: Ground, given: TopologyAssignment) -> Placed | None:
    """Where the pods of an assignment stand; None if a place of it is not in the topology."""
    topology = ground.topology
    named = (
        (place_named(topology.flavor, topology.levels, domain.values), domain.count)
        for domain in given.domains
    )
    rows, counts = ground.table.rows(named)
    if len(rows) < len(given.domains) or (topology.place_of_row[rows] < 0).any():
        return None
    return Placed(rows, counts, given)


def with_placed(topology: FlavorTopology, pods: Ints, placed: Placed) -> Ints:
    """The pods in each place of a flavor, with those just placed."""
    found = pods.copy()
    found[topology.place_of_row[placed.rows]] += placed.counts
    return found


def assignment_of(topology: FlavorTopology, pods: Ints) -> TopologyAssignment:
    """The pods in each place of a flavor in words, in order of path (topology.md §1.5)."""
    depth = len(topology.assigned_levels)
    return TopologyAssignment(
        levels=topology.assigned_levels,
        domains=tuple(
            TopologyDomain(values=topology.paths[place][-depth:], count=int(pods[place]))
            for place in np.flatnonzero(pods)
        ),
    )
