"""A submit is foretold, then made with nothing between: both must say the same."""

from dataclasses import dataclass
from random import Random

from headgate.application.commands.requests import DecisionContext, StreamCommand
from headgate.application.simulation_run import (
    PredictedState,
    SimulationRequest,
    run_simulation,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, workload_stream
from headgate.domain.workloads import commands as c
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from headgate.domain.workloads.state import Workload
from tests.simulation.cluster import QUEUES, REQUESTS, Cluster
from tests.simulation.scenario_run import installed_cluster, step

STEPS = 150
SUBMITS_PER_DAY = 20


@dataclass(frozen=True, slots=True)
class Prediction:
    """The verdict, the placement and the victims of one submit."""

    verdict: str
    placement: object
    victims: tuple[str, ...]


def compare_day(
    seed: int, submits: int = SUBMITS_PER_DAY, steps: int = STEPS
) -> list[tuple[Prediction, Prediction]]:
    """What was foretold and what happened, for some submits after the steps of one day."""
    cluster = installed_cluster(seed, steps)
    chance = Random(seed)
    found = []
    for number in range(submits):
        for _ in range(chance.randint(0, 6)):
            step(cluster)
        for _ in range(chance.randint(0, 4)):
            cluster.execute()
        rest(cluster)
        found.append(_compare(cluster, _command(chance, f"asked-{number}")))
    return found


def rest(cluster: Cluster) -> None:
    """Let the workers decide all there is to decide now."""
    while cluster.partitions.agenda().due:
        cluster.sweep()


def _compare(cluster: Cluster, command: c.Submit) -> tuple[Prediction, Prediction]:
    key = f"{command.namespace}/{command.name}"

    def decide(situation: DecisionContext) -> tuple[DomainEvent, ...]:
        return WORKLOAD.decide(situation.state, command, situation.at)

    change = StreamCommand(stream=workload_stream(key), decide=decide)
    fork = cluster.witness.cluster_state.fork()
    predicted = run_simulation(fork, SimulationRequest([change], cluster.now, lambda: False))
    before = cluster.log.head()
    cluster.record(
        *(
            (workload_stream(key), event)
            for event in WORKLOAD.decide(
                cluster.witness.cluster_state.state_of(workload_stream(key)), command, cluster.now
            )
        )
    )
    assert cluster.log.head() == before + 1
    rest(cluster)
    return _told(predicted.at_first[key]), _happened(cluster.witness.cluster_state, key)


def _told(predicted: PredictedState) -> Prediction:
    assert predicted.workload is not None
    victims = tuple(victim.workload for victim in predicted.victims)
    return _as_told(predicted.workload, victims)


def _happened(cluster_state: ClusterState, key: str) -> Prediction:
    workload = cluster_state.workloads[key]
    making_room = cluster_state.rounds.get(workload.round_id or "")
    victims = tuple(victim.workload for victim in making_room.victims) if making_room else ()
    return _as_told(workload, victims)


def _as_told(workload: Workload, victims: tuple[str, ...]) -> Prediction:
    if has_quota_reservation(workload):
        return Prediction("Admitted", workload.admission, ())
    if workload.round_id:
        return Prediction("MakesRoom", workload.nomination, victims)
    return Prediction("Waits", None, ())


def _command(chance: Random, name: str) -> c.Submit:
    queue = chance.choice(QUEUES)
    on_hosts = queue in {"batch", "tight"}
    pods = PodSet(
        count=chance.randint(1, 6),
        scheduling=Scheduling(requests={"gpu": chance.randint(1, 4)}),
        topology_request=chance.choice(REQUESTS) if on_hosts else None,
    )
    spec = WorkloadSpec(queue_name=queue, pod_sets=(pods,), priority=chance.randint(0, 5))
    return c.Submit(uid=f"uid-{name}", namespace="team", name=name, spec=spec)
