"""The codec of Namespace."""

from typing import Any

from headgate.adapters.manifests.codec import OURS, Codec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import object_schema
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.namespace import NAMESPACE, NamespaceSpec


def read_namespace(spec: Fields) -> tuple[NamespaceSpec, tuple[str, ...]]:
    """The spec of a Namespace: only Kubernetes' own finalizers may stand there."""
    spec.ignore("finalizers")
    return NamespaceSpec(), ()


def namespace_body(namespace: Configured[NamespaceSpec]) -> dict[str, Any]:
    """A Namespace."""
    phase = "Active" if namespace.terminating_at is None else "Terminating"
    return {"spec": {}, "status": {"phase": phase}}


NamespaceObject = object_schema("Namespace", "A Namespace.")


NAMESPACE_CODEC = Codec(
    kind=NAMESPACE,
    versions=("v1", OURS),
    read=read_namespace,
    render=lambda namespace, _: namespace_body(namespace),
    schema=NamespaceObject,
)
