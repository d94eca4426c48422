"""What a submitter may see: its own namespaces, the queues, and that others are there."""

from collections.abc import Iterable
from typing import TypeAlias

from headgate.domain.kinds.registry import KINDS_BY_STREAM, NAMESPACED_STREAMS
from headgate.domain.object_set import ObjectSet
from headgate.domain.streams import kind_and_key
from headgate.domain.values.message import ObjectReference
from headgate.messages.rendering import IsVisible, everything_visible, foreign_objects

NamespaceScope: TypeAlias = frozenset[str] | None
"""The namespaces that a user may read; None means all of them."""

IN_NAMESPACES = ("workload", *NAMESPACED_STREAMS)
OPEN_KINDS = tuple(
    name for name in KINDS_BY_STREAM if name not in NAMESPACED_STREAMS and name != "namespace"
)
FOREIGN_WORKLOAD = foreign_objects("workload", 0)
WITHHELD_DIAGNOSTIC = "Shown to readers of all namespaces only"


def namespace_of(stream: str) -> str:
    """The namespace a stream belongs to; empty for what belongs to none."""
    kind, key = kind_and_key(stream)
    if kind == "namespace":
        return key
    return key.partition("/")[0] if kind in IN_NAMESPACES else ""


def allows(scope: NamespaceScope, stream: str) -> bool:
    """Whether facts of that stream may be seen; rounds name several teams and have their page."""
    if scope is None:
        return True
    kind, _ = kind_and_key(stream)
    return kind in OPEN_KINDS or namespace_of(stream) in scope


def visible_to(scope: NamespaceScope) -> IsVisible:
    """Returns which objects messages may name to a reader of these namespaces."""
    if scope is None:
        return everything_visible
    return lambda reference: allows(scope, f"{reference.kind}/{reference.key}")


def cluster_queues_of(config: ObjectSet, scope: frozenset[str]) -> frozenset[str]:
    """The ClusterQueues that LocalQueues of these namespaces lead to."""
    return frozenset(
        queue.spec.cluster_queue
        for queue in config.local_queues.values()
        if queue.namespace in scope
    )


def open_prefixes(scope: frozenset[str]) -> tuple[str, ...]:
    """The streams that may be seen, as prefixes ending in `/` and whole names."""
    own = (f"{kind}/{namespace}/" for kind in IN_NAMESPACES for namespace in sorted(scope))
    names = (f"namespace/{namespace}" for namespace in sorted(scope))
    return (*(f"{kind}/" for kind in OPEN_KINDS), *own, *names)


def diagnostic(text: str, scope: NamespaceScope) -> str:
    """Returns what workers or the database told of a failure, for readers of all namespaces.

    It may name any object, and has no types to tell which.
    """
    return text if scope is None or not text else WITHHELD_DIAGNOSTIC


def foreign_workloads(number: int) -> str:
    """Returns how workloads of other namespaces are counted."""
    return foreign_objects("workload", number)


def shown_key(key: str, scope: NamespaceScope) -> str:
    """Returns the key of a workload, or what a reader reads who may not see it."""
    return key if _is_visible_key(key, "workload", visible_to(scope)) else FOREIGN_WORKLOAD


def shown_keys(keys: Iterable[str], scope: NamespaceScope) -> list[str]:
    """Returns the keys that a reader may see; the others are counted at the end."""
    return shown_references(keys, "workload", visible_to(scope))


def shown_references(keys: Iterable[str], kind: str, is_visible: IsVisible) -> list[str]:
    """Returns the keys of visible objects of a kind; the others are counted at the end."""
    listed = list(keys)
    kept = [key for key in listed if _is_visible_key(key, kind, is_visible)]
    hidden = len(listed) - len(kept)
    return [*kept, foreign_objects(kind, hidden)] if hidden else kept


def _is_visible_key(key: str, kind: str, is_visible: IsVisible) -> bool:
    """Whether the key may be shown; a text that is no key (`namespace/name`) always may."""
    return "/" not in key or is_visible(ObjectReference(kind, key))
