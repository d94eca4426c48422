"""A search of the likely domains finds the victims that a search of every domain finds."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.scheduling.evaluation.evaluate import evaluate
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.flavor_topology import leaf_range
from headgate.domain.scheduling.placement.group_placement import place_pod_set
from headgate.domain.scheduling.placement.host_table import PROJECTED, Bools
from headgate.domain.scheduling.placement.placement_context import (
    PlacedPods,
    PlacementContext,
    single_pod_requests,
)
from headgate.domain.scheduling.preemption.candidates import quota_reserved_at
from headgate.domain.scheduling.preemption.request import Candidate, Victim
from headgate.domain.scheduling.preemption.topology_domains import PlanScore, plan_score
from headgate.domain.scheduling.results import Mode, PlacementShortfall
from headgate.domain.workloads.predicates import is_evicting
from headgate.domain.workloads.specs import SliceLayer, TopologyRequest
from headgate.domain.workloads.state import Workload
from tests.builders.cohorts import policies
from tests.builders.world import World, quotas

Found = tuple[PlanScore, dict[str, bool], dict[str, int]]
RACKS, HOSTS = 5, 3


def a_world(random: Random) -> World:
    """Racks full of workloads of all priorities, and one that requests a rack or a block."""
    world = World()
    paths = [
        f"b{rack // 3}/r{rack}/h{rack}x{host}" for rack in range(RACKS) for host in range(HOSTS)
    ]
    world.hosts({path: random.randint(4, 8) for path in paths}, "gpu")
    world.cluster_queue("q", quotas(tas=1_000), preemption=policies("LowerPriority"))
    for number in range(random.randint(4, 20)):
        world.seconds += random.randint(0, 1)
        world.submit(
            f"w{number}",
            "q",
            {"gpu": random.randint(1, 4)},
            count=random.randint(1, 4),
            priority=random.randint(0, 4),
            preemptibility=random.choice(["Preemptible", "Preemptible", "NonPreemptible"]),
            topology=random.choice(
                [TopologyRequest(preferred="rack"), TopologyRequest(unconstrained=True)]
            ),
        )
        world.cycle()
    return world


def a_gang(world: World, random: Random) -> str:
    """A workload that requests one rack or one block, its pods perhaps in pairs on hosts."""
    pairs = (SliceLayer(level="kubernetes.io/hostname", size=2),) if random.random() < 0.3 else ()
    return world.submit(
        "gang",
        "q",
        {"gpu": random.randint(1, 5)},
        count=2 * random.randint(1, 3),
        priority=random.randint(2, 5),
        topology=TopologyRequest(required=random.choice(["rack", "block"]), slice_layers=pairs),
    )


class EveryDomain:
    """The search as it is told: every domain from its least to its most important occupant."""

    def __init__(self, world: World, partition: Partition, gang: Workload) -> None:
        self.world, self.partition, self.gang = world, partition, gang
        self.pod_set = gang.spec.pod_sets[0]
        self.topology = partition.topologies["tas"]

    def best(self) -> Found | None:
        """The cheapest of all domains."""
        request = self.pod_set.topology_request
        assert request is not None
        assert request.required is not None
        level = self.topology.levels.index(request.required)
        found = [self._in_domain(level, d) for d in range(len(self.topology.starts[level]))]
        return min((each for each in found if each is not None), default=None, key=lambda f: f[0])

    def _in_domain(self, level: int, domain: int) -> Found | None:
        within = np.zeros(len(self.topology.paths), dtype=np.bool_)
        within[leaf_range(self.topology, level, domain)] = True
        waiting = [w for w in self._evictable() if self._lies_in(w, within)]
        gone: list[Workload] = []
        while isinstance(place := self._place(within), PlacementShortfall) and waiting:
            gone.append(waiting.pop(0))
            self.partition.charges.release(PROJECTED, self.partition.charges.held_by(gone[-1]))
        victims = [] if isinstance(place, PlacementShortfall) else self._needed(gone, place)
        for workload in victims if not isinstance(place, PlacementShortfall) else gone:
            self.partition.charges.acquire(PROJECTED, self.partition.charges.held_by(workload))
        if isinstance(place, PlacementShortfall):
            return None
        name = "/".join(self.topology.domain_path(level, domain))
        candidates = [Victim(Candidate(w, "", {}), "Own") for w in victims]
        hosts = {d.values[-1]: d.count for d in place.assignment.domains}
        return plan_score(candidates, 0, name), {w.key: True for w in victims}, hosts

    def _needed(self, gone: list[Workload], place: PlacedPods) -> list[Workload]:
        pods = ((place.rows, place.counts, single_pod_requests(self.pod_set)),)
        victims: list[Workload] = []
        for workload in reversed(gone):
            self.partition.charges.acquire(PROJECTED, self.partition.charges.held_by(workload))
            if not self.partition.hosts.fits(PROJECTED, pods):
                self.partition.charges.release(PROJECTED, self.partition.charges.held_by(workload))
                victims.insert(0, workload)
        return victims

    def _place(self, within: Bools) -> PlacedPods | PlacementShortfall:
        flavor = self.world.cluster_state.config.resource_flavors["tas"].spec
        hosts = self.partition.hosts
        context = PlacementContext(hosts, self.topology, flavor, (PROJECTED,), {}, within)
        return place_pod_set(context, self.pod_set)

    def _evictable(self) -> list[Workload]:
        holders = [self.world[key] for key in self.partition.charges.holding["q"]]
        staying = [w for w in holders if not is_evicting(w)]
        lower = [w for w in staying if w.spec.priority < self.gang.spec.priority]
        asked = [w for w in lower if w.spec.preemptibility == "Preemptible"]
        return sorted(asked, key=lambda w: (w.spec.priority, -quota_reserved_at(w), w.uid))

    def _lies_in(self, workload: Workload, within: Bools) -> bool:
        leaves = [
            self.topology.leaves_of(p[0]) for p in self.partition.charges.held_by(workload).pods
        ]
        return any(bool(within[each].any()) for each in leaves)


@pytest.mark.slow
@given(st.integers(min_value=0, max_value=10**9))
def test_the_likely_domains_hold_the_cheapest_victims_of_all(seed: int) -> None:
    random = Random(seed)
    world = a_world(random)
    gang = world[a_gang(world, random)]
    key = next(key for key in world.cluster_state.partition_keys() if key != "installation")
    partition = world.cluster_state.partition(key)
    found = evaluate(partition, world.cluster_state.workloads, gang)
    if found.mode in {Mode.FIT, Mode.DEFERRED}:
        return
    best = EveryDomain(world, partition, gang).best()
    assert (best is not None) == (found.mode == Mode.PREEMPT)
    if best is not None:
        assert found.admission is not None
        (given_place,) = found.admission.pod_set_assignments
        assert given_place.topology_assignment is not None
        assert {v.workload.key: True for v in found.victims} == best[1]
        assert {d.values[-1]: d.count for d in given_place.topology_assignment.domains} == best[2]
