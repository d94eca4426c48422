"""The codec of ResourceFlavor (topology.md §1.2)."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.schemas import ManifestSchema, ObjectMeta
from headgate.adapters.manifests.selectors import (
    TaintSchema,
    TolerationSchema,
    read_taints,
    read_tolerations,
    rendered_taint,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import RESOURCE_FLAVOR, ResourceFlavorSpec
from headgate.domain.values.selectors import toleration_fields


def read_resource_flavor(spec: Fields) -> tuple[ResourceFlavorSpec, tuple[str, ...]]:
    """The spec of a ResourceFlavor."""
    read = ResourceFlavorSpec(
        node_labels=spec.text_map("nodeLabels"),
        node_taints=read_taints(spec, "nodeTaints"),
        tolerations=read_tolerations(spec, "tolerations"),
        topology_name=spec.text("topologyName"),
    )
    return read, ()


def resource_flavor_body(flavor: Configured[ResourceFlavorSpec]) -> dict[str, Any]:
    """The spec of a ResourceFlavor."""
    spec = flavor.spec
    fields: dict[str, Any] = {
        "nodeLabels": spec.node_labels,
        "nodeTaints": [rendered_taint(taint) for taint in spec.node_taints],
        "tolerations": [toleration_fields(toleration) for toleration in spec.tolerations],
        "topologyName": spec.topology_name,
    }
    return {"spec": {name: value for name, value in fields.items() if value}}


class ResourceFlavorSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """A kind of machine."""

    node_labels: dict[str, str] = {}
    node_taints: list[TaintSchema] = []
    tolerations: list[TolerationSchema] = []
    topology_name: str | None = None


class ResourceFlavorObject(ManifestSchema, kw_only=True, frozen=True):
    """A ResourceFlavor."""

    api_version: str
    kind: Literal["ResourceFlavor"]
    metadata: ObjectMeta
    spec: ResourceFlavorSpecSchema


RESOURCE_FLAVOR_CODEC = Codec(
    kind=RESOURCE_FLAVOR,
    versions=(*KUEUE, OURS),
    read=read_resource_flavor,
    render=lambda flavor, _: resource_flavor_body(flavor),
    schema=ResourceFlavorObject,
)
