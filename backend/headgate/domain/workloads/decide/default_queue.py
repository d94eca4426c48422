"""The queue of workloads that name none: the LocalQueue `default` of their namespace (§1.2)."""

from collections.abc import Container

from msgspec.structs import replace

from headgate.domain.workloads.specs import WorkloadSpec

DEFAULT_QUEUE = "default"


def with_default_queue(
    spec: WorkloadSpec,
    namespace: str,
    local_queues: Container[str],
    before: WorkloadSpec | None = None,
) -> WorkloadSpec:
    """The spec with a queue, if it names one or its namespace has a default.

    `local_queues` are known by `namespace/name`. A workload that exists keeps its queue where a
    change of it names none.
    """
    if spec.queue_name:
        return spec
    if before is not None and before.queue_name:
        return replace(spec, queue_name=before.queue_name)
    if f"{namespace}/{DEFAULT_QUEUE}" in local_queues:
        return replace(spec, queue_name=DEFAULT_QUEUE)
    return spec
