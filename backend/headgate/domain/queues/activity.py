"""Whether a queue can admit, and if not, why: the condition Active (reference queueing.md §6).

The one place that says so: the condition tells it in Kueue's words, explanations in ours.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.config import Config
from headgate.domain.configured import Configured
from headgate.domain.queues.specs import AdmissionCheckRule, ClusterQueueSpec, LocalQueueSpec

InactiveReason = Literal[
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
    "NotFound",
    "ClusterQueueDoesNotExist",
    "ClusterQueueIsInactive",
]

MULTI_KUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"


class Activity(msgspec.Struct, frozen=True):
    """The Active condition of a queue: `reason` is the first that applies, `message` names all."""

    active: bool
    reason: InactiveReason
    message: str


class Fault(msgspec.Struct, frozen=True):
    """One thing that keeps a ClusterQueue from admitting.

    `message` ends Kueue's sentence on all of them; `sentence` says it alone, `remedy` what ends it.
    """

    reason: InactiveReason
    message: str
    sentence: str
    remedy: str


def cluster_queue_activity(config: Config, name: str) -> Activity:
    """Whether the ClusterQueue can admit workloads now."""
    queue = config.cluster_queues.get(name)
    if queue is None:
        return Activity(active=False, reason="NotFound", message="ClusterQueue not found")
    faults = tuple(faults_of(config, queue))
    if not faults:
        return Activity(active=True, reason="Ready", message="Can admit new workloads")
    first = faults[0]
    if first.reason == "Terminating":
        message = f"Can't admit new workloads; {first.message}"
        return Activity(active=False, reason=first.reason, message=message)
    listed = ", ".join(fault.message for fault in faults)
    message = f"Can't admit new workloads: {listed}."
    return Activity(active=False, reason=first.reason, message=message)


def local_queue_activity(config: Config, key: str) -> Activity:
    """Whether workloads can get through the LocalQueue `namespace/name` now."""
    queue = config.local_queues.get(key)
    if queue is None:
        return Activity(active=False, reason="NotFound", message="LocalQueue not found")
    if queue.terminating_at is not None:
        return Activity(active=False, reason="Terminating", message="LocalQueue is terminating")
    if queue.spec.stop_policy != "None":
        return Activity(active=False, reason="Stopped", message="LocalQueue is stopped")
    message = "Can't submit new workloads to clusterQueue"
    if queue.spec.cluster_queue not in config.cluster_queues:
        return Activity(active=False, reason="ClusterQueueDoesNotExist", message=message)
    if not cluster_queue_activity(config, queue.spec.cluster_queue).active:
        return Activity(active=False, reason="ClusterQueueIsInactive", message=message)
    message = "Can submit new workloads to localQueue"
    return Activity(active=True, reason="Ready", message=message)


def cohort_cycle(config: Config, cohort: str) -> tuple[str, ...]:
    """The cohorts of the cycle that walking up from `cohort` runs into; empty if it ends at a root.

    Every ClusterQueue below such a cycle waits until it is broken, without becoming inactive.
    """
    walked: list[str] = []
    while cohort:
        if cohort in walked:
            return tuple(walked[walked.index(cohort) :])
        walked.append(cohort)
        above = config.cohorts.get(cohort)
        cohort = above.spec.parent_name if above else ""
    return ()


def faults_of(config: Config, queue: Configured[ClusterQueueSpec]) -> Iterator[Fault]:
    """Everything that keeps it from admitting, what matters most first."""
    spec, named = queue.spec, f"ClusterQueue {queue.name}"
    if queue.terminating_at is not None:
        words = f"{named} is being deleted"
        yield Fault("Terminating", "clusterQueue is terminating", words, "name another queue")
    if spec.stop_policy != "None":
        words = f"{named} is stopped{stopped_by(spec)}"
        yield Fault("Stopped", "is stopped", words, f"resume {named}")
    flavors = [flavor.name for group in spec.resource_groups for flavor in group.flavors]
    missing = [name for name in flavors if name not in config.resource_flavors]
    if missing:
        listed = ",".join(missing)
        message = f"references missing ResourceFlavor(s): {listed}"
        yield _not_there("FlavorNotFound", message, f"ResourceFlavor {missing[0]}", named)
    yield from _check_faults(config, spec.admission_checks, named)
    yield from _multi_kueue_faults(config, spec.admission_checks)
    if _multi_kueue_checks(config, spec.admission_checks):
        return  # The clusters that work is sent to place it in their own topologies.
    for name in flavors:
        flavor = config.resource_flavors.get(name)
        topology = flavor.spec.topology_name if flavor else ""
        if topology and topology not in config.topologies:
            message = f'there is no Topology "{topology}" for TAS flavor "{name}"'
            yield _not_there("TopologyNotFound", message, f"Topology {topology}", f"flavor {name}")


def stopped_by(spec: ClusterQueueSpec | LocalQueueSpec) -> str:
    """Who stopped the queue, and why, as the end of a sentence; empty where nobody said."""
    if spec.stop is None:
        return ""
    because = f": {spec.stop.reason}" if spec.stop.reason else ""
    return f" by {spec.stop.owner}{because}"


def _not_there(reason: InactiveReason, message: str, what: str, where: str) -> Fault:
    remedy = f"create {what}, or take it out of {where}"
    return Fault(reason, message, f"{what} does not exist", remedy)


def _check_faults(
    config: Config, rules: tuple[AdmissionCheckRule, ...], named: str
) -> Iterator[Fault]:
    checks = config.admission_checks
    missing = [rule.name for rule in rules if rule.name not in checks]
    if missing:
        listed = ",".join(missing)
        message = f"references missing AdmissionCheck(s): {listed}"
        yield _not_there("AdmissionCheckNotFound", message, f"AdmissionCheck {missing[0]}", named)
    idle = [
        rule.name for rule in rules if rule.name in checks and not checks[rule.name].spec.active
    ]
    if idle:
        listed = ",".join(idle)
        yield Fault(
            "AdmissionCheckInactive",
            f"references inactive AdmissionCheck(s): {listed}",
            f"AdmissionCheck {idle[0]} is not active",
            f"activate AdmissionCheck {idle[0]}, or take it out of {named}",
        )


def _multi_kueue_faults(config: Config, rules: tuple[AdmissionCheckRule, ...]) -> Iterator[Fault]:
    multi = _multi_kueue_checks(config, rules)
    if len(multi) > 1:
        yield _clash(
            "MultipleMultiKueueAdmissionChecks",
            "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: "
            + ",".join(rule.name for rule in multi),
        )
    per_flavor = [rule.name for rule in multi if rule.on_flavors]
    if per_flavor:
        yield _clash(
            "MultiKueueAdmissionCheckAppliedPerFlavor",
            f"Cannot specify MultiKueue AdmissionCheck per flavor: {','.join(per_flavor)}",
        )
    provisioning = [rule for rule in rules if _controller(config, rule) == PROVISIONING]
    if multi and provisioning:
        yield _clash(
            "MultiKueueWithProvisioningRequest",
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: "
            + ", ".join(rule.name for rule in (*multi, *provisioning)),
        )


def _clash(reason: InactiveReason, message: str) -> Fault:
    return Fault(reason, message, message, "take away what cannot be used together")


def _multi_kueue_checks(
    config: Config, rules: tuple[AdmissionCheckRule, ...]
) -> list[AdmissionCheckRule]:
    return [rule for rule in rules if _controller(config, rule) == MULTI_KUEUE]


def _controller(config: Config, rule: AdmissionCheckRule) -> str:
    check = config.admission_checks.get(rule.name)
    return check.spec.controller_name if check else ""
