"""ClusterQueues, LocalQueues and Cohorts as Kueue shows them, defaults spelled out."""

import msgspec
from headgate.adapters.manifests.rendering.metadata import rendered_condition
from headgate.adapters.manifests.rendering.preemption import rendered_preemption
from headgate.adapters.manifests.rendering.preemption import rendered_runtime
from headgate.adapters.manifests.rendering.selectors import rendered_selector
from headgate.adapters.manifests.rendering.wait_for_pods_ready import rendered_wait
from headgate.adapters.manifests.times import rfc3339
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.cohort import CohortSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.queue_activity import Activity
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.kinds.resource_groups import ResourceGroup
from headgate.domain.kinds.resource_groups import ResourceQuota
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorUsage
from headgate.domain.values.quantities import milli_quantity
from headgate.domain.values.quantities import nano_quantity
from headgate.domain.values.quantities import quantity_of
from typing import Any


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller knows of a queue beside its configuration.

    `active_since` is when its activity last changed; None: not since it was made. `reservation` is
    the quota held, `usage` that of admitted workloads. What a LocalQueue has consumed is in
    billionths of base units, as it was at `consumed_at`; without that nobody counts it.
    """

    activity: Activity
    active_since: Instant | None = None
    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    reservation: FlavorUsage = {}
    usage: FlavorUsage = {}
    weighted_share: int | None = None
    consumed_nanos: dict[str, int] = {}
    consumed_at: Instant | None = None


def cluster_queue_spec(spec: ClusterQueueSpec) -> dict[str, Any]:
    """The spec of a ClusterQueue."""
    rendered: dict[str, Any] = {"resourceGroups": rendered_groups(spec.resource_groups)}
    if spec.cohort_name:
        rendered["cohortName"] = spec.cohort_name
    rendered["queueingStrategy"] = spec.queueing_strategy
    if spec.namespace_selector is not None:
        rendered["namespaceSelector"] = rendered_selector(spec.namespace_selector)
    rendered["flavorFungibility"] = _fungibility(spec)
    rendered["preemption"] = rendered_preemption(spec.preemption)
    if spec.admission_checks:
        rendered["admissionChecksStrategy"] = {
            "admissionChecks": [
                {"name": check.name}
                | ({"onFlavors": list(check.on_flavors)} if check.on_flavors else {})
                for check in spec.admission_checks
            ]
        }
    rendered["stopPolicy"] = spec.stop_policy
    rendered |= rendered_weight(spec.fair_weight_milli)
    if spec.admission_mode is not None:
        rendered["admissionScope"] = {"admissionMode": spec.admission_mode}
    if spec.wait_for_pods_ready is not None:
        rendered["waitForPodsReady"] = rendered_wait(spec.wait_for_pods_ready)
    return rendered


def local_queue_spec(spec: LocalQueueSpec) -> dict[str, Any]:
    """The spec of a LocalQueue."""
    return {
        "clusterQueue": spec.cluster_queue,
        "stopPolicy": spec.stop_policy,
        **rendered_weight(spec.fair_weight_milli),
    }


def cohort_spec(spec: CohortSpec) -> dict[str, Any]:
    """The spec of a Cohort."""
    rendered: dict[str, Any] = {"parentName": spec.parent_name} if spec.parent_name else {}
    if spec.resource_groups:
        rendered["resourceGroups"] = rendered_groups(spec.resource_groups)
    if granted := rendered_runtime(spec.min_runtime):
        rendered["preemption"] = granted
    return rendered | rendered_weight(spec.fair_weight_milli)


def cluster_queue_status(
    queue: Configured[ClusterQueueSpec], status: QueueStatus | None
) -> dict[str, Any]:
    """Conditions, counts and amounts of a ClusterQueue, and who stopped it."""
    rendered = _stop(queue.spec.stop)
    if status is None:
        return rendered
    spec = queue.spec
    return {
        **_conditions_and_counts(queue, status),
        "flavorsReservation": _amounts(spec, status.reservation, shows_borrowed=True),
        "flavorsUsage": _amounts(spec, status.usage, shows_borrowed=True),
        **rendered_share(status.weighted_share),
        **rendered,
    }


def local_queue_status(
    queue: Configured[LocalQueueSpec],
    status: QueueStatus | None,
    cluster_queue: ClusterQueueSpec | None,
) -> dict[str, Any]:
    """Conditions, counts and amounts of a LocalQueue, flavors as in its ClusterQueue."""
    rendered = _stop(queue.spec.stop)
    if status is None:
        return rendered
    spec = cluster_queue or ClusterQueueSpec()
    return {
        **_conditions_and_counts(queue, status),
        "flavorsReservation": _amounts(spec, status.reservation, shows_borrowed=False),
        "flavorsUsage": _amounts(spec, status.usage, shows_borrowed=False),
        **_consumed(status),
        **rendered,
    }


def rendered_groups(groups: tuple[ResourceGroup, ...]) -> list[dict[str, Any]]:
    """Resource groups with canonical quantities."""
    return [
        {
            "coveredResources": list(group.covered_resources),
            "flavors": [
                {
                    "name": flavor.name,
                    "resources": [_quota(quota) for quota in flavor.resources],
                }
                for flavor in group.flavors
            ],
        }
        for group in groups
    ]


def rendered_weight(weight_milli: int) -> dict[str, Any]:
    """The weight, where it is not the usual 1."""
    if weight_milli == 1000:  # noqa: PLR2004  (thousandths)
        return {}
    return {"fairSharing": {"weight": milli_quantity(weight_milli)}}


def rendered_share(weighted_share: int | None) -> dict[str, Any]:
    """The share of fair sharing in a status, where it is known."""
    return {} if weighted_share is None else {"fairSharing": {"weightedShare": weighted_share}}


def _consumed(status: QueueStatus) -> dict[str, Any]:
    if status.consumed_at is None:
        return {}
    consumed = {name: nano_quantity(n) for name, n in sorted(status.consumed_nanos.items())}
    written = {"consumedResources": consumed, "lastUpdate": rfc3339(status.consumed_at)}
    return {"fairSharing": {"admissionFairSharingStatus": written}}


def _quota(quota: ResourceQuota) -> dict[str, str]:
    limits = {"borrowingLimit": quota.borrowing_limit, "lendingLimit": quota.lending_limit}
    return {
        "name": quota.name,
        "nominalQuota": quantity_of(quota.name, quota.nominal_quota),
        **{
            field: quantity_of(quota.name, amount)
            for field, amount in limits.items()
            if amount is not None
        },
    }


def _fungibility(spec: ClusterQueueSpec) -> dict[str, Any]:
    fungibility = spec.flavor_fungibility
    preference = {"preference": fungibility.preference} if fungibility.preference else {}
    return {
        "whenCanBorrow": fungibility.when_can_borrow,
        "whenCanPreempt": fungibility.when_can_preempt,
        **preference,
    }


def _stop(stop: Stop | None) -> dict[str, Any]:
    if stop is None:
        return {}
    expiry = {} if stop.expires_at is None else {"expiresAt": rfc3339(stop.expires_at)}
    return {
        "stop": {
            "owner": stop.owner,
            "reason": stop.reason,
            "stoppedAt": rfc3339(stop.stopped_at),
            **expiry,
        }
    }


def _conditions_and_counts(
    queue: Configured[ClusterQueueSpec] | Configured[LocalQueueSpec], status: QueueStatus
) -> dict[str, Any]:
    activity = status.activity
    condition = rendered_condition(
        "Active",
        status=activity.active,
        reason=activity.reason,
        message=activity.message,
        at=queue.created_at if status.active_since is None else status.active_since,
        generation=queue.generation,
    )
    return {
        "conditions": [condition],
        "pendingWorkloads": status.pending,
        "reservingWorkloads": status.reserving,
        "admittedWorkloads": status.admitted,
    }


def _amounts(
    spec: ClusterQueueSpec, usage: FlavorUsage, *, shows_borrowed: bool
) -> list[dict[str, Any]]:
    return [
        {
            "name": flavor.name,
            "resources": [
                _amount(spec, quota, usage.get((flavor.name, quota.name), 0), shows_borrowed)
                for quota in flavor.resources
            ],
        }
        for group in spec.resource_groups
        for flavor in group.flavors
    ]


def _amount(
    spec: ClusterQueueSpec,
    quota: ResourceQuota,
    total: int,
    shows_borrowed: bool,  # noqa: FBT001  (told by name above)
) -> dict[str, str]:
    rendered = {"name": quota.name, "total": quantity_of(quota.name, total)}
    if shows_borrowed:
        borrowed = max(0, total - quota.nominal_quota) if spec.cohort_name else 0
        rendered["borrowed"] = quantity_of(quota.name, borrowed)
    return rendered
