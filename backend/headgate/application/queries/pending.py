"""The waiting lines, as Kueue's visibility API shows them, with why each one waits."""

from collections.abc import Sequence

import msgspec

from headgate.application.installation import Installation
from headgate.application.queries.explanations import explanation_of
from headgate.application.queries.queue_views import (
    PendingListMeta,
    PendingMeta,
    PendingWorkload,
    PendingWorkloadsSummary,
)
from headgate.application.queries.views import timestamp
from headgate.application.visibility import SOMEBODY, Scope
from headgate.domain.rejection import NotFound
from headgate.domain.views.pending import (
    PendingPlace,
    pending_order,
    pending_order_of_local_queue,
)
from headgate.domain.workloads.state import phase_of


class Stretch(msgspec.Struct, frozen=True):
    """So many, after the first few."""

    offset: int = 0
    limit: int = 1000


def pending_in_cluster_queue(
    installation: Installation, name: str, scope: Scope, stretch: Stretch
) -> PendingWorkloadsSummary:
    """Who waits in a ClusterQueue; raises `NotFound`."""
    cell = installation.reader.cell
    if name not in cell.config.cluster_queues:
        raise NotFound(f"There is no ClusterQueue {name}.", remedy="List the ClusterQueues.")
    return _summary(installation, pending_order(cell, name), scope, stretch)


def pending_in_local_queue(
    installation: Installation, key: str, scope: Scope, stretch: Stretch
) -> PendingWorkloadsSummary:
    """Who waits in a LocalQueue (`namespace/name`); raises `NotFound`."""
    cell = installation.reader.cell
    if key not in cell.config.local_queues:
        raise NotFound(f"There is no LocalQueue {key}.", remedy="List the LocalQueues.")
    return _summary(installation, pending_order_of_local_queue(cell, key), scope, stretch)


def _summary(
    installation: Installation, places: Sequence[PendingPlace], scope: Scope, stretch: Stretch
) -> PendingWorkloadsSummary:
    chosen = places[stretch.offset : stretch.offset + stretch.limit]
    position = installation.reader.position
    return PendingWorkloadsSummary(
        metadata=PendingListMeta(resource_version=str(position)),
        items=[_item(installation, place, scope) for place in chosen],
    )


def _item(installation: Installation, place: PendingPlace, scope: Scope) -> PendingWorkload:
    cell = installation.reader.cell
    workload = cell.workloads[place.key]
    is_open = scope is None or workload.namespace in scope
    found = explanation_of(cell, workload, installation.clock.now())
    return PendingWorkload(
        metadata=PendingMeta(
            name=workload.name if is_open else SOMEBODY,
            namespace=workload.namespace if is_open else "",
            uid=workload.uid if is_open else "",
            creation_timestamp=timestamp(workload.created_at),
        ),
        priority=place.priority,
        local_queue_name=workload.spec.queue_name if is_open else "",
        position_in_cluster_queue=place.in_cluster_queue,
        position_in_local_queue=place.in_local_queue,
        phase=phase_of(workload),
        dominant=found.dominant if is_open else "",
        sentence=installation.tenants.redacted(found.sentence, scope) if is_open else "",
    )
