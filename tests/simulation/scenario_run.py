"""A simulated day: random events, then faults end and everything must settle."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import (
    ClusterQueueChanged,
    ClusterQueueCreated,
    ClusterQueueResumed,
    ClusterQueueSpec,
    ClusterQueueStopped,
)
from headgate.domain.kinds.configuration import (
    AdmissionFairSharing,
    ConfigurationCreated,
    ConfigurationSpec,
)
from headgate.domain.kinds.configured_object import ObjectEvent
from headgate.domain.kinds.kubernetes_kinds import NamespaceCreated, NamespaceSpec
from headgate.domain.kinds.local_queue import LocalQueueCreated, LocalQueueSpec
from headgate.domain.kinds.priority_classes import (
    DisruptionBudgetCreated,
    DisruptionBudgetSpec,
    WorkloadPriorityClassChanged,
    WorkloadPriorityClassCreated,
    WorkloadPriorityClassSpec,
)
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.kinds.queue_stop import Stop, StopPolicy
from headgate.domain.kinds.resource_flavor import ResourceFlavorCreated, ResourceFlavorSpec
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologyCreated, TopologySpec
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.nodes.state import (
    NodeCordoned,
    NodeCreated,
    NodeDeleted,
    NodeDrainStarted,
    NodeReported,
    NodeSpec,
    NodeUncordoned,
)
from headgate.domain.rounds.state import is_open
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads import commands as c
from headgate.domain.workloads.state import Workload, phase_of
from tests.builders.world import quotas
from tests.simulation.cluster import SECONDS, Cluster

HOSTS = {f"h{number}": (f"b{number % 2}", f"r{number % 4}") for number in range(8)}
WAITS = WaitForPodsReady(
    timeout_seconds=60,
    recovery_timeout_seconds=30,
    requeuing_strategy=RequeuingStrategy(
        backoff_limit_count=3, backoff_base_seconds=5, backoff_max_seconds=20
    ),
)
HALF = 0.5
DEFAULT_CLASS = "workloadpriorityclass/default"
FAULTS = {
    Cluster.delay_nudges: 5,
    Cluster.deliver_nudges: 5,
    Cluster.fill_disk: 2,
    Cluster.free_disk: 10,
    Cluster.step_clock: 2,
    Cluster.back_up: 2,
    Cluster.rewind: 2,
    Cluster.write_as_later_release: 3,
}
Actions: TypeAlias = dict[Callable[[Cluster], None], int]
LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
SPECS = {
    "research": ClusterQueueSpec(
        resource_groups=quotas(plain=(8, 4, 6)), cohort_name="team", preemption=LOWER
    ),
    "product": ClusterQueueSpec(
        resource_groups=quotas(plain=12),
        cohort_name="team",
        preemption=LOWER,
        wait_for_pods_ready=WAITS,
    ),
    "batch": ClusterQueueSpec(
        resource_groups=quotas(tas=32), preemption=LOWER, wait_for_pods_ready=WAITS
    ),
    "tight": ClusterQueueSpec(resource_groups=quotas(tas=20), queueing_strategy="StrictFIFO"),
}


@dataclass(frozen=True, slots=True)
class SimulatedDay:
    """The result of a day: events by kind, crashes survived, and the log as text."""

    seen: dict[str, int]
    crashes: int
    log: str


def run_day(seed: int, steps: int = 250) -> SimulatedDay:
    """One simulated day; any broken rule is an AssertionError.

    On days of odd seeds what a plan stands on changes before the plan is written; every other day
    of even seeds is one of `_let_processes_lag`. The others end with a standby that lacks the last
    shape of the partitions.
    """
    cluster = Cluster(seed)
    install(cluster)
    share_budget(cluster)
    cluster.partitions.rate = cluster.chance.choice([0.0, 0.05, 0.2])
    cluster.partitions.interleaved = 0.3
    possible: Actions = {**actions(), **FAULTS}
    if seed % 2:
        cluster.interferences = INTERFERENCES
    elif seed % 4:
        _let_processes_lag(cluster)
        possible.update(LATE_ACTIONS)
    for _ in range(steps):
        cluster.now += cluster.chance.randint(0, 5 * SECONDS)
        apply_action(cluster, possible)
    cluster.partitions.rate = 0.0
    cluster.partitions.is_disk_full = False
    if seed % 4 == 0:
        cluster.lose_last_shape(_move_a_queue)
        cluster.surge()
    cluster.replica.append_held()
    _settle(cluster)
    seen = {**cluster.witness.seen, **cluster.faults}
    return SimulatedDay(seen, cluster.crashes, repr(cluster.database.events))


def installed_cluster(seed: int, steps: int, fault_rate: float = 0.0) -> Cluster:
    """A day that stops while evictions and rounds are in flight."""
    cluster = Cluster(seed)
    install(cluster)
    cluster.partitions.rate = fault_rate
    for _ in range(steps):
        step(cluster)
    cluster.partitions.rate = 0.0
    return cluster


def install(cluster: Cluster) -> None:
    """Queues, flavors and hosts for a day."""
    spec = TopologySpec(levels=("block", "rack", HOSTNAME_LABEL))
    tas = ResourceFlavorSpec(node_labels={"pool": "gpu"}, topology_name="tree")
    cluster.record(
        ("namespace/team", NamespaceCreated(uid="n", name="team", spec=NamespaceSpec())),
        ("topology/tree", TopologyCreated(uid="t", name="tree", spec=spec)),
        ("resourceflavor/tas", ResourceFlavorCreated(uid="f", name="tas", spec=tas)),
        (
            "resourceflavor/plain",
            ResourceFlavorCreated(uid="p", name="plain", spec=ResourceFlavorSpec()),
        ),
    )
    for name in HOSTS:
        cluster.record((f"node/{name}", _new_node(name)))
    for name, given in SPECS.items():
        open_to_all = replace(given, namespace_selector=LabelSelector())
        created_queue = ClusterQueueCreated(uid=name, name=name, spec=open_to_all)
        local = LocalQueueCreated(
            uid=name, name=name, namespace="team", spec=LocalQueueSpec(cluster_queue=name)
        )
        cluster.record((f"clusterqueue/{name}", created_queue))
        cluster.record((f"localqueue/team/{name}", local))


def _let_processes_lag(cluster: Cluster) -> None:
    """Queues move between cohorts, a lock is held twice, and processes act on what they read.

    An API process appends what it decided earlier, a worker shapes the partitions by what it read
    before, and usage that decays makes the order of events matter.
    """
    executors = (Cluster.execute,) * 4
    cluster.interferences = (*INTERFERENCES, *executors, _move_a_queue, _change_the_default_class)
    cluster.processes_lag = cluster.partitions.shapes_late = True
    sharing = AdmissionFairSharing(usage_half_life_seconds=60)
    configured = ConfigurationSpec(admission_fair_sharing=sharing)
    default = WorkloadPriorityClassSpec(value=1, global_default=True)
    cluster.record(
        ("configuration/default", ConfigurationCreated(uid="c", name="default", spec=configured)),
        (DEFAULT_CLASS, WorkloadPriorityClassCreated(uid="d", name="default", spec=default)),
    )


def share_budget(cluster: Cluster) -> None:
    """Adds a Strict DisruptionBudget over workloads of all partitions."""
    serving = LabelSelector(match_labels={"tier": "serving"})
    strict = DisruptionBudgetSpec(selector=serving, max_unavailable=1, enforcement="Strict")
    budget = DisruptionBudgetCreated(uid="b", namespace="team", name="serving", spec=strict)
    cluster.record(("disruptionbudget/team/serving", budget))


def step(cluster: Cluster) -> None:
    """Moves the clock and applies one random action."""
    cluster.now += cluster.chance.randint(0, 5 * SECONDS)
    random_action(cluster)


def random_action(cluster: Cluster) -> None:
    """Applies one random action."""
    apply_action(cluster, actions())


def actions() -> Actions:
    """Returns the possible actions with their weights."""
    return {
        Cluster.submit: 30,
        Cluster.execute: 30,
        Cluster.sweep: 40,
        Cluster.surge: 4,
        Cluster.nudge_for_nothing: 5,
        Cluster.disturb: 6,
        _report: 3,
        _order_a_node: 3,
        _remove_or_add_a_node: 1,
        _stop_a_queue: 2,
    }


def apply_action(cluster: Cluster, possible: Actions) -> None:
    """Applies an action drawn by weight."""
    cluster.chance.choices(list(possible), list(possible.values()))[0](cluster)


def _report(cluster: Cluster) -> None:
    """A host is lost, comes back, or is partly used by others."""
    name = cluster.chance.choice(sorted(HOSTS))
    lost = cluster.chance.random() < 0.3
    others = {"gpu": cluster.chance.randint(0, 4), "pods": 1}
    reported = NodeReported(
        ready=not lost, allocatable={"gpu": 8, "pods": 20}, used_by_others=others
    )
    cluster.record((f"node/{name}", reported))


def _order_a_node(cluster: Cluster) -> None:
    """An admin cordons or drains a host, or puts it back into service."""
    name = cluster.chance.choice(sorted(HOSTS))
    orders: list[ObjectEvent] = [NodeCordoned(), NodeDrainStarted(), NodeUncordoned()]
    order = cluster.chance.choice(orders)
    if name in cluster.witness.cluster_state.config.nodes:
        cluster.record((f"node/{name}", order))


def _remove_or_add_a_node(cluster: Cluster) -> None:
    """A host is taken out for good, or a new one of its name is put in."""
    name = cluster.chance.choice(sorted(HOSTS))
    if name in cluster.witness.cluster_state.config.nodes:
        cluster.record((f"node/{name}", NodeDeleted()))
    else:
        cluster.record((f"node/{name}", _new_node(name)))


def _new_node(name: str) -> NodeCreated:
    block, rack = HOSTS[name]
    labels = {"pool": "gpu", "block": block, "rack": rack}
    offered = NodeSpec(allocatable={"gpu": 8, "pods": 20})
    return NodeCreated(uid=name, name=name, labels=labels, spec=offered)


def _stop_a_queue(cluster: Cluster) -> None:
    """An admin stops a queue for a while, or lets it run again."""
    name = cluster.chance.choice(sorted(SPECS))
    stopped = cluster.witness.cluster_state.config.cluster_queues[name].spec.stop_policy != "None"
    if stopped:
        cluster.record((f"clusterqueue/{name}", ClusterQueueResumed()))
        return
    until = cluster.now + 40 * SECONDS
    stop = Stop(owner="x", reason="y", stopped_at=cluster.now, expires_at=until)
    policy: StopPolicy = "Hold" if cluster.chance.random() < HALF else "HoldAndDrain"
    cluster.record((f"clusterqueue/{name}", ClusterQueueStopped(policy=policy, stop=stop)))


def _settle(cluster: Cluster) -> None:
    """Ends faults and submits; executors report until no more events follow."""
    for name in sorted(HOSTS):
        if name not in cluster.witness.cluster_state.config.nodes:
            cluster.record((f"node/{name}", _new_node(name)))
        cluster.record((f"node/{name}", NodeUncordoned()))
        healed = NodeReported(ready=True, allocatable={"gpu": 8, "pods": 20})
        cluster.record((f"node/{name}", healed))
    for _ in range(2_000):
        cluster.now += 10 * SECONDS
        cluster.sweep()
        cluster_state = cluster.witness.cluster_state
        # What an admin does between a plan and its commit goes on: hosts are cordoned anew.
        for name, node in sorted(cluster_state.config.nodes.items()):
            if node.spec.unschedulable:
                cluster.record((f"node/{name}", NodeUncordoned()))
        busy = [w for _, w in sorted(cluster_state.workloads.items()) if w.finished_at is None]
        for workload in busy:
            if workload.pod_evictions and workload.eviction is None:
                first = workload.pod_evictions[0].eviction.id
                gone = c.ReportStopped(uid=workload.uid, attempt=workload.attempt, eviction=first)
                cluster.order(workload.key, gone)
            elif phase_of(workload) == "Starting":
                cluster.order(
                    workload.key,
                    c.ReportPodsReady(uid=workload.uid, attempt=workload.attempt, ready=True),
                )
            elif phase_of(workload) == "Running":
                cluster.order(
                    workload.key,
                    c.ReportFinished(uid=workload.uid, attempt=workload.attempt, succeeded=True),
                )
            elif phase_of(workload) == "Evicting":
                cluster.order(
                    workload.key, c.ReportStopped(uid=workload.uid, attempt=workload.attempt)
                )
            elif phase_of(workload) == "Inactive" or _never_fits(cluster, workload):
                cluster.order(workload.key, c.CancelWorkload(eviction="end"))
        if not busy:
            break
    cluster.witness.every_pending_workload_is_explained(cluster.now)
    left = {k: phase_of(w) for k, w in cluster.witness.cluster_state.workloads.items()}
    stuck = {k: p for k, p in left.items() if p not in {"Succeeded", "Failed", "Cancelled"}}
    assert not stuck, f"these never ended: {stuck}"
    cluster.sweep()
    still_open = [r.id for r in cluster.witness.cluster_state.rounds.values() if is_open(r)]
    assert not still_open, f"rounds without an end: {still_open}"


def _never_fits(cluster: Cluster, workload: Workload) -> bool:
    """Whether the recorded reason says that it is larger than its queue can ever be."""
    found = recorded_reason(cluster.witness.cluster_state, workload, cluster.now)
    return found is not None and found.is_unschedulable


def _move_a_queue(cluster: Cluster) -> None:
    """An admin takes a queue out of its cohort, or puts it back: partitions come and go."""
    name = cluster.chance.choice(("research", "product"))
    spec = cluster.witness.cluster_state.config.cluster_queues[name].spec
    moved = replace(spec, cohort_name="" if spec.cohort_name else "team")
    cluster.record((f"clusterqueue/{name}", ClusterQueueChanged(spec=moved)))
    cluster.faults["moved queues"] += 1


def _change_the_default_class(cluster: Cluster) -> None:
    """An admin gives workloads that name no class another priority."""
    value = cluster.chance.randint(0, 3)
    spec = WorkloadPriorityClassSpec(value=value, global_default=True)
    cluster.record((DEFAULT_CLASS, WorkloadPriorityClassChanged(spec=spec)))


LATE_ACTIONS: Actions = {
    Cluster.submit_to_replica: 10,
    Cluster.append_of_replica: 10,
    Cluster.back_up: 4,
    Cluster.rewind: 4,
    _move_a_queue: 2,
    _change_the_default_class: 2,
}
"""What happens besides on days of processes that lag."""
INTERFERENCES = (Cluster.disturb, Cluster.execute, _report, _order_a_node, _stop_a_queue)
"""What users, admins and executors may do between a plan and its commit."""
