"""ClusterQueue: quota for many namespaces, with its order and policies (queueing.md §1.1).

And Cohort: ClusterQueues that lend to each other, in a tree of Cohorts (queueing.md §1.3).
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.field_rules import (
    count_violations,
    duplicate_violations,
    name_violations,
    optional_name_violations,
    selector_violations,
)
from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    StatusEvent,
)
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.kinds.queue_settings import (
    ClusterQueuePreemption,
    MinimumRuntime,
    ResourceGroup,
    group_violations,
    preemption_violations,
    runtime_violations,
    weight_violations,
)
from headgate.domain.kinds.queue_stop import (
    Stop,
    StopEvents,
    StopPolicy,
    decide_stoppable,
    evolve_stoppable,
)
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady, wait_violations
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.selectors import LabelSelector

FungibilityPolicy = Literal["MayStopSearch", "TryNextFlavor"]


class FlavorFungibility(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the next flavor is tried before borrowing or preempting in this one."""

    when_can_borrow: FungibilityPolicy = "MayStopSearch"
    when_can_preempt: FungibilityPolicy = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None


class AdmissionCheckRule(msgspec.Struct, frozen=True, kw_only=True):
    """A check that workloads must pass; no flavors named means all of them."""

    name: str
    on_flavors: tuple[str, ...] = ()


class ClusterQueueSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Quota, order and policies of one ClusterQueue. No namespace selector matches no namespace."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort_name: str = ""
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: ClusterQueuePreemption = ClusterQueuePreemption()
    admission_checks: tuple[AdmissionCheckRule, ...] = ()
    stop_policy: StopPolicy = "None"
    stop: Stop | None = None
    fair_weight_milli: int = 1000
    admission_mode: str | None = None
    wait_for_pods_ready: WaitForPodsReady | None = None


class ClusterQueueCreated(
    ObjectCreated[ClusterQueueSpec], frozen=True, kw_only=True, tag="cluster_queue.created"
):
    """The ClusterQueue exists, as generation 1."""


class ClusterQueueChanged(
    ObjectChanged[ClusterQueueSpec], frozen=True, kw_only=True, tag="cluster_queue.changed"
):
    """Labels, annotations or spec of the ClusterQueue are replaced."""


class ClusterQueueDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="cluster_queue.deletion_requested"
):
    """Deletion of the ClusterQueue was requested while others referenced it."""


class ClusterQueueDeleted(ObjectDeleted, frozen=True, tag="cluster_queue.deleted"):
    """The ClusterQueue is gone; its name is free."""


class ClusterQueueStopped(StatusEvent, frozen=True, kw_only=True, tag="cluster_queue.stopped"):
    """It admits nothing from now on; HoldAndDrain also evicts what runs (queueing.md §6)."""

    policy: StopPolicy
    stop: Stop


class ClusterQueueResumed(StatusEvent, frozen=True, kw_only=True, tag="cluster_queue.resumed"):
    """It admits again; `expired` says that the stop expired."""

    expired: bool = False


MAX_CHECKS = 64
MAX_FLAVORS_OF_CHECK = 64
_CHECKS = "/spec/admissionChecksStrategy/admissionChecks"


def cluster_queue_violations(spec: ClusterQueueSpec) -> tuple[Violation, ...]:
    """Broken rules of a ClusterQueue, without regard to other objects."""
    return (
        *group_violations(
            spec.resource_groups,
            has_parent=bool(spec.cohort_name),
            lends_at_most_nominal=True,
        ),
        *optional_name_violations("/spec/cohortName", spec.cohort_name),
        *_policy_violations(spec),
        *_check_violations(spec.admission_checks),
        *_selector_violations(spec),
        *weight_violations(spec.fair_weight_milli),
        *wait_violations("/spec/waitForPodsReady", spec.wait_for_pods_ready),
    )


def new_cluster_queue_violations(spec: ClusterQueueSpec) -> tuple[Violation, ...]:
    """Returns broken rules of a new ClusterQueue: a check must name flavors that the queue has."""
    known = tuple(flavor_names(spec))
    return tuple(
        violation(child(_CHECKS, index, "onFlavors", at), "NotOneOf", value=flavor, choices=known)
        for index, check in enumerate(spec.admission_checks)
        for at, flavor in enumerate(check.on_flavors)
        if flavor not in known
    )


def cluster_queue_change_violations(
    before: ClusterQueueSpec, after: ClusterQueueSpec
) -> tuple[Violation, ...]:
    """Unknown flavors of checks pass as long as neither the checks nor the flavors change."""
    unchanged = before.admission_checks == after.admission_checks
    if unchanged and flavor_names(before).keys() == flavor_names(after).keys():
        return ()
    return new_cluster_queue_violations(after)


def flavor_names(spec: ClusterQueueSpec) -> dict[str, None]:
    """The names of the flavors that the ClusterQueue has quota in, in the order of the spec."""
    return {flavor.name: None for group in spec.resource_groups for flavor in group.flavors}


def _policy_violations(spec: ClusterQueueSpec) -> Iterator[Violation]:
    fungibility = spec.flavor_fungibility
    policies = {fungibility.when_can_borrow, fungibility.when_can_preempt}
    if fungibility.preference is not None and policies != {"TryNextFlavor"}:
        yield violation("/spec/flavorFungibility/preference", "PreferenceWithoutTryNextFlavor")
    yield from preemption_violations(spec.preemption)


def _check_violations(checks: tuple[AdmissionCheckRule, ...]) -> Iterator[Violation]:
    yield from count_violations(_CHECKS, len(checks), MAX_CHECKS)
    names = [(child(_CHECKS, index, "name"), check.name) for index, check in enumerate(checks)]
    for pointer, name in names:
        yield from name_violations(pointer, name)
    yield from duplicate_violations(names)
    for index, check in enumerate(checks):
        place = child(_CHECKS, index, "onFlavors")
        yield from count_violations(place, len(check.on_flavors), MAX_FLAVORS_OF_CHECK)


def _selector_violations(spec: ClusterQueueSpec) -> Iterator[Violation]:
    if spec.namespace_selector is not None:
        yield from selector_violations("/spec/namespaceSelector", spec.namespace_selector)


def _references(spec: ClusterQueueSpec) -> tuple[tuple[str, str], ...]:
    """The flavors with quota and the checks that workloads must pass."""
    return (
        *(("resourceflavor", name) for name in flavor_names(spec)),
        *(("admissioncheck", check.name) for check in spec.admission_checks),
    )


_STOP_EVENTS = StopEvents(ClusterQueueStopped, ClusterQueueResumed)


CLUSTER_QUEUE: Kind[ClusterQueueSpec] = Kind(
    name="ClusterQueue",
    plural="ClusterQueues",
    short_names=("cq",),
    spec=ClusterQueueSpec,
    created=ClusterQueueCreated,
    changed=ClusterQueueChanged,
    deletion_requested=ClusterQueueDeletionRequested,
    deleted=ClusterQueueDeleted,
    rules=cluster_queue_violations,
    rules_of_creation=new_cluster_queue_violations,
    rules_of_change=cluster_queue_change_violations,
    references=_references,
    when_in_use="Waits",
    status_events=(ClusterQueueStopped, ClusterQueueResumed),
    own_decide=lambda state, command, at: decide_stoppable(
        CLUSTER_QUEUE, _STOP_EVENTS, state, command, at
    ),
    own_evolve=lambda state, event, at: evolve_stoppable(_STOP_EVENTS, state, event, at),
)


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
