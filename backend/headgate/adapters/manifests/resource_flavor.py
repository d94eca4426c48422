"""The codec of ResourceFlavor (topology.md §1.2)."""

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec
from headgate.adapters.manifests.metadata import ManifestSchema, object_schema
from headgate.adapters.manifests.records import Record, field, listed
from headgate.adapters.manifests.selectors import (
    TAINT_RECORD,
    TOLERATION_RECORD,
    TaintSchema,
    TolerationSchema,
)
from headgate.domain.kinds.resource_flavor import RESOURCE_FLAVOR, ResourceFlavorSpec

FLAVOR_RECORD = Record(
    ResourceFlavorSpec,
    field("nodeLabels", omits_usual=True),
    listed("nodeTaints", TAINT_RECORD, omits_usual=True),
    listed("tolerations", TOLERATION_RECORD, omits_usual=True),
    field("topologyName", omits_usual=True),
)


class ResourceFlavorSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """A kind of machine."""

    node_labels: dict[str, str] = {}
    node_taints: list[TaintSchema] = []
    tolerations: list[TolerationSchema] = []
    topology_name: str | None = None


ResourceFlavorObject = object_schema(
    "ResourceFlavor", "A ResourceFlavor.", ResourceFlavorSpecSchema
)


RESOURCE_FLAVOR_CODEC = Codec(
    kind=RESOURCE_FLAVOR,
    versions=(*KUEUE, OURS),
    read=lambda spec: (FLAVOR_RECORD.read(spec), ()),
    render=lambda flavor, _: {"spec": FLAVOR_RECORD.render(flavor.spec)},
    schema=ResourceFlavorObject,
)
