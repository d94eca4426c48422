"""Placements a second on many hosts, beside one bare pass over the host table.

Run with `python -m tests.bench.placement`. A pass is `min(free // request)` over three resources of
every host. Cold is a placement for a request shape that is not cached, warm one for a cached shape,
refresh the update of a cached shape after an admission. Assignment entries are cached before: only
the first gang over most hosts pays for encoding them.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologySpec
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.scheduling.placement.capacity_cache import RequestShape, capacities_for
from headgate.domain.scheduling.placement.flavor_topology import build_host_table
from headgate.domain.scheduling.placement.group_placement import place_pod_set
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.placement.placement_context import (
    PlacedPods,
    PlacementContext,
    single_pod_requests,
)
from headgate.domain.scheduling.placement.search import slice_constraints
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest

SIZES = (1_000, 10_000, 100_000)
LEVELS = (3, 8)
FAN_OUT = {3: 32, 8: 4}
RUNS = 101
NOW = 0
REQUESTS = {"cpu": 1_000, "memory": 4 << 30}


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """A request to be placed, by the name it is reported under."""

    name: str
    count: int
    topology: TopologyRequest


def bench_requests(levels: tuple[str, ...], hosts: int) -> tuple[BenchRequest, ...]:
    """Returns the gangs to place: in one domain, in slices, spread, or over most hosts."""
    rack, block = levels[-2], levels[-3]
    slices = (SliceLayer(level=HOSTNAME_LABEL, size=4),)
    return (
        BenchRequest("required rack, 64 pods", 64, TopologyRequest(required=rack)),
        BenchRequest("required block, 512 pods", 512, TopologyRequest(required=block)),
        BenchRequest(
            "host slices of 4, 512 pods", 512, TopologyRequest(preferred=block, slice_layers=slices)
        ),
        BenchRequest("unconstrained, 64 pods", 64, TopologyRequest(unconstrained=True)),
        BenchRequest("preferred rack, 6 pods a host", 6 * hosts, TopologyRequest(preferred=rack)),
    )


def context_of(hosts: int, depth: int) -> PlacementContext:
    """Returns hosts in a regular tree, every other one partly used."""
    names = (*(f"level-{number}" for number in range(depth - 1)), HOSTNAME_LABEL)
    fan = FAN_OUT[depth]
    nodes = [_node(number, names, fan) for number in range(hosts)]
    flavor = Configured(
        name="tas", uid="tas", created_at=NOW, spec=ResourceFlavorSpec(topology_name="tree")
    )
    tree = Configured(name="tree", uid="tree", created_at=NOW, spec=TopologySpec(levels=names))
    table, topologies = build_host_table([(flavor, tree)], nodes)
    context = PlacementContext(table, topologies["tas"], flavor.spec, (ACTUAL, PROJECTED), {})
    used = np.arange(0, hosts, 2)
    for view in context.views:
        table.charge(view, used, 1 + used % 7, {"pods": 1, **REQUESTS})
    return context


def _node(number: int, names: tuple[str, ...], fan: int) -> Configured[NodeSpec]:
    labels, group = {HOSTNAME_LABEL: f"host-{number:06}"}, number
    for name in reversed(names[:-1]):
        group //= fan if name != names[-2] else 32
        labels[name] = f"{name}-{group:05}"
    spec = NodeSpec(allocatable={"cpu": 16_000, "memory": 64 << 30, "pods": 110})
    return Configured(name=f"host-{number:06}", uid="", created_at=NOW, labels=labels, spec=spec)


def bare_pass(context: PlacementContext) -> None:
    """The yardstick: how many pods each host can take, from numbers alone."""
    free, lines = context.table.free[ACTUAL], context.table.resources
    fits = [free[lines[name]] // amount for name, amount in {"pods": 1, **REQUESTS}.items()]
    np.minimum(np.minimum(fits[0], fits[1]), fits[2])


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work takes, in seconds and in passes that ran between its runs."""

    seconds: float
    passes: float

    def __str__(self) -> str:
        """Milliseconds and passes."""
        return f"{1000 * self.seconds:7.3f} ms {self.passes:6.2f}x"


def cost(
    context: PlacementContext, work: Callable[[], object], before: Callable[[], object]
) -> Cost:
    """Returns the medians of many runs, each beside a pass, so that both see a slow moment."""
    took, passes = [], []
    for _ in range(RUNS):
        passes.append(seconds(partial(bare_pass, context)))
        before()
        took.append(seconds(work))
    return Cost(median(took), median(took) / median(passes))


def seconds(work: Callable[[], object]) -> float:
    """How long one run takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def measure(context: PlacementContext, request: BenchRequest) -> str:
    """One line: cold, warm and refresh in milliseconds and in passes, and placements a second."""
    pod_set = PodSet(
        count=request.count,
        scheduling=Scheduling(requests=REQUESTS),
        topology_request=request.topology,
    )
    placed = place_pod_set(context, pod_set)
    if isinstance(placed, PlacementShortfall):
        return f"  {request.name:30} does not fit"
    shape = RequestShape(pod_set, None, slice_constraints(pod_set, context.topology.levels))
    place = partial(place_pod_set, context, pod_set)
    cold = cost(context, place, context.topology.capacity_cache.clear)
    live = cost(context, place, partial(forget_results, context))
    signs = iter([-1, 1] * RUNS)
    move(context, placed, 1)
    refresh = cost(
        context, partial(update, context, shape), lambda: move(context, placed, next(signs))
    )
    move(context, placed, -1 if next(signs) < 0 else 0)
    rate = 1 / (live.seconds + refresh.seconds)
    figures = f"cold {cold}  warm {live}  refresh {refresh}  {rate:8,.0f} placements/s"
    return f"  {request.name:30} {figures}"


def forget_results(context: PlacementContext) -> None:
    """Clears cached results: the search is measured, not the cache."""
    for known in context.topology.capacity_cache.values():
        known.capacities.results.clear()


def update(context: PlacementContext, shape: RequestShape) -> None:
    """Refreshes the cached capacities of a shape."""
    with capacities_for(context, shape):
        pass


def move(context: PlacementContext, placed: PlacedPods, sign: int) -> None:
    """Admits what was placed, or releases it."""
    for view in context.views:
        requests = single_pod_requests(PodSet(scheduling=Scheduling(requests=REQUESTS)))
        context.table.charge(view, placed.rows, sign * placed.counts, requests)


def main() -> None:
    """Measures all sizes and depths."""
    for hosts in SIZES:
        for depth in LEVELS:
            context = context_of(hosts, depth)
            took = median(seconds(partial(bare_pass, context)) for _ in range(RUNS))
            print(f"{hosts:,} hosts, {depth} levels; a pass takes {1000 * took:.3f} ms")
            for request in bench_requests(context.topology.levels, hosts):
                print(measure(context, request))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
