"""The codecs of Topology and of ResourceFlavor, which names one, and the rules of placement.

topology.md §1.1, §1.2. The Configuration holds the rules of placement.
"""

from typing import Any, Literal

from headgate.adapters.manifests.codec import KUEUE, KUEUE_ALPHA, OURS, Codec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import Duration, ManifestSchema, object_schema
from headgate.adapters.manifests.records import Record, duration_or_never, field, listed
from headgate.adapters.manifests.selectors import (
    TAINT_RECORD,
    TOLERATION_RECORD,
    TaintSchema,
    TolerationSchema,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import RESOURCE_FLAVOR, ResourceFlavorSpec
from headgate.domain.kinds.topology import TOPOLOGY, TopologyRules, TopologySpec


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


TOPOLOGY_RULES = Record(
    TopologyRules,
    field("profile"),
    field("respectPreferredAffinity"),
    duration_or_never("notReadyTimeout", "not_ready_seconds"),
    field("replaceFailedNodes"),
    field("failFast"),
    field("nodeFeasibilityForAllLevels"),
    field("partialSlices"),
    field("groupedPodSetSlicing"),
    field("unknownLevel"),
    field("mixedRequests"),
)


class TopologyRulesSchema(ManifestSchema, kw_only=True, frozen=True):
    """How hosts are chosen, and what follows when a host fails.

    `nodeFeasibilityForAllLevels` checks capacity, taints and labels of each node also below a
    lowest level above hosts; without `partialSlices` slices must divide counts. `unknownLevel` and
    `mixedRequests` say what becomes of workloads that ask for a level that no topology of their
    ClusterQueue has, or for levels of some pod sets only.
    """

    profile: Literal["Mixed", "BestFit"] = "Mixed"
    respect_preferred_affinity: bool = False
    not_ready_timeout: Duration = "30s"
    replace_failed_nodes: bool = True
    fail_fast: bool = True
    node_feasibility_for_all_levels: bool = True
    partial_slices: bool = True
    grouped_pod_set_slicing: bool = True
    unknown_level: Literal["Wait", "Deactivate"] = "Wait"
    mixed_requests: Literal["Admit", "Deactivate"] = "Admit"


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
