"""Since when queues can admit or cannot, where that is not so since they were made.

The condition Active of a queue follows from it and from objects that it names (activity). When one
of them changes, the queues that name it are looked at before and after; nothing is kept of those
that stay as they are.
"""

from collections.abc import Iterator

from headgate.domain.config import Config
from headgate.domain.configured import Configured
from headgate.domain.queues.activity import cluster_queue_activity, local_queue_activity
from headgate.domain.queues.specs import ClusterQueueSpec, LocalQueueSpec
from headgate.domain.values.instants import Instant

CONCERNING = ("clusterqueue", "localqueue", "resourceflavor", "topology", "admissioncheck")
"""Kinds of objects of which one may change whether a queue can admit."""


def activities(config: Config, kind: str, key: str) -> dict[str, bool]:
    """By stream, whether the queues can admit that one object of these kinds may concern."""
    if kind == "localqueue":
        known = key in config.local_queues
        return {f"localqueue/{key}": local_queue_activity(config, key).active} if known else {}
    return {
        f"clusterqueue/{name}": cluster_queue_activity(config, name).active
        for name in _concerned(config, kind, key)
    }


def with_flips(
    config: Config, kind: str, key: str, before: dict[str, bool], at: Instant
) -> dict[str, Instant]:
    """When the activity of queues last changed, after one object did; what it holds is not changed.

    `before` are the `activities` before the change that `config` has seen.
    """
    after = activities(config, kind, key)
    gone = before.keys() - after.keys()
    flipped = [queue for queue in after if before.get(queue, after[queue]) != after[queue]]
    for queue in {**before, **after}:
        if before.get(queue, False) != after.get(queue, False):
            flipped += _doors(config, queue)
    if not flipped and gone.isdisjoint(config.active_since):
        return config.active_since
    kept = {queue: since for queue, since in config.active_since.items() if queue not in gone}
    return {**kept, **dict.fromkeys(flipped, at)}


def active_since(
    config: Config,
    stream: str,
    queue: Configured[ClusterQueueSpec] | Configured[LocalQueueSpec],
) -> Instant:
    """Since when the queue of that stream is active, or since when not."""
    return config.active_since.get(stream, queue.created_at)


def _concerned(config: Config, kind: str, key: str) -> Iterator[str]:
    if kind == "clusterqueue":
        yield from (key,) if key in config.cluster_queues else ()
        return
    flavors: tuple[str, ...] = (key,)
    if kind == "topology":
        known = config.resource_flavors.items()
        flavors = tuple(name for name, flavor in known if flavor.spec.topology_name == key)
    for name, queue in config.cluster_queues.items():
        if kind == "admissioncheck":
            is_named = any(rule.name == key for rule in queue.spec.admission_checks)
        else:
            is_named = any(
                quotas.name in flavors
                for group in queue.spec.resource_groups
                for quotas in group.flavors
            )
        if is_named:
            yield name


def _doors(config: Config, queue: str) -> Iterator[str]:
    """LocalQueues that lead to a ClusterQueue, and that nothing else keeps from admitting."""
    kind, _, name = queue.partition("/")
    for key, door in config.local_queues.items() if kind == "clusterqueue" else ():
        is_open = door.terminating_at is None and door.spec.stop_policy == "None"
        if is_open and door.spec.cluster_queue == name:
            yield f"localqueue/{key}"
