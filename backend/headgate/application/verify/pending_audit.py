"""The audit that every pending workload has a reason at the end of the log."""

from collections.abc import Iterator

import msgspec

from headgate.application.verify.configuration_audit import ConfigurationAudit
from headgate.application.verify.lifecycle_audit import AuditedWorkload
from headgate.domain.values.instants import Instant

STRICT = "StrictFIFO"


def unexplained(
    lives: dict[str, AuditedWorkload], settings: ConfigurationAudit, now: Instant, grace: int
) -> Iterator[str]:
    """Keys of pending workloads without any reason that a user could be shown.

    Recorded explanations count, and so do reasons that need no evaluation: a hold, a backoff, a
    stopped or missing queue, the place behind an explained head of a strict queue, an explained
    workload of the same queue and priority with equal requests.
    """
    waiting = {
        key: workload
        for key, workload in lives.items()
        if workload.quota is None and not workload.is_finished
    }
    explained_queues = {
        _cluster_queue(workload, settings) for workload in waiting.values() if workload.is_explained
    }
    explained_wishes = {
        _wish(workload, settings) for workload in waiting.values() if workload.is_explained
    }
    for key, workload in sorted(waiting.items()):
        if now - workload.changed_at <= grace or workload.is_explained:
            continue
        if _wish(workload, settings) in explained_wishes:
            continue
        if not _is_plain(workload, settings, explained_queues):
            yield key


def _is_plain(
    workload: AuditedWorkload, settings: ConfigurationAudit, explained_queues: set[str]
) -> bool:
    if (
        not workload.is_active
        or workload.is_held
        or workload.is_leaving
        or workload.backs_off_until is not None
    ):
        return True
    local_queue = settings.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")
    queue = settings.cluster_queues.get(_cluster_queue(workload, settings))
    if local_queue is None or queue is None:
        return True
    if local_queue.stop_policy != "None" or queue.stop_policy != "None":
        return True
    named = {flavor.name for group in queue.resource_groups for flavor in group.flavors}
    if not named <= set(settings.flavors):
        return True
    return queue.queueing_strategy == STRICT and local_queue.cluster_queue in explained_queues


def _wish(workload: AuditedWorkload, settings: ConfigurationAudit) -> bytes:
    """Where it waits, how important it is, and all that its pods ask for, as one comparable."""
    pods = [
        (each.count, each.min_count, each.scheduling, each.topology_request)
        for each in workload.spec.pod_sets
    ]
    place = (_cluster_queue(workload, settings), workload.spec.priority)
    return msgspec.json.encode((place, pods), order="deterministic")


def _cluster_queue(workload: AuditedWorkload, settings: ConfigurationAudit) -> str:
    local_queue = settings.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")
    return local_queue.cluster_queue if local_queue else ""
