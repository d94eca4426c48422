"""Rules for ClusterQueues, LocalQueues and Cohorts (reference queueing.md §1.1-1.3)."""

from collections.abc import Iterator

from headgate.domain.metadata import violation_of
from headgate.domain.queues.group_rules import group_violations
from headgate.domain.queues.preemption_rules import preemption_violations, runtime_violations
from headgate.domain.queues.specs import (
    AdmissionCheckRule,
    ClusterQueueSpec,
    CohortSpec,
    LocalQueueSpec,
    WaitForPodsReady,
)
from headgate.domain.rejection import Violation
from headgate.domain.selection_rules import selector_violations
from headgate.domain.values.names import broken_rule_of_name
from headgate.domain.values.pointers import child

MOST_CHECKS = 64
MOST_FLAVORS_OF_A_CHECK = 64

_CHECKS = "/spec/admissionChecksStrategy/admissionChecks"


def cluster_queue_violations(spec: ClusterQueueSpec) -> tuple[Violation, ...]:
    """What is wrong with a ClusterQueue taken by itself."""
    return (
        *group_violations(
            spec.resource_groups,
            has_parent=bool(spec.cohort_name),
            lends_at_most_nominal=True,
        ),
        *_name_violations("/spec/cohortName", spec.cohort_name),
        *_policy_violations(spec),
        *_check_violations(spec.admission_checks),
        *_selector_violations(spec),
        *_weight_violations(spec.fair_weight_milli),
        *wait_violations("/spec/waitForPodsReady", spec.wait_for_pods_ready),
    )


def new_cluster_queue_violations(spec: ClusterQueueSpec) -> tuple[Violation, ...]:
    """What is wrong with a new ClusterQueue: a check must name flavors that the queue has."""
    known = _flavors_of(spec)
    return tuple(
        Violation(
            pointer=child(_CHECKS, index, "onFlavors", at),
            rule=f"Flavor {flavor} of check {check.name} is not a flavor of this ClusterQueue.",
            remedy="Name one of its flavors, or add this one to a resource group.",
        )
        for index, check in enumerate(spec.admission_checks)
        for at, flavor in enumerate(check.on_flavors)
        if flavor not in known
    )


def cluster_queue_change_violations(
    before: ClusterQueueSpec, after: ClusterQueueSpec
) -> tuple[Violation, ...]:
    """Unknown flavors of checks pass as long as neither the checks nor the flavors change."""
    unchanged = before.admission_checks == after.admission_checks
    if unchanged and _flavors_of(before) == _flavors_of(after):
        return ()
    return new_cluster_queue_violations(after)


def local_queue_violations(spec: LocalQueueSpec) -> tuple[Violation, ...]:
    """What is wrong with a LocalQueue taken by itself."""
    found = violation_of("/spec/clusterQueue", spec.cluster_queue, broken_rule_of_name)
    return (*((found,) if found else ()), *_weight_violations(spec.fair_weight_milli))


def local_queue_change_violations(
    before: LocalQueueSpec, after: LocalQueueSpec
) -> tuple[Violation, ...]:
    """A LocalQueue leads to one ClusterQueue for life."""
    if before.cluster_queue == after.cluster_queue:
        return ()
    return (
        Violation(
            pointer="/spec/clusterQueue",
            rule=f"clusterQueue never changes; it is {before.cluster_queue}.",
            remedy="Make another LocalQueue for the other ClusterQueue.",
        ),
    )


def cohort_violations(spec: CohortSpec) -> tuple[Violation, ...]:
    """What is wrong with a Cohort taken by itself; cycles are allowed and found in use."""
    return (
        *group_violations(
            spec.resource_groups,
            has_parent=bool(spec.parent_name),
            lends_at_most_nominal=False,
        ),
        *_name_violations("/spec/parentName", spec.parent_name),
        *runtime_violations(spec.min_runtime),
        *_weight_violations(spec.fair_weight_milli),
    )


def _flavors_of(spec: ClusterQueueSpec) -> set[str]:
    return {flavor.name for group in spec.resource_groups for flavor in group.flavors}


def _name_violations(pointer: str, name: str) -> Iterator[Violation]:
    found = violation_of(pointer, name, broken_rule_of_name) if name else None
    if found:
        yield found


def _policy_violations(spec: ClusterQueueSpec) -> Iterator[Violation]:
    fungibility = spec.flavor_fungibility
    policies = {fungibility.when_can_borrow, fungibility.when_can_preempt}
    if fungibility.preference is not None and policies != {"TryNextFlavor"}:
        yield Violation(
            pointer="/spec/flavorFungibility/preference",
            rule="A preference needs whenCanBorrow and whenCanPreempt to be TryNextFlavor.",
            remedy="Set both to TryNextFlavor, or remove the preference.",
        )
    yield from preemption_violations(spec.preemption)


def _check_violations(checks: tuple[AdmissionCheckRule, ...]) -> Iterator[Violation]:
    if len(checks) > MOST_CHECKS:
        yield Violation(
            pointer=_CHECKS,
            rule=f"A ClusterQueue has at most {MOST_CHECKS} admission checks.",
            remedy=f"Remove {len(checks) - MOST_CHECKS} of them.",
        )
    seen: dict[str, int] = {}
    for index, check in enumerate(checks):
        found = violation_of(child(_CHECKS, index, "name"), check.name, broken_rule_of_name)
        if found:
            yield found
        if seen.setdefault(check.name, index) != index:
            yield Violation(
                pointer=child(_CHECKS, index, "name"),
                rule=f"Check {check.name} is listed twice.",
                remedy="Name each check once, with all its flavors.",
            )
        if len(check.on_flavors) > MOST_FLAVORS_OF_A_CHECK:
            yield Violation(
                pointer=child(_CHECKS, index, "onFlavors"),
                rule=f"A check names at most {MOST_FLAVORS_OF_A_CHECK} flavors.",
                remedy="Name fewer, or none for all flavors.",
            )


def _selector_violations(spec: ClusterQueueSpec) -> Iterator[Violation]:
    if spec.namespace_selector is not None:
        yield from selector_violations("/spec/namespaceSelector", spec.namespace_selector)


def _weight_violations(weight_milli: int) -> Iterator[Violation]:
    if weight_milli < 0:
        yield Violation(
            pointer="/spec/fairSharing/weight",
            rule="A weight is at least 0.",
            remedy="Give 0 for a share that is always last, or a positive weight.",
        )


def wait_violations(pointer: str, wait: WaitForPodsReady | None) -> Iterator[Violation]:
    """What is wrong with the wait for pods that is written at `pointer`."""
    if wait is None:
        return
    requeuing = wait.requeuing_strategy
    lengths = (
        ("timeout", wait.timeout_seconds),
        ("recoveryTimeout", wait.recovery_timeout_seconds),
        ("requeuingStrategy/backoffLimitCount", requeuing.backoff_limit_count),
        ("requeuingStrategy/backoffBaseSeconds", requeuing.backoff_base_seconds),
        ("requeuingStrategy/backoffMaxSeconds", requeuing.backoff_max_seconds),
        ("requeuingStrategy/maxBackOffRetryTimeout", requeuing.retry_limit_seconds),
        ("requeuingStrategy/backoffResetAfter", requeuing.reset_after_seconds),
    )
    for field, length in lengths:
        if length is not None and length < 0:
            yield Violation(
                pointer=f"{pointer}/{field}",
                rule=f"{field.rpartition('/')[2]} is at least 0.",
                remedy="Give a length that is not negative.",
            )
