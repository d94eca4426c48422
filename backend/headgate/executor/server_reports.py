"""What an executor tells the server, in the shapes of the API: reports, progress, and orphans."""

from collections.abc import Sequence

import msgspec

from headgate.client.executors import ExecutorClient
from headgate.domain.values.quantities import Requests, added, amount_of
from headgate.executor.core import EvictionProgress, RunAnswer, orphan_id
from headgate.executor.reconcile import RunReport, rfc3339
from headgate.executor.substrate import NodeDescription, Object, ObservedRun

PODS = "pods"
MAX_ORPHANS = 1_000
"""The server takes no more."""


class ToldProgress(msgspec.Struct, frozen=True):
    """Progress of evictions that the server knows."""

    told: tuple[EvictionProgress, ...]


def send_progress(client: ExecutorClient, progress: tuple[EvictionProgress, ...]) -> ToldProgress:
    """Sends progress of evictions, and returns what was sent."""
    client.report_progress(
        [
            {
                "type": "progressed",
                "workload": each.workload,
                "uid": each.uid,
                "attempt": each.attempt,
                "eviction": each.eviction,
                "message": each.message,
            }
            for each in progress
        ]
    )
    return ToldProgress(progress)


def send_reports(client: ExecutorClient, reports: list[RunReport]) -> list[RunAnswer]:
    """Sends reports, and returns the answer to each."""
    outcomes = client.report(reports)
    return [
        RunAnswer(
            report=report, accepted=outcome.accepted, code=outcome.code, detail=outcome.detail
        )
        for report, outcome in zip(reports, outcomes, strict=True)
    ]


def orphan_objects(runs: Sequence[ObservedRun]) -> list[Object]:
    """Returns orphaned pods as they are reported; the first ones where there are too many."""
    return [
        {
            "id": orphan_id(run.key.name),
            "workload": run.key.workload,
            "podSet": run.key.pod_set,
            "index": run.key.index,
            "attempt": run.key.attempt,
            "run": run.key.run,
            "node": run.node,
            "startedAt": rfc3339(run.started_at),
        }
        for run in runs[:MAX_ORPHANS]
    ]


def with_use_by_orphans(
    nodes: Sequence[NodeDescription], runs: Sequence[ObservedRun]
) -> list[NodeDescription]:
    """Returns the nodes with what orphaned pods use there, so that it is given to no other pod.

    It is added to what the substrate tells of others.
    """
    used = {node.name: _amounts(node.used_by_others or {}) for node in nodes}
    for run in runs:
        if run.node in used:
            used[run.node] = added(used[run.node], {**run.requests, PODS: 1})
    return [
        msgspec.structs.replace(node, used_by_others=quantities_of(used[node.name]))
        for node in nodes
    ]


def _amounts(quantities: dict[str, str]) -> Requests:
    return {resource: amount_of(resource, quantity) for resource, quantity in quantities.items()}


def quantities_of(amounts: Requests) -> dict[str, str]:
    """Returns amounts as Kubernetes quantities."""
    return {
        resource: f"{amount}m" if resource == "cpu" else str(amount)
        for resource, amount in amounts.items()
    }
