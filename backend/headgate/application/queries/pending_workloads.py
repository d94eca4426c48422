"""The waiting lines, as Kueue's visibility API shows them, with why each one waits."""

import msgspec
from msgspec.structs import replace

from headgate.application.access.redaction import FOREIGN_WORKLOAD, NamespaceScope
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative, each
from headgate.application.queries.explanations import explanation_of
from headgate.application.queries.queue_status import (
    pending_order,
    pending_order_of_tree,
)
from headgate.application.queries.queue_views import (
    PendingListMeta,
    PendingMeta,
    PendingWorkload,
    PendingWorkloadsSummary,
)
from headgate.application.queries.views import sentence, timestamp
from headgate.application.workload_filter import WorkloadFilter, listed_cluster_queue, owner_of
from headgate.domain.cluster_state import ClusterState
from headgate.domain.rejection import NotFound
from headgate.domain.scheduling.pending_reasons import SharedReasons, unschedulable
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload, phase_of


class PendingPageRequest(msgspec.Struct, frozen=True):
    """So many, after the first few, of an owner or of all where none is named."""

    offset: int = 0
    limit: int = 1000
    owner: str = ""


class _Place(msgspec.Struct, frozen=True):
    workload: Workload
    in_cluster_queue: int
    in_local_queue: int
    in_cohort: int


def pending_in_cluster_queue(
    services: ApplicationServices,
    name: str,
    scope: NamespaceScope,
    page_request: PendingPageRequest,
) -> Cooperative[PendingWorkloadsSummary]:
    """The pending workloads of a ClusterQueue; raises `NotFound`."""
    cluster_state = services.reader.cluster_state
    if name not in cluster_state.config.cluster_queues:
        raise NotFound("ObjectNotFound", kind="ClusterQueue", name=name)
    places = yield from _places(services, name)
    return (yield from _summary(services, places, scope, page_request))


def pending_in_local_queue(
    services: ApplicationServices, key: str, scope: NamespaceScope, page_request: PendingPageRequest
) -> Cooperative[PendingWorkloadsSummary]:
    """The pending workloads of a LocalQueue (`namespace/name`); raises `NotFound`."""
    cluster_state = services.reader.cluster_state
    queue = cluster_state.config.local_queues.get(key)
    if queue is None:
        raise NotFound("ObjectNotFound", kind="LocalQueue", name=key)
    places = yield from _places(services, queue.spec.cluster_queue)
    mine = [place for place in places if place.workload.local_queue_key == key]
    return (yield from _summary(services, mine, scope, page_request))


def _places(services: ApplicationServices, cluster_queue: str) -> Cooperative[list[_Place]]:
    cluster_state = services.reader.cluster_state
    seen: dict[str, int] = {}
    places = []
    together = yield from pending_order_of_tree(cluster_state, cluster_queue)
    of_tree = {key: place for place, key in enumerate(together)}
    for index, key in enumerate(pending_order(cluster_state, cluster_queue).keys):
        workload = cluster_state.workloads[key]
        local = workload.local_queue_key
        places.append(_Place(workload, index, seen.get(local, 0), of_tree[key]))
        seen[local] = seen.get(local, 0) + 1
        yield
    return places


def _summary(
    services: ApplicationServices,
    places: list[_Place],
    scope: NamespaceScope,
    page_request: PendingPageRequest,
) -> Cooperative[PendingWorkloadsSummary]:
    # Of an owner, only what the reader may see: a count of others would tell what each submits.
    if page_request.owner:
        places = [
            place
            for place in places
            if owner_of(place.workload) == page_request.owner
            and (scope is None or place.workload.namespace in scope)
        ]
    chosen = places[page_request.offset : page_request.offset + max(0, page_request.limit)]
    position, shared = services.reader.position, SharedReasons()
    return PendingWorkloadsSummary(
        metadata=PendingListMeta(resource_version=str(position)),
        items=(yield from each(_item(services, place, scope, shared) for place in chosen)),
    )


def _item(
    services: ApplicationServices, place: _Place, scope: NamespaceScope, shared: SharedReasons
) -> PendingWorkload:
    workload = place.workload
    is_open = scope is None or workload.namespace in scope
    cluster_state = services.reader.cluster_state
    found = explanation_of(cluster_state, workload, services.clock.now(), shared)
    return PendingWorkload(
        metadata=PendingMeta(
            name=workload.name if is_open else FOREIGN_WORKLOAD,
            namespace=workload.namespace if is_open else "",
            uid=workload.uid if is_open else "",
            creation_timestamp=timestamp(workload.created_at),
        ),
        priority=workload.spec.priority,
        local_queue_name=workload.spec.queue_name if is_open else "",
        position_in_cluster_queue=place.in_cluster_queue,
        position_in_local_queue=place.in_local_queue,
        position_in_cohort=place.in_cohort,
        phase=phase_of(workload),
        dominant=found.dominant if is_open else "",
        sentence=sentence(found, scope) if is_open else "",
    )


def unschedulable_keys(
    cluster_state: ClusterState,
    where: WorkloadFilter,
    after: tuple[Instant, str] | None,
    limit: int,
) -> Cooperative[tuple[str, ...]]:
    """The first workloads of a page, newest first, that match but for their phase and never start.

    The cluster state must stand still meanwhile.
    """
    asked, config, found = replace(where, phases=()), cluster_state.config, list[str]()
    shared = SharedReasons()
    ages = ((workload.created_at, workload.key) for workload in cluster_state.workloads.values())
    for age in sorted((age for age in ages if after is None or age < after), reverse=True):
        yield
        workload = cluster_state.workloads[age[1]]
        is_asked = asked.matches(workload, listed_cluster_queue(config, workload))
        if is_asked and unschedulable(cluster_state, workload, shared) is not None:
            found.append(workload.key)
            if len(found) == limit:
                break
    return tuple(found)
