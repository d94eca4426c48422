"""Unschedulable is the first reason of exactly the workloads that the emptied cluster refuses.

In the log, the list, the explanation, the alerts, the answer to the submit and a simulation
(issue 17 §1.1, ADR 0036). What the emptied cluster admits is found by a scheduler of its own.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.application.commands.requests import (
    CommandResult,
    DecisionContext,
    StreamCommand,
)
from headgate.application.cooperative import at_once
from headgate.application.queries.detectors import detected_problems
from headgate.application.queries.explanations import explanation_of, fresh_explanation
from headgate.application.queries.lint_warnings import warnings_about
from headgate.application.simulation_run import SimulationRequest, run_simulation
from headgate.domain.kinds.cluster_queue import ClusterQueueStopped
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.recorded_event import DomainEvent, workload_stream
from headgate.domain.values.selectors import (
    LabelSelector,
    NodeSelectorTerm,
    PodConstraints,
    PodTerm,
    Requirement,
    SpreadConstraint,
)
from headgate.domain.workloads.commands import Submit
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadHeld
from headgate.domain.workloads.explanation import UNSCHEDULABLE, Explanation
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest
from headgate.domain.workloads.state import Workload, phase_of
from tests.builders.world import World, quotas
from tests.hypothesis_profiles import examples

PATHS = ("b1/r1/h1", "b1/r1/h2", "b1/r2/h3", "b2/r3/h4")
ZONES = ("east", "west", "east", "west")
"""The value of the label `zone` of the hosts, which pods select."""
QUEUES = ("a", "b")
MAX_GPUS = 8
PLACES = ("log", "list", "why", "alerts", "submit", "what-if")
PLAIN, IN_SLICES = "plain", "in slices of two by rack"
APART, TOGETHER, SPREAD = "apart", "together", "spread"
"""What pods require of all pods around them: anti-affinity, affinity, or spreading, by a level."""
Stops = Literal["", "before", "after"]


@dataclass(frozen=True)
class Submitted:
    """A workload of equal pods; `level` is the topology domain that they share, if any.

    PLAIN is without a topology request. `zone` is selected by the pods, as an affinity term where
    `by_affinity`. `around` is what they require of the pods around them, if anything, by a level.
    """

    queue: str
    gpus: int
    pods: int
    least: int | None
    level: str
    zone: str
    by_affinity: bool
    around: tuple[str, str]
    priority: int
    preemptibility: str
    is_held: bool


@dataclass(frozen=True)
class Installation:
    """Hosts by flavor, GPUs and readiness, two ClusterQueues of a cohort, and what is submitted.

    `nominal` are the quotas of the two queues in the flavors that they have, in order: `tas`, and
    where there is a second one `more`, with a topology or without. `stops` tells when the queues
    are stopped, if they are: before or after the submissions and the cycles that follow them.
    """

    hosts: tuple[tuple[str, int, bool], ...]
    nominal: tuple[tuple[int, int], ...]
    second_has_topology: bool
    borrowing: int | None
    strict: bool
    stops: tuple[Stops, Stops]
    submitted: tuple[Submitted, ...]


LEVELS = st.sampled_from([HOSTNAME_LABEL, "rack"])
SUBMITTED = st.builds(
    Submitted,
    queue=st.sampled_from(["a", "b"]),
    gpus=st.integers(1, MAX_GPUS + 1),
    pods=st.integers(1, 5),
    least=st.none() | st.just(1),
    level=st.sampled_from([PLAIN, "", "rack", "block", IN_SLICES]),
    zone=st.sampled_from(["", "", "east", "west", "north"]),
    by_affinity=st.booleans(),
    around=st.just(("", "")) | st.tuples(st.sampled_from([APART, TOGETHER, SPREAD]), LEVELS),
    priority=st.integers(0, 2),
    preemptibility=st.sampled_from(["Preemptible", "NonPreemptible"]),
    is_held=st.booleans(),
)
INSTALLATIONS = st.builds(
    Installation,
    hosts=st.lists(
        st.tuples(st.sampled_from(["tas", "more"]), st.integers(1, MAX_GPUS), st.booleans()),
        min_size=1,
        max_size=len(PATHS),
    ).map(tuple),
    nominal=st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), min_size=1, max_size=2).map(
        tuple
    ),
    second_has_topology=st.booleans(),
    borrowing=st.none() | st.integers(0, 12),
    strict=st.booleans(),
    stops=st.tuples(*[st.sampled_from(get_args(Stops))] * 2),
    submitted=st.lists(SUBMITTED, min_size=1, max_size=6).map(tuple),
)


def _installed(case: Installation, *, all_ready: bool) -> World:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "tas"}, topology_name="tree")
    second = "tree" if case.second_has_topology else ""
    world.flavor("more", node_labels={"pool": "more"}, topology_name=second)
    for path, zone, (pool, gpus, is_ready) in zip(PATHS, ZONES, case.hosts, strict=False):
        labels = {"pool": pool, "zone": zone}
        offered = {"gpu": gpus, "pods": 110}
        world.node(path, labels, allocatable=offered, ready=all_ready or is_ready)
    for number, name in enumerate(QUEUES):
        lines = zip(("tas", "more"), case.nominal, strict=False)
        given: dict[str, Any] = {
            flavor: (nominal[number], case.borrowing, None) for flavor, nominal in lines
        }
        world.cluster_queue(
            name,
            quotas(**given),
            cohort_name="c",
            queueing_strategy="StrictFIFO" if case.strict else "BestEffortFIFO",
        )
    return world


def _stop(world: World, case: Installation, when: Stops) -> None:
    for name, stops in zip(QUEUES, case.stops, strict=True):
        if stops == when:
            stop = Stop(owner="admin:ana", reason="upgrade", stopped_at=world.at)
            stopped = ClusterQueueStopped(policy="Hold", stop=stop)
            world.record(f"clusterqueue/{name}", stopped)


def _topology_request(level: str) -> TopologyRequest | None:
    if level == PLAIN:
        return None
    if level == IN_SLICES:
        by_rack = SliceLayer(level="rack", size=2)
        return TopologyRequest(required="block", slice_layers=(by_rack,))
    return TopologyRequest(required=level) if level else TopologyRequest(unconstrained=True)


def _pod_constraints(one: Submitted) -> PodConstraints | None:
    kind, key = one.around
    every_pod = LabelSelector(match_labels={"app": "web"})
    term = PodTerm(topology_key=key, selector=every_pod)
    if kind == APART:
        return PodConstraints(anti_affinity=(term,))
    if kind == TOGETHER:
        return PodConstraints(affinity=(term,))
    # Spreading of slices is refused when they are submitted.
    if kind == SPREAD and one.level != IN_SLICES:
        evenly = SpreadConstraint(topology_key=key, max_skew=1, selector=every_pod)
        return PodConstraints(spread=(evenly,))
    return None


def _submit(world: World, number: int, one: Submitted) -> str:
    pods, least = one.pods, None if one.least is None else min(one.least, one.pods)
    if one.level == IN_SLICES:
        pods, least = one.pods + one.pods % 2, None
    selects = NodeSelectorTerm(
        match_expressions=(Requirement(key="zone", operator="In", values=(one.zone,)),)
    )
    pod_set = PodSet(
        count=pods,
        min_count=least,
        scheduling=Scheduling(
            requests={"gpu": one.gpus},
            node_selector={"zone": one.zone} if one.zone and not one.by_affinity else {},
            affinity=(selects,) if one.zone and one.by_affinity else (),
            pod_constraints=_pod_constraints(one),
        ),
        template={"metadata": {"labels": {"app": "web"}}},
        topology_request=_topology_request(one.level),
    )
    return world.submit_pod_sets(
        f"w{number}",
        one.queue,
        pod_set,
        priority=one.priority,
        preemptibility=one.preemptibility,
    )


def _is_admitted_alone(case: Installation, one: Submitted) -> bool:
    world = _installed(case, all_ready=True)
    key = _submit(world, 0, one)
    world.settle()
    return world[key].admission is not None


def _told(world: World, key: str) -> dict[str, bool]:
    """Whether each place says that a pending workload is unschedulable."""
    state, workload = world.cluster_state, world[key]
    answer = CommandResult(stream=workload_stream(key), after=workload)
    warnings = at_once(warnings_about(state, [(answer, ())], None))
    problems = detected_problems(state, world.at)
    listed = explanation_of(state, workload, world.at)
    return {
        "log": (workload.explanation or listed).is_unschedulable,
        "list": listed.is_unschedulable,
        "why": fresh_explanation(state, workload, world.at).is_unschedulable,
        "alerts": ("NeverStarts", key) in [(found.kind, found.about) for found in problems],
        "submit": UNSCHEDULABLE in [found.rule for found in warnings],
        "what-if": _simulated(world, workload).is_unschedulable,
    }


def _simulated(world: World, workload: Workload) -> Explanation:
    """The reason of an equal workload, as a simulation of its submit predicts it."""
    stream = workload_stream(f"{workload.namespace}/other")
    command = Submit(uid="other", namespace=workload.namespace, name="other", spec=workload.spec)

    def decide(situation: DecisionContext) -> tuple[DomainEvent, ...]:
        return WORKLOAD.decide(situation.state, command, situation.at)

    change = StreamCommand(stream=stream, decide=decide)
    request = SimulationRequest([change], world.at, lambda: False)
    (found,) = run_simulation(world.cluster_state.fork(), request).at_first.values()
    assert found.explanation is not None
    return found.explanation


@settings(max_examples=examples(1_000, quick=8))
@given(INSTALLATIONS)
def test_unschedulable_is_what_the_emptied_cluster_refuses(case: Installation) -> None:
    world = _installed(case, all_ready=False)
    _stop(world, case, "before")
    keys = [_submit(world, number, one) for number, one in enumerate(case.submitted)]
    world.settle()
    _stop(world, case, "after")
    for key, one in zip(keys, case.submitted, strict=True):
        never = not _is_admitted_alone(case, one)
        if world[key].admission is not None:
            assert not never
        if phase_of(world[key]) != "Pending":
            continue
        if one.is_held:
            world.record(workload_stream(key), WorkloadHeld(owner="admin", reason="later"))
        assert _told(world, key) == dict.fromkeys(PLACES, never)
