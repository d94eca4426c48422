"""States as manifests: Kueue's shape, canonical quantities, status and conditions."""

from collections.abc import Callable
from typing import Any, get_args

import msgspec

from headgate.adapters.manifests.kinds import ObjectKind
from headgate.adapters.manifests.rendering.configuration import configuration_body
from headgate.adapters.manifests.rendering.limits import limit_range_body, runtime_class_body
from headgate.adapters.manifests.rendering.metadata import rendered_head
from headgate.adapters.manifests.rendering.policies import (
    admission_check_body,
    budget_body,
    budget_status,
    namespace_body,
    node_body,
    priority_class_body,
    resource_flavor_body,
    topology_body,
)
from headgate.adapters.manifests.rendering.queues import (
    QueueStatus,
    cluster_queue_spec,
    cluster_queue_status,
    cohort_spec,
    local_queue_spec,
    local_queue_status,
    rendered_share,
)
from headgate.adapters.manifests.rendering.workloads import workload_spec, workload_status
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.cohort import CohortSpec
from headgate.domain.kinds.configuration import ResourceRules
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.disruption_budget import DisruptionBudgetSpec
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.scheduling.preemption.disruption_budgets import BudgetStatus
from headgate.domain.workloads.state import Workload

KIND_OF_STREAM: dict[str, ObjectKind] = {kind.lower(): kind for kind in get_args(ObjectKind)}
"""Kind in the name of a stream (`clusterqueue`) to kind in a manifest (`ClusterQueue`)."""


class Extras(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to an object and is not in its own state.

    `resources` are the rules by which the requests of a workload count for quota, `queue_status`
    is for ClusterQueues and LocalQueues; `cluster_queue` is the spec of the one that a LocalQueue
    leads to, for the flavors of its usage; `weighted_share` is a Cohort's,
    `budget_standing` a DisruptionBudget's. `may_know` tells whether the reader may know of another
    workload (`namespace/name`); without it nobody knows of those in other namespaces.
    """

    queue_status: QueueStatus | None = None
    resources: ResourceRules = ResourceRules()
    cluster_queue: ClusterQueueSpec | None = None
    weighted_share: int | None = None
    budget_standing: BudgetStatus | None = None
    may_know: Callable[[str], bool] | None = None


def render(
    kind: str, state: Configured[Any] | Workload, position: int, extras: Extras | None = None
) -> dict[str, Any]:
    """The object as a manifest; `kind` as in manifests, `position` of its last change."""
    known = extras or Extras()
    body = _BODIES[kind](state, known)
    return {**rendered_head(kind, state, position), **body}


def _workload(workload: Workload, extras: Extras) -> dict[str, Any]:
    own = f"{workload.namespace}/"
    may_know = extras.may_know or (lambda key: key.startswith(own))
    return {
        "spec": workload_spec(workload.spec),
        "status": workload_status(workload, extras.resources, may_know),
    }


def _cluster_queue(queue: Configured[ClusterQueueSpec], extras: Extras) -> dict[str, Any]:
    return {
        "spec": cluster_queue_spec(queue.spec),
        "status": cluster_queue_status(queue, extras.queue_status),
    }


def _local_queue(queue: Configured[LocalQueueSpec], extras: Extras) -> dict[str, Any]:
    return {
        "spec": local_queue_spec(queue.spec),
        "status": local_queue_status(queue, extras.queue_status, extras.cluster_queue),
    }


def _cohort(cohort: Configured[CohortSpec], extras: Extras) -> dict[str, Any]:
    status = rendered_share(extras.weighted_share)
    return {"spec": cohort_spec(cohort.spec), **({"status": status} if status else {})}


def _budget(budget: Configured[DisruptionBudgetSpec], extras: Extras) -> dict[str, Any]:
    standing = extras.budget_standing
    status = {} if standing is None else {"status": budget_status(standing)}
    return {**budget_body(budget), **status}


def _plain(body: Callable[[Any], dict[str, Any]]) -> Callable[[Any, Extras], dict[str, Any]]:
    return lambda state, _: body(state)


_BODIES: dict[str, Callable[[Any, Extras], dict[str, Any]]] = {
    "Workload": _workload,
    "ClusterQueue": _cluster_queue,
    "LocalQueue": _local_queue,
    "Cohort": _cohort,
    "ResourceFlavor": _plain(resource_flavor_body),
    "Topology": _plain(topology_body),
    "Node": _plain(node_body),
    "WorkloadPriorityClass": _plain(priority_class_body),
    "AdmissionCheck": _plain(admission_check_body),
    "DisruptionBudget": _budget,
    "Namespace": _plain(namespace_body),
    "Configuration": _plain(configuration_body),
    "LimitRange": _plain(limit_range_body),
    "RuntimeClass": _plain(runtime_class_body),
}
