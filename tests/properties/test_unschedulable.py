"""Unschedulable is the first reason of exactly the workloads that the emptied cluster refuses.

In the log, the list, the explanation, the alerts, the answer to the submit and a simulation
(issue 17 §1.1, ADR 0036). What the emptied cluster admits is found by a scheduler of its own.
"""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.application.commands.requests import (
    CommandResult,
    DecisionContext,
    StreamCommand,
)
from headgate.application.cooperative import at_once
from headgate.application.queries.overview.detectors import detected_problems
from headgate.application.queries.workloads.explanations import explanation_of, fresh_explanation
from headgate.application.queries.workloads.submission_warnings import warnings_about
from headgate.application.simulation_run import SimulationRequest, run_simulation
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.streams import workload_stream
from headgate.domain.workloads.commands import Submit
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadHeld
from headgate.domain.workloads.explanation import UNSCHEDULABLE, Explanation
from headgate.domain.workloads.specs import TopologyRequest
from headgate.domain.workloads.state import Workload, phase_of
from tests.builders.world import World, quotas
from tests.hypothesis_profiles import examples

PATHS = ("b1/r1/h1", "b1/r1/h2", "b1/r2/h3", "b2/r3/h4")
MAX_GPUS = 8
PLACES = ("log", "list", "why", "alerts", "submit", "what-if")


@dataclass(frozen=True)
class Submitted:
    """A workload of equal pods, none of which needs a host where there is no topology request."""

    queue: str
    gpus: int
    pods: int
    least: int | None
    level: str
    priority: int
    preemptibility: str
    is_held: bool


@dataclass(frozen=True)
class Installation:
    """Hosts by GPUs and readiness, two ClusterQueues of a cohort, and what is submitted."""

    hosts: tuple[tuple[int, bool], ...]
    nominal: tuple[int, int]
    borrowing: int | None
    strict: bool
    submitted: tuple[Submitted, ...]


SUBMITTED = st.builds(
    Submitted,
    queue=st.sampled_from(["a", "b"]),
    gpus=st.integers(1, MAX_GPUS + 1),
    pods=st.integers(1, 5),
    least=st.none() | st.just(1),
    level=st.sampled_from(["", "rack", "block"]),
    priority=st.integers(0, 2),
    preemptibility=st.sampled_from(["Preemptible", "NonPreemptible"]),
    is_held=st.booleans(),
)
INSTALLATIONS = st.builds(
    Installation,
    hosts=st.lists(
        st.tuples(st.integers(1, MAX_GPUS), st.booleans()), min_size=1, max_size=len(PATHS)
    ).map(tuple),
    nominal=st.tuples(st.integers(0, 24), st.integers(0, 24)),
    borrowing=st.none() | st.integers(0, 12),
    strict=st.booleans(),
    submitted=st.lists(SUBMITTED, min_size=1, max_size=6).map(tuple),
)


def _installed(case: Installation, *, all_ready: bool) -> World:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    for path, (gpus, is_ready) in zip(PATHS, case.hosts, strict=False):
        world.node(path, allocatable={"gpu": gpus, "pods": 110}, ready=all_ready or is_ready)
    for name, nominal in zip("ab", case.nominal, strict=True):
        world.cluster_queue(
            name,
            quotas(tas=(nominal, case.borrowing, None)),
            cohort_name="c",
            queueing_strategy="StrictFIFO" if case.strict else "BestEffortFIFO",
        )
    return world


def _submit(world: World, number: int, one: Submitted) -> str:
    least = None if one.least is None else min(one.least, one.pods)
    topology = TopologyRequest(required=one.level) if one.level else None
    return world.submit(
        f"w{number}",
        one.queue,
        {"gpu": one.gpus},
        count=one.pods if least is None else (one.pods, least),
        topology=topology or TopologyRequest(unconstrained=True),
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
    keys = [_submit(world, number, one) for number, one in enumerate(case.submitted)]
    world.settle()
    for key, one in zip(keys, case.submitted, strict=True):
        never = not _is_admitted_alone(case, one)
        if world[key].admission is not None:
            assert not never
        if phase_of(world[key]) != "Pending":
            continue
        if one.is_held:
            world.record(workload_stream(key), WorkloadHeld(owner="admin", reason="later"))
        assert _told(world, key) == dict.fromkeys(PLACES, never)
