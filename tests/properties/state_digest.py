"""Everything a cell keeps up to date by increments, as plain values that can be compared."""

from typing import Any

from msgspec.structs import astuple

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import workload_stream
from headgate.domain.scheduling.evaluation.evaluation_summary import top_holders
from headgate.domain.scheduling.ordering.pending_places import EquivalenceClass, PendingEntry
from headgate.domain.scheduling.placement.host_table import OVERLAY
from headgate.domain.workloads.ended import has_ended


def state_digest(cluster_state: ClusterState) -> dict[str, Any]:
    """Usage, hosts, competitors, holders, timers, rounds and counts of every partition."""
    return {
        "counts": {
            name: dict(sorted(c.items()))
            for name, c in _filled(cluster_state.partition_index.counts)
        },
        **{key: partition_digest(cluster_state, key) for key in cluster_state.partition_keys()},
    }


def state_digest_text(cluster_state: ClusterState) -> str:
    """The same as text, in an order of its own, so that it can be kept while the cell goes on."""
    found = state_digest(cluster_state)
    for partition in found.values():
        if "usage" in partition:
            partition["usage"] = [
                {node: dict(sorted(a.items())) for node, a in sorted(view.items())}
                for view in partition["usage"]
            ]
            for waiting in ("pending", "beside"):
                partition[waiting] = {
                    n: dict(sorted(m.items())) for n, m in sorted(partition[waiting].items())
                }
            partition["timers"] = dict(sorted(partition["timers"].items()))
            partition["rounds"] = dict(sorted(partition["rounds"].items()))
    return repr(found)


def folded(cluster_state: ClusterState) -> tuple[Any, ...]:
    """The fold itself, without its indices; of ended workloads what every fold of the log has."""
    workloads, versions = cluster_state.workloads, cluster_state.versions
    whole = {key for key, workload in workloads.items() if has_ended(workload)}
    streams_of_whole = {workload_stream(key) for key in whole}
    return (
        cluster_state.position,
        cluster_state.config_position,
        {key: workload for key, workload in workloads.items() if key not in whole},
        cluster_state.ended.dump(),
        cluster_state.rounds,
        {stream: at for stream, at in versions.items() if stream not in streams_of_whole},
        cluster_state.config,
        cluster_state.changed_at,
        cluster_state.usage_history.queues,
    )


def _filled(counts: dict[str, dict[str, int]]) -> list[tuple[str, dict[str, int]]]:
    return [(name, found) for name, found in sorted(counts.items()) if found]


def _entries(entries: dict[str, PendingEntry]) -> dict[str, tuple[Any, ...]]:
    """Entries with the parts of their classes, of which each queue has an object of its own."""
    return {
        key: tuple(
            value.parts if isinstance(value, EquivalenceClass) else value
            for value in astuple(entry)
        )
        for key, entry in entries.items()
    }


def partition_digest(cluster_state: ClusterState, key: str) -> dict[str, Any]:
    """What is kept up to date of one partition."""
    partition = cluster_state.partition(key)
    return {
        "usage": partition.usage,
        "places": partition.hosts.leaf_ids,
        "free": [view.tolist() for view in partition.hosts.free[:OVERLAY]],
        "usable": partition.hosts.schedulable.tolist(),
        "pending": {name: _entries(queue.in_heap) for name, queue in partition.pending.items()},
        "beside": {name: _entries(queue.suspended) for name, queue in partition.pending.items()},
        "holding": {name: sorted(keys) for name, keys in partition.charges.holding.items()},
        "largest": [
            (name, key, top_holders(partition, name, key))
            for name in partition.cluster_queues
            for key in sorted(partition.tree.subtree_quota[f"clusterqueue/{name}"])
        ],
        "timers": partition.timers.due,
        "leases": partition.leases.due,
        "searching": sorted(partition.watch.second_pass_pending),
        "rounds": partition.rounds,
        "stops": partition.stops,
    }
