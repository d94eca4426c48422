"""Erasure of what users wrote: the digests by which events refer to it."""

from headgate.domain.recorded_event import DomainEvent
from headgate.domain.workloads.events import WorkloadSpecChanged, WorkloadSubmitted


def digests_of(event: DomainEvent) -> tuple[str, ...]:
    """The digests of the object or the pod templates as written that an event refers to."""
    if isinstance(event, WorkloadSubmitted | WorkloadSpecChanged):
        return tuple(pod_set.written for pod_set in event.spec.pod_sets if pod_set.written)
    digest = getattr(event, "written", "")
    return (digest,) if digest else ()
