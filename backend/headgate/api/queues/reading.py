"""Reading the queue tree and the waiting lines."""

from headgate.api.answers import Answer, answer, answer_view
from headgate.api.callers import Caller, services_of
from headgate.api.instants import instant_or_none
from headgate.application.queries.queues.tree import queue_tree
from headgate.application.queries.queues.usage import usage_over_time
from headgate.application.queries.workloads.pending import (
    Stretch,
    pending_in_cluster_queue,
    pending_in_local_queue,
)
from headgate.application.time_travel import services_at

__all__ = ["Stretch", "pending", "tree", "usage"]


async def tree(request: Caller) -> Answer:
    """The whole tree."""
    return answer_view(queue_tree(services_of(request), request.user.namespaces))


async def usage(
    request: Caller, name: str, since: str | None, until: str | None, points: int
) -> Answer:
    """What a ClusterQueue used over time."""
    stretch = services_at.SampledPeriod(
        instant_or_none(since, "/since"), instant_or_none(until, "/until"), points
    )
    return answer_view(await usage_over_time(services_of(request), name, stretch))


async def pending(request: Caller, name: str, namespace: str, stretch: Stretch) -> Answer:
    """A waiting line, of a LocalQueue where there is a namespace."""
    services = services_of(request)
    scope = request.user.namespaces
    if namespace:
        key = f"{namespace}/{name}"
        steps = pending_in_local_queue(services, key, scope, stretch)
    else:
        steps = pending_in_cluster_queue(services, name, scope, stretch)
    view = await services.reader.while_still(steps)
    return answer(view, position=int(view.metadata.resource_version))
