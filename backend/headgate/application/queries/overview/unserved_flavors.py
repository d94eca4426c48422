"""Flavors of which no executor is connected, so that admitted workloads do not start."""

from collections.abc import Iterable, Mapping

import msgspec

from headgate.application.cooperative import Cooperative
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.executor_nodes import (
    executor_of_flavors,
    is_connected,
    nodes_of_flavor,
)
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.state import Workload, condition, phase_of

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


def unserved_flavors(cluster_state: ClusterState, at: Instant) -> Cooperative[list[UnservedFlavor]]:
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
) -> Cooperative[frozenset[str]]:
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
    for workload in tuple(cluster_state.workloads.values()):
        yield
        is_starting = phase_of(workload) == "Starting"
        if is_starting and _seconds_admitted(workload, at) >= SECONDS_WITHOUT_REPORT:
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
