"""Cohort: ClusterQueues that lend to each other, in a tree of Cohorts (queueing.md §1.3)."""

import msgspec

from headgate.domain.field_rules import optional_name_violations
from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.kinds.queue_settings import (
    MinimumRuntime,
    ResourceGroup,
    group_violations,
    runtime_violations,
    weight_violations,
)
from headgate.domain.rejection import Violation


class CohortSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A group of ClusterQueues that lend to each other, with quota of its own.

    `min_runtime` protects every workload below it from reclaims by workloads outside of it.
    """

    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    fair_weight_milli: int = 1000
    min_runtime: MinimumRuntime = MinimumRuntime()


class CohortCreated(ObjectCreated[CohortSpec], frozen=True, kw_only=True, tag="cohort.created"):
    """The Cohort exists, as generation 1."""


class CohortChanged(ObjectChanged[CohortSpec], frozen=True, kw_only=True, tag="cohort.changed"):
    """Labels, annotations or spec of the Cohort are replaced."""


class CohortDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="cohort.deletion_requested"
):
    """Deletion of the Cohort was requested while others referenced it."""


class CohortDeleted(ObjectDeleted, frozen=True, tag="cohort.deleted"):
    """The Cohort is gone; its name is free."""


def cohort_violations(spec: CohortSpec) -> tuple[Violation, ...]:
    """Broken rules of one Cohort; cycles are allowed and found when it is used."""
    return (
        *group_violations(
            spec.resource_groups,
            has_parent=bool(spec.parent_name),
            lends_at_most_nominal=False,
        ),
        *optional_name_violations("/spec/parentName", spec.parent_name),
        *runtime_violations(spec.min_runtime),
        *weight_violations(spec.fair_weight_milli),
    )


COHORT: Kind[CohortSpec] = Kind(
    name="Cohort",
    plural="Cohorts",
    short_names=("co",),
    spec=CohortSpec,
    created=CohortCreated,
    changed=CohortChanged,
    deletion_requested=CohortDeletionRequested,
    deleted=CohortDeleted,
    rules=cohort_violations,
)
