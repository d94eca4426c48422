"""The stored name and current schema version of every event, and the class that carries it."""

import re
from typing import get_args

from headgate.domain.kinds.registry import KINDS
from headgate.domain.recorded_event import ContentErased, DomainEvent, EventIgnored, LogRewound
from headgate.domain.rounds.state import RoundEvent
from headgate.domain.workloads.events import WorkloadEvent

EVENT_CLASSES: tuple[type[DomainEvent], ...] = (
    *(event for kind in KINDS for event in kind.events),
    *get_args(WorkloadEvent),
    *get_args(RoundEvent),
    LogRewound,
    ContentErased,
)


def name_of(event_class: type[DomainEvent]) -> str:
    """The stored name of an event class, for ever the same."""
    return str(event_class.__struct_config__.tag)


def stored_name_of(event: DomainEvent) -> str:
    """The name an event is stored under; of an ignored event that of the later release."""
    return event.name if isinstance(event, EventIgnored) else name_of(type(event))


SCHEMA_VERSIONS: dict[str, int] = {
    "round.aborted": 2,
    "round.committed": 2,
    "workload.eviction_cancelled": 2,
    "workload.explained": 2,
    "workload.submitted": 7,
    "workload.spec_changed": 6,
    "workload.evicted": 2,
    "workload.pods_evicted": 2,
    "workload.reservation_dropped": 2,
    "workload.deactivated": 2,
    "workload.finished": 2,
    "workload.eviction_forced": 2,
    **{name_of(event): 2 for kind in KINDS for event in (kind.created, kind.changed)},
    "node.created": 3,
    "node.changed": 3,
    "executor.created": 3,
    "executor.changed": 3,
    "configuration.created": 5,
    "configuration.changed": 5,
}
"""The current schema version by stored name; names that are absent are at version 1.

Version 2 of the creation and change of a configured object names what its author wrote, version 3
of those of the Configuration the limit of objects in a namespace, version 4 its rules of submission
and version 5 whether nodes below topologies are checked, version 4 of a workload's submission and
version 3 of its change the pod templates that stand beside the log.
The versions after these have what executors say of nodes and of themselves, and a workload's own
nodeLossPolicy; then a workload's spec has its retries and completions, and last what its pods need
of executors.
"""

READABLE_SINCE: dict[str, int] = {"workload.submitted": 5, "workload.spec_changed": 4}
"""By stored name the least schema version that reads an event written now, if it is a lower one.

A release of that version finds all it needs: what was added since are fields that it may ignore.
"""
LATER_FIELDS = re.compile(
    rb'"(?:completions|retry_policy|ttl_seconds_after_finished)":(?!null)|"success_rules":\[(?!\])'
)
"""What in the fields of an event a release before retries may not do without."""
READABLE_SINCE_RETRIES: dict[str, int] = {"workload.submitted": 6, "workload.spec_changed": 5}
"""The least schema version that reads an event with such a field; releases before it wait."""
IGNORABLE: frozenset[str] = frozenset({"workload.session_opened"})
"""Stored names of events without effect on any state that releases before them fold."""

CLASSES_BY_NAME: dict[str, type[DomainEvent]] = {name_of(known): known for known in EVENT_CLASSES}


def schema_version_of(name: str) -> int:
    """The version in which events of that name are written now."""
    return SCHEMA_VERSIONS.get(name, 1)
