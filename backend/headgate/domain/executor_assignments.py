"""What an executor is to run and to stop: the pods of admitted workloads that are its own."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from hashlib import sha256

import msgspec

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.executor import PortRange
from headgate.domain.kinds.executor_nodes import (
    executor_of_flavors,
    is_connected,
    loss_policy,
    nodes_of_flavor,
)
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.capabilities import NEED_OF_JOB
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.pods.attempt_pods import (
    NO_PROGRESS,
    AttemptPod,
    assigned_nodes,
    attempt_pods,
    pod_nodes,
)
from headgate.domain.workloads.pods.completions import runs_all_at_once
from headgate.domain.workloads.pods.eviction_units import pods_of_evictions
from headgate.domain.workloads.specs import NodeLossPolicy
from headgate.domain.workloads.state import Eviction, Workload, condition, is_admitted


class Rendezvous(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pods of an attempt meet: the node of rank 0, and the port it would rather have.

    The port is reserved in the range of the executor that runs rank 0.
    """

    host: str
    port: int
    executor: str = ""
    ports: PortRange = PortRange()


class PodOrder(msgspec.Struct, frozen=True, kw_only=True):
    """An eviction of some pods; `pods` has the indices of those of the executor by pod set."""

    eviction: Eviction
    pods: dict[str, tuple[int, ...]]


class ExecutorAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """One workload as one executor is to run or stop it.

    `hosts` has the node of each rank of the whole workload, empty where completions come one after
    another; `pods` those of this executor that have neither ended nor wait for a backoff. `ends`
    says that the eviction is for good: the workload is cancelled or deleted, or its end is decided.
    """

    workload: Workload
    node_loss_policy: NodeLossPolicy
    hosts: tuple[str, ...]
    rendezvous: Rendezvous | None
    pods: tuple[AttemptPod, ...]
    ends: bool
    pod_orders: tuple[PodOrder, ...] = ()


def executors_of(config: ObjectSet, workload: Workload) -> frozenset[str]:
    """The executors that have pods of an admitted workload; none for any other workload."""
    if not is_admitted(workload) or workload.finished_at is not None or not config.executors:
        return frozenset()
    assert workload.admission is not None, "what is admitted has a place"
    found = {
        _executor_at(config, workload, name, node)
        for name, nodes in pod_nodes(workload.admission, workload.layout).items()
        for node in dict.fromkeys(nodes.values())
    }
    return frozenset(found - {""})


def assignment_for(
    config: ObjectSet, workload: Workload, executor: str
) -> ExecutorAssignment | None:
    """The workload as the executor is to run it; None where it has no pods of it."""
    if executor not in executors_of(config, workload):
        return None
    assert workload.admission is not None, "what is admitted has a place"
    pods = tuple(attempt_pods(workload.admission, workload.layout))
    own = tuple(
        pod
        for pod in pods
        if _executor_at(config, workload, pod.pod_set, pod.node) == executor
        and not workload.progress.get(pod.pod_set, NO_PROGRESS).has_ended(pod.index)
        and (not workload.retry.is_delayed(pod.pod_set, pod.index) or _is_ordered(workload, pod))
    )
    chosen = {(pod.pod_set, pod.index) for pod in own}
    return ExecutorAssignment(
        workload=workload,
        node_loss_policy=loss_policy(config, executor, workload.spec.node_loss_policy),
        hosts=_hosts(workload, pods),
        rendezvous=_rendezvous(config, workload, pods),
        pods=own,
        ends=is_ending(workload),
        pod_orders=tuple(_orders(workload, chosen)),
    )


def rendezvous_of(config: ObjectSet, workload: Workload) -> Rendezvous | None:
    """Where the pods of a gang meet; None for other workloads, and without executor of rank 0."""
    if workload.admission is None or not executors_of(config, workload):
        return None
    pods = tuple(attempt_pods(workload.admission, workload.layout))
    found = _rendezvous(config, workload, pods) if len(pods) > 1 else None
    return found if found is not None and found.executor else None


def _is_ordered(workload: Workload, pod: AttemptPod) -> bool:
    """Whether an eviction takes the pod: its executor says that it does not run."""
    return workload.eviction is not None or any(
        pod.index in taken.get(pod.pod_set, ()) for _, taken in pods_of_evictions(workload)
    )


def is_ending(workload: Workload) -> bool:
    """Whether an eviction of the workload is for good."""
    eviction = workload.eviction
    is_over = eviction is not None and eviction.reason in {"PodFailed", "SuccessPolicyMet"}
    return is_over or workload.terminating_at is not None or workload.cancelling_at is not None


def _hosts(workload: Workload, pods: tuple[AttemptPod, ...]) -> tuple[str, ...]:
    """The node of each rank; of pods that have left, the node they would have now is unknown."""
    if not runs_all_at_once(workload):
        return ()
    assert workload.admission is not None, "what is admitted has a place"
    size = sum(
        workload.layout.counts.get(given.name, len(assigned_nodes(given)))
        for given in workload.admission.pod_set_assignments
    )
    hosts = [""] * size
    for pod in pods:
        hosts[pod.rank] = pod.node
    return tuple(hosts)


def _rendezvous(
    config: ObjectSet, workload: Workload, pods: tuple[AttemptPod, ...]
) -> Rendezvous | None:
    first = pods[0] if pods else None
    if first is None or not runs_all_at_once(workload):
        return None
    executor = _executor_at(config, workload, first.pod_set, first.node)
    found = config.executors.get(executor)
    ports = PortRange() if found is None else found.spec.rendezvous_ports
    port = rendezvous_port(ports, workload.uid, workload.attempt)
    return Rendezvous(host=first.node, port=port, executor=executor, ports=ports)


def rendezvous_port(ports: PortRange, uid: str, attempt: int) -> int:
    """A port of the range that follows from the attempt alone; it is taken where it is free."""
    drawn = int.from_bytes(sha256(f"{uid}/{attempt}".encode()).digest()[:8], "big")
    return ports.first + drawn % (ports.last - ports.first + 1)


def _executor_at(config: ObjectSet, workload: Workload, pod_set: str, node: str) -> str:
    """The executor of a node; of a pod without a node the oldest that selects its flavor."""
    named = executor_of_job(workload, pod_set)
    if node:
        known = config.nodes.get(node)
        found = known.spec.executor if known is not None else ""
        return found if named in {None, found} else ""
    if named is not None:
        return named if named in config.executors else ""
    assert workload.admission is not None, "what is admitted has a place"
    for given in workload.admission.pod_set_assignments:
        if given.name == pod_set:
            return executor_of_flavors(config, given.flavors.values())
    return ""


def executor_of_job(workload: Workload, pod_set: str) -> str | None:
    """The executor that follows the Job of these pods, connected or not; None for no Job."""
    for each in workload.spec.pod_sets:
        for need in each.needs if each.name == pod_set else ():
            if need.startswith(NEED_OF_JOB):
                return need.removeprefix(NEED_OF_JOB)
    return None


def _orders(workload: Workload, chosen: set[tuple[str, int]]) -> Iterator[PodOrder]:
    if workload.eviction is not None:
        return
    for pod_eviction, taken in pods_of_evictions(workload):
        pods = {
            name: tuple(index for index in indices if (name, index) in chosen)
            for name, indices in taken.items()
        }
        if any(pods.values()):
            left = {name: indices for name, indices in pods.items() if indices}
            yield PodOrder(eviction=pod_eviction.eviction, pods=left)


SECONDS_WITHOUT_REPORT = 15
"""A program without an Executor is taken for absent where it reports nothing for so long."""

ENDS = ("Succeeded", "Failed", "Cancelled")


class UnservedFlavor(msgspec.Struct, frozen=True, kw_only=True):
    """A flavor with its nodes and Executors, none of which is connected; empty for none at all.

    `unfinished` counts the workloads of its ClusterQueues that have not ended.
    """

    flavor: str
    nodes: tuple[str, ...]
    executors: tuple[str, ...]
    unfinished: int


def unserved_flavors(
    cluster_state: ClusterState, at: Instant
) -> Generator[None, None, list[UnservedFlavor]]:
    """The flavors of ClusterQueues without a connected executor, by name.

    Where no Executor selects a flavor, a program may report without one: the flavor is unserved
    once an admitted workload has waited for a report while no other one of its queues runs.
    """
    config, found = cluster_state.config, []
    is_any_lost = not all(map(is_connected, config.executors.values()))
    queues = _queues_by_flavor(config)
    silent = yield from _silent_flavors(cluster_state, queues, at)
    for name in sorted(queues.keys() & config.resource_flavors.keys()):
        yield
        if not is_any_lost and name not in silent:
            continue
        nodes = nodes_of_flavor(config, config.resource_flavors[name])
        executors = {node.spec.executor for node in nodes} or {executor_of_flavors(config, (name,))}
        known = [config.executors[each] for each in executors if each in config.executors]
        if any(map(is_connected, known)) or ("" in executors and name not in silent):
            continue
        found.append(
            UnservedFlavor(
                flavor=name,
                nodes=tuple(sorted(node.name for node in nodes)),
                executors=tuple(sorted(executor.name for executor in known)),
                unfinished=sum(_unfinished(cluster_state, queue) for queue in queues[name]),
            )
        )
    return found


def _queues_by_flavor(config: ObjectSet) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, queue in sorted(config.cluster_queues.items()):
        offered = (each.name for group in queue.spec.resource_groups for each in group.flavors)
        for flavor in dict.fromkeys(offered):
            found.setdefault(flavor, []).append(name)
    return found


def _phases(cluster_state: ClusterState, queue: str) -> Mapping[str, int]:
    return cluster_state.partition_index.counts.get(f"clusterqueue/{queue}", {})


def _unfinished(cluster_state: ClusterState, queue: str) -> int:
    phases = _phases(cluster_state, queue)
    return sum(phases.values()) - sum(phases.get(end, 0) for end in ENDS)


def _silent_flavors(
    cluster_state: ClusterState, queues: Mapping[str, Iterable[str]], at: Instant
) -> Generator[None, None, frozenset[str]]:
    """Flavors with an admitted workload of which nothing was reported, and no running one."""
    starting = {
        flavor
        for flavor, names in queues.items()
        if any("Starting" in _phases(cluster_state, name) for name in names)
        and not any("Running" in _phases(cluster_state, name) for name in names)
    }
    found: set[str] = set()
    if not starting:
        return frozenset()
    for key in tuple(cluster_state.reads.index.keys_in_phase("Starting")):
        yield
        workload = cluster_state.workloads[key]
        if _seconds_admitted(workload, at) >= SECONDS_WITHOUT_REPORT:
            found |= _flavors_of(workload) & starting
    return frozenset(found)


def _flavors_of(workload: Workload) -> set[str]:
    assert workload.admission is not None, "a starting workload is admitted"
    given = workload.admission.pod_set_assignments
    return {flavor for assignment in given for flavor in assignment.flavors.values()}


def _seconds_admitted(workload: Workload, at: Instant) -> int:
    admitted = condition(workload, "Admitted")
    assert admitted is not None, "a starting workload is admitted"
    return (at - admitted.last_transition_at) // MICROSECONDS_PER_SECOND
