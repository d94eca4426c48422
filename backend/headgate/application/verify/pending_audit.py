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
        key: life for key, life in lives.items() if life.quota is None and not life.is_finished
    }
    explained_queues = {
        _cluster_queue(life, settings) for life in waiting.values() if life.is_explained
    }
    explained_wishes = {_wish(life, settings) for life in waiting.values() if life.is_explained}
    for key, life in sorted(waiting.items()):
        if now - life.changed_at <= grace or life.is_explained:
            continue
        if _wish(life, settings) in explained_wishes:
            continue
        if not _is_plain(life, settings, explained_queues):
            yield key


def _is_plain(
    life: AuditedWorkload, settings: ConfigurationAudit, explained_queues: set[str]
) -> bool:
    if not life.is_active or life.is_held or life.is_leaving or life.backs_off_until is not None:
        return True
    door = settings.local_queues.get(f"{life.namespace}/{life.spec.queue_name}")
    queue = settings.cluster_queues.get(_cluster_queue(life, settings))
    if door is None or queue is None:
        return True
    if door.stop_policy != "None" or queue.stop_policy != "None":
        return True
    named = {flavor.name for group in queue.resource_groups for flavor in group.flavors}
    if not named <= set(settings.flavors):
        return True
    return queue.queueing_strategy == STRICT and door.cluster_queue in explained_queues


def _wish(life: AuditedWorkload, settings: ConfigurationAudit) -> bytes:
    """Where it waits, how important it is, and all that its pods ask for, as one comparable."""
    pods = [
        (each.count, each.min_count, each.scheduling, each.topology_request)
        for each in life.spec.pod_sets
    ]
    place = (_cluster_queue(life, settings), life.spec.priority)
    return msgspec.json.encode((place, pods), order="deterministic")


def _cluster_queue(life: AuditedWorkload, settings: ConfigurationAudit) -> str:
    door = settings.local_queues.get(f"{life.namespace}/{life.spec.queue_name}")
    return door.cluster_queue if door else ""
