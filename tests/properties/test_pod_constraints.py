"""Pods stand where the pods around them let them, and wait only where no host would do.

The rules are told again here for single pods on hosts, from Kubernetes' documentation, and every
distribution of a small workload is tried.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.values.selectors import (
    LabelSelector,
    PodConstraints,
    PodTerm,
    SpreadConstraint,
)
from headgate.domain.workloads.events import WorkloadDeleted, WorkloadSubmitted
from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest, WorkloadSpec
from tests.builders.world import World, quotas
from tests.hypothesis_profiles import examples

APPS = ("web", "db")
KEYS = (HOSTNAME_LABEL, "rack", "zone")
APP = st.sampled_from(APPS)


class Host(NamedTuple):
    name: str
    rack: str
    zone: str
    cpu: int

    def value(self, key: str) -> str:
        return {HOSTNAME_LABEL: self.name, "rack": self.rack, "zone": self.zone}[key]


class Pod(NamedTuple):
    app: str
    host: Host
    requires: PodConstraints


@st.composite
def hosts(draw: st.DrawFn) -> list[Host]:
    return [
        Host(
            f"h{number}",
            f"r{draw(st.integers(0, 2))}",
            f"z{draw(st.integers(0, 2))}",
            draw(st.integers(0, 3)),
        )
        for number in range(draw(st.integers(1, 5)))
    ]


@st.composite
def constraints(draw: st.DrawFn) -> PodConstraints:
    """One kind of constraint; several kinds together are placed one after the other."""
    key, selector = draw(st.sampled_from(KEYS)), selecting(draw(APP))
    term = PodTerm(topology_key=key, selector=selector)
    spread = SpreadConstraint(
        topology_key=key,
        selector=selector,
        max_skew=draw(st.integers(1, 2)),
        min_domains=draw(st.sampled_from([1, 1, 2])),
    )
    return draw(
        st.sampled_from(
            [
                PodConstraints(),
                PodConstraints(anti_affinity=(term,)),
                PodConstraints(affinity=(term,)),
                PodConstraints(spread=(spread,)),
            ]
        )
    )


pod_sets = st.tuples(APP, st.integers(1, 4), constraints(), st.sampled_from([None, "rack"]))


def selecting(app: str) -> LabelSelector:
    return LabelSelector(match_labels={"app": app})


def selects(term: PodTerm | SpreadConstraint, app: str) -> bool:
    return term.selector is not None and term.selector.match_labels["app"] == app


@given(cluster=hosts(), wanted=st.lists(pod_sets, min_size=1, max_size=4))
@settings(max_examples=examples(600, quick=30), deadline=None)
def test_pods_keep_what_they_require_and_wait_only_where_nothing_does(
    cluster: list[Host], wanted: list[tuple[str, int, PodConstraints, str | None]]
) -> None:
    world = world_of(cluster)
    by_name = {host.name: host for host in cluster}
    there: list[Pod] = []
    for number, (app, count, requires, level) in enumerate(wanted):
        key = submitted(world, f"w{number}", app, count, requires, level)
        if world[key].admission is None:
            found = next(places(cluster, there, app, count, requires, level), None)
            assert found is None, f"{count} pods fit {found}"
            world.record(f"workload/{key}", WorkloadDeleted())
            continue
        pods = [
            Pod(app, by_name[name], requires)
            for name, placed in world.placed(key).items()
            for _ in range(placed)
        ]
        assert is_allowed(cluster, there, pods)
        there += pods


def world_of(cluster: list[Host]) -> World:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    for host in cluster:
        path = f"b/{host.rack}/{host.name}"
        world.node(path, {"zone": host.zone}, allocatable={"cpu": host.cpu, "pods": 110})
    world.cluster_queue("q", quotas("cpu", tas=1_000))
    return world


def submitted(  # noqa: PLR0913, PLR0917 - what a workload of these tests is
    world: World, name: str, app: str, count: int, requires: PodConstraints, level: str | None
) -> str:
    pod_set = PodSet(
        count=count,
        scheduling=Scheduling(
            requests={"cpu": 1},
            pod_constraints=None if requires == PodConstraints() else requires,
        ),
        template={"metadata": {"labels": {"app": app}}},
        topology_request=TopologyRequest(required=level) if level else None,
    )
    spec = WorkloadSpec(queue_name="q", pod_sets=(pod_set,))
    event = WorkloadSubmitted(uid=name, namespace="team", name=name, spec=spec)
    world.record(f"workload/team/{name}", event)
    world.cycle()
    return f"team/{name}"


def places(  # noqa: PLR0913, PLR0917 - what a workload of these tests is
    cluster: list[Host],
    there: list[Pod],
    app: str,
    count: int,
    requires: PodConstraints,
    level: str | None,
) -> Iterator[list[str]]:
    """Every way to place the pods."""
    for chosen in combinations_with_replacement(cluster, count):
        if level is not None and len({host.value(level) for host in chosen}) > 1:
            continue
        pods = [Pod(app, host, requires) for host in chosen]
        if is_allowed(cluster, there, pods):
            yield [host.name for host in chosen]


def is_allowed(cluster: list[Host], there: list[Pod], new: list[Pod]) -> bool:
    used = Counter(pod.host for pod in (*there, *new))
    return (
        all(used[host] <= host.cpu for host in used)
        and all(keeps_apart(pod, other) for pod, other in pairs(there, new))
        and all(is_near(there, new, term) for term in new[0].requires.affinity)
        and all(is_spread(cluster, there, new, each) for each in new[0].requires.spread)
    )


def pairs(there: list[Pod], new: list[Pod]) -> Iterator[tuple[Pod, Pod]]:
    for number, pod in enumerate(new):
        for other in (*there, *new[:number]):
            yield pod, other
            yield other, pod


def keeps_apart(pod: Pod, other: Pod) -> bool:
    return not any(
        selects(term, other.app)
        and pod.host.value(term.topology_key) == other.host.value(term.topology_key)
        for term in pod.requires.anti_affinity
    )


def is_near(there: list[Pod], new: list[Pod], term: PodTerm) -> bool:
    """The first pod of all may stand anywhere, others where selected pods are."""
    key = term.topology_key
    domains = {pod.host.value(key) for pod in there if selects(term, pod.app)}
    own = {pod.host.value(key) for pod in new}
    if domains:
        return own <= domains
    return selects(term, new[0].app) and len(own) == 1


def is_spread(
    cluster: list[Host], there: list[Pod], new: list[Pod], each: SpreadConstraint
) -> bool:
    domains = Counter({host.value(each.topology_key): 0 for host in cluster})
    for pod in (*there, *new):
        if selects(each, pod.app):
            domains[pod.host.value(each.topology_key)] += 1
    least = min(domains.values()) if len(domains) >= each.min_domains else 0
    return all(domains[pod.host.value(each.topology_key)] - least <= each.max_skew for pod in new)
