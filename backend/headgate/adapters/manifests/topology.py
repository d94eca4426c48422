"""The codec of Topology (topology.md §1.1)."""

from typing import Any

from headgate.adapters.manifests.codec import KUEUE, KUEUE_ALPHA, OURS, Codec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import ManifestSchema, object_schema
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.topology import TOPOLOGY, TopologySpec


def read_topology(spec: Fields) -> tuple[TopologySpec, tuple[str, ...]]:
    """The levels of a Topology."""
    return TopologySpec(levels=tuple(_level(level) for level in spec.children("levels"))), ()


def _level(fields: Fields) -> str:
    level = fields.required_text("nodeLabel")
    fields.reject_unknown()
    return level


def topology_body(topology: Configured[TopologySpec]) -> dict[str, Any]:
    """The levels of a Topology."""
    return {"spec": {"levels": [{"nodeLabel": level} for level in topology.spec.levels]}}


class TopologyLevelSchema(ManifestSchema, kw_only=True, frozen=True):
    """One level, named by a node label."""

    node_label: str


class TopologySpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """The levels, widest first."""

    levels: list[TopologyLevelSchema]


TopologyObject = object_schema("Topology", "A Topology.", TopologySpecSchema)


TOPOLOGY_CODEC = Codec(
    kind=TOPOLOGY,
    versions=(*KUEUE, KUEUE_ALPHA, OURS),
    read=read_topology,
    render=lambda topology, _: topology_body(topology),
    schema=TopologyObject,
)
