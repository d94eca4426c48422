"""One domain of a topology as a topology of its own, so that a search looks at nothing else."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology, first_row_of
from headgate.domain.scheduling.placement.host_table import Ints


def subtopology_of(topology: FlavorTopology, level: int, domain: int) -> FlavorTopology:
    """The places of one domain under all levels; kept, for a topology never changes."""
    known: FlavorTopology | None = topology.parts.get((level, domain))
    if known is None:
        known = topology.parts[level, domain] = _cut_out(topology, level, domain)
    return known


def domain_name(topology: FlavorTopology, level: int, domain: int) -> str:
    """The values that name a domain, as one text."""
    return "/".join(topology.domain_path(level, domain))


def leaf_range(topology: FlavorTopology, level: int, domain: int) -> slice:
    """The places of a domain, which lie side by side."""
    starts = topology.starts[level]
    end = int(starts[domain + 1]) if domain + 1 < len(starts) else len(topology.paths)
    return slice(int(starts[domain]), end)


def _cut_out(topology: FlavorTopology, level: int, domain: int) -> FlavorTopology:
    places = leaf_range(topology, level, domain)
    starts = [_begins_in(begins, places) for begins in topology.starts]
    rows = topology.rows[places]
    first_child = tuple(
        np.append(np.searchsorted(below, above), len(below)) for above, below in pairwise(starts)
    )
    leaf_of_row = np.full(len(topology.leaf_of_row), -1, dtype=np.int64)
    leaf_of_row[rows] = np.arange(len(rows))
    return replace(
        topology,
        paths=topology.paths[places],
        naming=topology.naming.part(places),
        rows=rows,
        starts=tuple(starts),
        first_child=first_child,
        bounds=tuple(begins.tolist() for begins in first_child),
        parent=tuple(np.repeat(np.arange(len(b) - 1), np.diff(b)) for b in first_child),
        leaf_of_row=leaf_of_row,
        nothing=tuple(np.zeros_like(begins) for begins in starts),
        first_row=first_row_of(rows),
        eligible={},
        shapes={},
        parts={},
    )


def _begins_in(begins: Ints, places: slice) -> Ints:
    """Where the domains of a level begin in a stretch; the first may have begun before it."""
    inside = begins[(begins > places.start) & (begins < places.stop)] - places.start
    return np.concatenate([np.zeros(1, dtype=np.int64), inside])
