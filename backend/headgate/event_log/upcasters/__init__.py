"""Steps that bring the stored shape of an old event to the next schema version, by event name.

A step takes the fields of one version as a dictionary and gives those of the next. It is total and
never changes once events of the newer version exist.
"""

from headgate.domain.kinds.registry import KINDS
from headgate.event_log.upcasters.explanations import (
    aborted_with_message,
    cancelled_with_message,
    committed_with_messages,
    explained_with_messages,
)
from headgate.event_log.upcasters.recorded_text import Fields, Step
from headgate.event_log.upcasters.workload_messages import (
    deactivated_with_message,
    dropped_with_message,
    evicted_with_message,
    finished_with_message,
    forced_with_message,
    pods_evicted_with_message,
    spec_with_messages,
)

__all__ = ["UPCASTERS", "Fields", "Step"]


def _without_written(fields: Fields) -> Fields:
    """Configured objects of version 1: what their authors wrote was not kept."""
    return {**fields, "written": ""}


def _without_submission_rules(fields: Fields) -> Fields:
    """Configurations up to version 3: no rule bounded what tenants submit, the defaults do now."""
    return {**fields, "spec": {**fields["spec"], "submission": {"rules": []}}}


def _without_owner(fields: Fields) -> Fields:
    """Workloads submitted up to version 2: their owner is the actor of the event."""
    return {**fields, "owner": None}


def _without_limits(fields: Fields) -> Fields:
    """Configurations of version 2: the default limits hold."""
    return fields


def _with_whole_templates(fields: Fields) -> Fields:
    """Workloads up to here: the event has their pod templates whole, and nothing is beside it."""
    return fields


def _before_executors(fields: Fields) -> Fields:
    """Specs of before executors: what they say of nodes and workloads is absent, as by default."""
    return fields


def _before_retries(fields: Fields) -> Fields:
    """Specs of before retry policies and completions, both absent as by default."""
    return fields


def _before_needs(fields: Fields) -> Fields:
    """Specs of before the needs of pods were recorded: they restrict no flavor, as by default."""
    return fields


UPCASTERS: dict[tuple[str, int], Step] = {
    ("round.aborted", 1): aborted_with_message,
    ("round.committed", 1): committed_with_messages,
    ("workload.eviction_cancelled", 1): cancelled_with_message,
    ("workload.explained", 1): explained_with_messages,
    ("workload.submitted", 1): spec_with_messages,
    ("workload.submitted", 2): _without_owner,
    ("workload.spec_changed", 1): spec_with_messages,
    ("workload.submitted", 3): _with_whole_templates,
    ("workload.spec_changed", 2): _with_whole_templates,
    ("workload.submitted", 4): _before_executors,
    ("workload.spec_changed", 3): _before_executors,
    ("workload.submitted", 5): _before_retries,
    ("workload.spec_changed", 4): _before_retries,
    ("workload.submitted", 6): _before_needs,
    ("workload.spec_changed", 5): _before_needs,
    ("node.created", 2): _before_executors,
    ("node.changed", 2): _before_executors,
    ("executor.created", 2): _before_executors,
    ("executor.changed", 2): _before_executors,
    ("configuration.created", 2): _without_limits,
    ("configuration.changed", 2): _without_limits,
    ("workload.evicted", 1): evicted_with_message,
    ("workload.pods_evicted", 1): pods_evicted_with_message,
    ("workload.reservation_dropped", 1): dropped_with_message,
    ("workload.deactivated", 1): deactivated_with_message,
    ("workload.finished", 1): finished_with_message,
    ("workload.eviction_forced", 1): forced_with_message,
    ("configuration.created", 3): _without_submission_rules,
    ("configuration.changed", 3): _without_submission_rules,
    **{
        (str(event.__struct_config__.tag), 1): _without_written
        for kind in KINDS
        for event in (kind.created, kind.changed)
    },
}
"""By stored name and the schema version a step starts from."""
