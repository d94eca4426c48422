"""What may have been meant by a name that nothing has."""

from headgate.application.access.redaction import NamespaceScope, allows
from headgate.domain.cluster_state import ClusterState
from headgate.domain.streams import kind_and_key, stream_of
from headgate.messages.rendering import nearest

MAX_COMPARED = 2_000
"""Names are compared one by one; with more of them in a namespace only the same name is sought."""


def did_you_mean(cluster_state: ClusterState, stream: str, scope: NamespaceScope) -> str:
    """The same name in another namespace, or one like it; empty where there is neither."""
    kind, key = kind_and_key(stream)
    namespace, slash, name = key.rpartition("/")
    objects = cluster_state.workloads if kind == "workload" else cluster_state.config.of_kind(kind)
    if slash:
        elsewhere = [
            other
            for other in _namespaces(cluster_state)
            if f"{other}/{name}" in objects and allows(scope, stream_of(kind, name, other))
        ]
        if elsewhere:
            return f"There is one of that name in namespace {elsewhere[0]}."
    if not allows(scope, stream):
        return ""
    prefix = namespace + slash
    here = [key.removeprefix(prefix) for key in objects if key.startswith(prefix)]
    near = nearest(name, here) if len(here) <= MAX_COMPARED else None
    return f"Did you mean {near}?" if near else ""


def _namespaces(cluster_state: ClusterState) -> list[str]:
    """Those that have a LocalQueue or are declared."""
    namespaces = (queue.namespace for queue in cluster_state.config.local_queues.values())
    return sorted({*namespaces, *cluster_state.config.namespaces})
