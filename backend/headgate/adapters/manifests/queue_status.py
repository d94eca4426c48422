"""The status of ClusterQueues and LocalQueues: condition Active, counts, amounts."""

from typing import Any

import msgspec

from headgate.adapters.manifests.fields import rfc3339
from headgate.adapters.manifests.metadata import ManifestSchema, rendered_condition
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.queue_activity import Activity
from headgate.domain.kinds.queue_settings import ResourceQuota
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorUsage, quantity_of


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a queue, as the caller derives it.

    `active_since` is when its activity last changed; None: not since it was made. `reservation` is
    the quota held, `usage` that of admitted workloads. What a LocalQueue has consumed is in
    billionths of base units, as of `consumed_at`; None while usage is not counted.
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


def rendered_stop(stop: Stop | None) -> dict[str, Any]:
    """The owner, reason and end of the stop; nothing where the queue is not stopped."""
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


def rendered_conditions_and_counts(
    queue: Configured[ClusterQueueSpec] | Configured[LocalQueueSpec], status: QueueStatus
) -> dict[str, Any]:
    """The condition Active and the counts of workloads."""
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


def rendered_usage(
    spec: ClusterQueueSpec, usage: FlavorUsage, *, shows_borrowed: bool
) -> list[dict[str, Any]]:
    """Amounts by flavor and resource, in the order of the ClusterQueue."""
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


class QuotaUsageSchema(ManifestSchema, kw_only=True, frozen=True):
    """Used and borrowed amounts of one resource, as quantities."""

    name: str
    total: str
    borrowed: str | None = None


class FlavorUsageSchema(ManifestSchema, kw_only=True, frozen=True):
    """Usage in one flavor."""

    name: str
    resources: list[QuotaUsageSchema]
