"""The condition Active of ClusterQueues and LocalQueues, and since when (queueing.md §6)."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule, ClusterQueueSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message

ActiveConditionReason = Literal[
    "Ready",
    "Terminating",
    "Stopped",
    "FlavorNotFound",
    "AdmissionCheckNotFound",
    "AdmissionCheckInactive",
    "MultipleMultiKueueAdmissionChecks",
    "MultiKueueAdmissionCheckAppliedPerFlavor",
    "MultiKueueWithProvisioningRequest",
    "TopologyNotFound",
    "CohortCycleDetected",
    "NotFound",
    "ClusterQueueDoesNotExist",
    "ClusterQueueIsInactive",
]

MULTI_KUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"


class Activity(msgspec.Struct, frozen=True):
    """The Active condition of a queue: `reason` is the first that applies, `message` names all."""

    active: bool
    reason: ActiveConditionReason
    message: str


class InactiveReason(msgspec.Struct, frozen=True):
    """One thing that keeps a ClusterQueue from admitting.

    `condition_message` ends Kueue's sentence on all of them; `message` says it alone.
    """

    reason: ActiveConditionReason
    condition_message: str
    message: Message


def cluster_queue_activity(config: ObjectSet, name: str) -> Activity:
    """Whether the ClusterQueue can admit workloads now."""
    queue = config.cluster_queues.get(name)
    if queue is None:
        return Activity(active=False, reason="NotFound", message="ClusterQueue not found")
    faults = tuple(inactive_reasons(config, queue))
    if not faults:
        return Activity(active=True, reason="Ready", message="Can admit new workloads")
    first = faults[0]
    if first.reason == "Terminating":
        told = f"Can't admit new workloads; {first.condition_message}"
        return Activity(active=False, reason=first.reason, message=told)
    listed = ", ".join(fault.condition_message for fault in faults)
    told = f"Can't admit new workloads: {listed}."
    return Activity(active=False, reason=first.reason, message=told)


def local_queue_activity(config: ObjectSet, key: str) -> Activity:
    """Whether workloads can get through the LocalQueue `namespace/name` now."""
    queue = config.local_queues.get(key)
    if queue is None:
        return Activity(active=False, reason="NotFound", message="LocalQueue not found")
    if queue.terminating_at is not None:
        return Activity(active=False, reason="Terminating", message="LocalQueue is terminating")
    if queue.spec.stop_policy != "None":
        return Activity(active=False, reason="Stopped", message="LocalQueue is stopped")
    told = "Can't submit new workloads to clusterQueue"
    if queue.spec.cluster_queue not in config.cluster_queues:
        return Activity(active=False, reason="ClusterQueueDoesNotExist", message=told)
    if not cluster_queue_activity(config, queue.spec.cluster_queue).active:
        return Activity(active=False, reason="ClusterQueueIsInactive", message=told)
    told = "Can submit new workloads to localQueue"
    return Activity(active=True, reason="Ready", message=told)


def cohort_cycle(config: ObjectSet, cohort: str) -> tuple[str, ...]:
    """The cohorts of the cycle that walking up from `cohort` runs into; empty if it ends at a root.

    Every ClusterQueue below such a cycle is inactive until it is broken (Kueue #13774).
    """
    walked: list[str] = []
    while cohort:
        if cohort in walked:
            return tuple(walked[walked.index(cohort) :])
        walked.append(cohort)
        above = config.cohorts.get(cohort)
        cohort = above.spec.parent_name if above else ""
    return ()


def inactive_reasons(
    config: ObjectSet, queue: Configured[ClusterQueueSpec]
) -> Iterator[InactiveReason]:
    """Everything that keeps it from admitting, what matters most first."""
    spec, named = queue.spec, f"ClusterQueue {queue.name}"
    if queue.terminating_at is not None:
        terminating = message("QueueTerminating", kind="ClusterQueue", name=queue.name)
        yield InactiveReason("Terminating", "clusterQueue is terminating", terminating)
    if spec.stop_policy != "None":
        yield InactiveReason(
            "Stopped", "is stopped", stopped_message("ClusterQueue", queue.name, spec)
        )
    flavors = [flavor.name for group in spec.resource_groups for flavor in group.flavors]
    missing = [name for name in flavors if name not in config.resource_flavors]
    if missing:
        listed = ",".join(missing)
        told = f"references missing ResourceFlavor(s): {listed}"
        yield _missing_object("FlavorNotFound", told, ("ResourceFlavor", missing[0]), named)
    yield from _check_reasons(config, spec.admission_checks, named)
    yield from _multi_kueue_reasons(config, spec.admission_checks)
    # The clusters that work is sent to place it in their own topologies.
    sends_work = _multi_kueue_checks(config, spec.admission_checks)
    for name in () if sends_work else flavors:
        flavor = config.resource_flavors.get(name)
        topology = flavor.spec.topology_name if flavor else ""
        if topology and topology not in config.topologies:
            told = f'there is no Topology "{topology}" for TAS flavor "{name}"'
            yield _missing_object(
                "TopologyNotFound", told, ("Topology", topology), f"flavor {name}"
            )
    cycle = cohort_cycle(config, spec.cohort_name)
    if cycle:
        looped = message("CohortCycle", cluster_queue=queue.name, cohort=cycle[0])
        told = f'Cohort "{cycle[0]}" has a cycle in hierarchy'
        yield InactiveReason("CohortCycleDetected", told, looped)


def stopped_message(kind: str, name: str, spec: ClusterQueueSpec | LocalQueueSpec) -> Message:
    """The message of a stopped queue, with the owner and the reason where they are recorded."""
    stop = spec.stop
    return message(
        "QueueStopped",
        kind=kind,
        name=name,
        owner=stop.owner if stop else "",
        why=stop.reason if stop else "",
    )


def _missing_object(
    reason: ActiveConditionReason, told: str, missing: tuple[str, str], referrer: str
) -> InactiveReason:
    kind, name = missing
    found = message("ReferencedObjectMissing", kind=kind, name=name, referrer=referrer)
    return InactiveReason(reason, told, found)


def _check_reasons(
    config: ObjectSet, rules: tuple[AdmissionCheckRule, ...], named: str
) -> Iterator[InactiveReason]:
    checks = config.admission_checks
    missing = [rule.name for rule in rules if rule.name not in checks]
    if missing:
        listed = ",".join(missing)
        told = f"references missing AdmissionCheck(s): {listed}"
        yield _missing_object("AdmissionCheckNotFound", told, ("AdmissionCheck", missing[0]), named)
    idle = [
        rule.name for rule in rules if rule.name in checks and not checks[rule.name].spec.active
    ]
    if idle:
        listed = ",".join(idle)
        yield InactiveReason(
            "AdmissionCheckInactive",
            f"references inactive AdmissionCheck(s): {listed}",
            message("InactiveAdmissionCheck", check=idle[0], referrer=named),
        )


def _multi_kueue_reasons(
    config: ObjectSet, rules: tuple[AdmissionCheckRule, ...]
) -> Iterator[InactiveReason]:
    multi = _multi_kueue_checks(config, rules)
    if len(multi) > 1:
        yield _conflicting_checks(
            "MultipleMultiKueueAdmissionChecks",
            "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: "
            + ",".join(rule.name for rule in multi),
        )
    per_flavor = [rule.name for rule in multi if rule.on_flavors]
    if per_flavor:
        yield _conflicting_checks(
            "MultiKueueAdmissionCheckAppliedPerFlavor",
            f"Cannot specify MultiKueue AdmissionCheck per flavor: {','.join(per_flavor)}",
        )
    provisioning = [rule for rule in rules if _controller(config, rule) == PROVISIONING]
    if multi and provisioning:
        yield _conflicting_checks(
            "MultiKueueWithProvisioningRequest",
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: "
            + ", ".join(rule.name for rule in (*multi, *provisioning)),
        )


def _conflicting_checks(reason: ActiveConditionReason, told: str) -> InactiveReason:
    return InactiveReason(reason, told, message("ConflictingAdmissionChecks", conflict=told))


def _multi_kueue_checks(
    config: ObjectSet, rules: tuple[AdmissionCheckRule, ...]
) -> list[AdmissionCheckRule]:
    return [rule for rule in rules if _controller(config, rule) == MULTI_KUEUE]


def _controller(config: ObjectSet, rule: AdmissionCheckRule) -> str:
    check = config.admission_checks.get(rule.name)
    return check.spec.controller_name if check else ""


ACTIVITY_KINDS = frozenset(
    {
        "clusterqueue",
        "localqueue",
        "resourceflavor",
        "topology",
        "admissioncheck",
        "cohort",
    }
)
"""Kinds of objects of which one may change whether a queue can admit."""


def queue_activities(config: ObjectSet, kind: str, key: str) -> dict[str, bool]:
    """By stream, whether the queues can admit that one object of these kinds may concern."""
    if kind == "localqueue":
        known = key in config.local_queues
        return {f"localqueue/{key}": local_queue_activity(config, key).active} if known else {}
    return {
        f"clusterqueue/{name}": cluster_queue_activity(config, name).active
        for name in _queues_naming(config, kind, key)
    }


def active_since_after(
    config: ObjectSet, kind: str, key: str, before: dict[str, bool], at: Instant
) -> dict[str, Instant]:
    """When the activity of queues last changed, after one object did; what it holds is not changed.

    `before` are the `queue_activities` before the change that `config` has seen.
    """
    after = queue_activities(config, kind, key)
    gone = before.keys() - after.keys()
    flipped = [queue for queue in after if before.get(queue, after[queue]) != after[queue]]
    for queue in {**before, **after}:
        if before.get(queue, False) != after.get(queue, False):
            flipped += _local_queues(config, queue)
    if not flipped and gone.isdisjoint(config.active_since):
        return config.active_since
    kept = {queue: since for queue, since in config.active_since.items() if queue not in gone}
    return {**kept, **dict.fromkeys(flipped, at)}


def active_since(
    config: ObjectSet,
    stream: str,
    queue: Configured[ClusterQueueSpec] | Configured[LocalQueueSpec],
) -> Instant:
    """Since when the queue of that stream is active, or since when not."""
    return config.active_since.get(stream, queue.created_at)


def _queues_naming(config: ObjectSet, kind: str, key: str) -> Iterator[str]:
    if kind == "clusterqueue":
        yield from (key,) if key in config.cluster_queues else ()
        return
    if kind == "cohort":
        for name, queue in config.cluster_queues.items():
            if key in _cohorts_above(config, queue.spec.cohort_name):
                yield name
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


def _cohorts_above(config: ObjectSet, cohort: str) -> tuple[str, ...]:
    """The cohort and those above it, up to the root or once around a cycle."""
    walked: list[str] = []
    while cohort and cohort not in walked:
        walked.append(cohort)
        above = config.cohorts.get(cohort)
        cohort = above.spec.parent_name if above else ""
    return tuple(walked)


def _local_queues(config: ObjectSet, queue: str) -> Iterator[str]:
    """LocalQueues that lead to a ClusterQueue, and that nothing else keeps from admitting."""
    kind, _, name = queue.partition("/")
    for key, local_queue in config.local_queues.items() if kind == "clusterqueue" else ():
        is_open = local_queue.terminating_at is None and local_queue.spec.stop_policy == "None"
        if is_open and local_queue.spec.cluster_queue == name:
            yield f"localqueue/{key}"
