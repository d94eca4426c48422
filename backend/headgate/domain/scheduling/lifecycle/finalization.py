"""Objects that wait to go until nothing uses them any more, and now may (queueing.md §1.1)."""

from collections.abc import Iterator, Mapping

from headgate.domain.facts import DomainEvent
from headgate.domain.kinds.references import referrers_of
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.object_set import ObjectSet
from headgate.domain.workloads.state import Workload


def terminating_objects(config: ObjectSet) -> tuple[tuple[str, str], ...]:
    """The objects that wait to go, as kind and key."""
    return tuple(
        (kind, key)
        for kind in KINDS_BY_STREAM
        for key, found in sorted(config.of_kind(kind).items())
        if found.terminating_at is not None
    )


def finalized_objects(
    config: ObjectSet, workloads: Mapping[str, Workload]
) -> Iterator[tuple[str, DomainEvent]]:
    """The objects that go now, each with its stream and its last fact."""
    for kind, key in terminating_objects(config):
        if not referrers_of(config, workloads, kind, key):
            yield f"{kind}/{key}", KINDS_BY_STREAM[kind].deleted()
