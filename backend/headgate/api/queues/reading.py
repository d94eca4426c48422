"""Reading the queue tree and the waiting lines."""

from headgate.api.answers import Answer, answer, answer_view
from headgate.api.callers import Caller, installation_of
from headgate.application.queries.pending import (
    Stretch,
    pending_in_cluster_queue,
    pending_in_local_queue,
)
from headgate.application.queries.queue_tree import queue_tree

__all__ = ["Stretch", "pending", "tree"]


async def tree(request: Caller) -> Answer:
    """The whole tree."""
    return answer_view(queue_tree(installation_of(request), request.user.namespaces))


async def pending(request: Caller, name: str, namespace: str, stretch: Stretch) -> Answer:
    """A waiting line, of a LocalQueue where there is a namespace."""
    installation = installation_of(request)
    scope = request.user.namespaces
    if namespace:
        key = f"{namespace}/{name}"
        view = pending_in_local_queue(installation, key, scope, stretch)
    else:
        view = pending_in_cluster_queue(installation, name, scope, stretch)
    return answer(view, position=installation.reader.position)
