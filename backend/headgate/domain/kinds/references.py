"""Which objects reference which, and so keep them from going (queueing.md §1, topology.md §1)."""

from collections.abc import Iterator, Mapping

from headgate.domain.kinds.registry import KINDS
from headgate.domain.object_set import ObjectSet
from headgate.domain.workloads.state import Workload


def referrers_of(
    config: ObjectSet, workloads: Mapping[str, Workload], kind: str, key: str
) -> tuple[str, ...]:
    """The objects that keep one from going, as `kind/key` in order; `kind` as in stream names.

    Besides the objects that name it: a ClusterQueue is kept by the workloads with its quota, a
    Namespace by everything that lives in it.
    """
    if kind == "clusterqueue":
        return (*_objects_naming(config, kind, key), *workloads_with_quota(workloads, key))
    if kind == "namespace":
        return objects_in_namespace(config, workloads, key)
    return tuple(_objects_naming(config, kind, key))


def workloads_with_quota(workloads: Mapping[str, Workload], cluster_queue: str) -> tuple[str, ...]:
    """The workloads that have quota reserved in a ClusterQueue."""
    return tuple(
        f"workload/{key}"
        for key, workload in sorted(workloads.items())
        if workload.finished_at is None
        and workload.admission is not None
        and workload.admission.cluster_queue == cluster_queue
    )


def objects_in_namespace(
    config: ObjectSet, workloads: Mapping[str, Workload], namespace: str
) -> tuple[str, ...]:
    """Everything that lives in a namespace, as `kind/key`."""
    prefix = f"{namespace}/"
    kinds: tuple[tuple[str, Mapping[str, object]], ...] = (
        *((k.stream_kind, config.of_kind(k.stream_kind)) for k in KINDS if k.is_namespaced),
        ("workload", workloads),
    )
    return tuple(
        f"{kind}/{key}"
        for kind, objects in kinds
        for key in sorted(objects)
        if key.startswith(prefix)
    )


def _objects_naming(config: ObjectSet, kind: str, key: str) -> Iterator[str]:
    for referring in KINDS:
        for name, found in sorted(config.of_kind(referring.stream_kind).items()):
            if (kind, key) in referring.references(found.spec):
                yield f"{referring.stream_kind}/{name}"
