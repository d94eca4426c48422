"""ResourceFlavor: a kind of machine that quota is counted in (topology.md §1.2)."""

from collections.abc import Iterator, Mapping

import msgspec

from headgate.domain.field_rules import (
    count_violations,
    label_violations,
    name_violations,
    taint_violations,
    toleration_violations,
)
from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import (
    Kind,
)
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.selectors import Taint, Toleration


class ResourceFlavorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of machine: which nodes are of it, and what pods on them must tolerate."""

    node_labels: dict[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology_name: str = ""


def node_is_of_flavor(labels: Mapping[str, str], flavor: ResourceFlavorSpec) -> bool:
    """Whether a node carries every label of the flavor; a missing label compares as empty."""
    return all(labels.get(key, "") == value for key, value in flavor.node_labels.items())


class ResourceFlavorCreated(
    ObjectCreated[ResourceFlavorSpec], frozen=True, kw_only=True, tag="resource_flavor.created"
):
    """The ResourceFlavor exists, as generation 1."""


class ResourceFlavorChanged(
    ObjectChanged[ResourceFlavorSpec], frozen=True, kw_only=True, tag="resource_flavor.changed"
):
    """Labels, annotations or spec of the ResourceFlavor are replaced."""


class ResourceFlavorDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="resource_flavor.deletion_requested"
):
    """Deletion of the ResourceFlavor was requested while others referenced it."""


class ResourceFlavorDeleted(ObjectDeleted, frozen=True, tag="resource_flavor.deleted"):
    """The ResourceFlavor is gone; its name is free."""


MAX_FLAVOR_ENTRIES = 8


def resource_flavor_violations(spec: ResourceFlavorSpec) -> tuple[Violation, ...]:
    """Broken rules of a ResourceFlavor."""
    return (
        *label_violations("/spec/nodeLabels", spec.node_labels),
        *taint_violations("/spec/nodeTaints", spec.node_taints),
        *toleration_violations("/spec/tolerations", spec.tolerations),
        *_flavor_size_violations(spec),
        *_topology_name_violations(spec),
    )


def resource_flavor_change_violations(
    before: ResourceFlavorSpec, after: ResourceFlavorSpec
) -> tuple[Violation, ...]:
    """Returns the violation by a flavor that leaves the Topology it lies in."""
    if not before.topology_name or before.topology_name == after.topology_name:
        return ()
    return (violation("/spec/topologyName", "FieldImmutable", value=before.topology_name),)


def _flavor_size_violations(spec: ResourceFlavorSpec) -> Iterator[Violation]:
    counted = (
        ("nodeLabels", len(spec.node_labels)),
        ("nodeTaints", len(spec.node_taints)),
        ("tolerations", len(spec.tolerations)),
    )
    for field, count in counted:
        yield from count_violations(f"/spec/{field}", count, MAX_FLAVOR_ENTRIES)


def _topology_name_violations(spec: ResourceFlavorSpec) -> Iterator[Violation]:
    if not spec.topology_name:
        return
    yield from name_violations("/spec/topologyName", spec.topology_name)
    if not spec.node_labels:
        yield violation("/spec/nodeLabels", "NodeLabelsMissing")


def _references(spec: ResourceFlavorSpec) -> tuple[tuple[str, str], ...]:
    """The Topology that the flavor lies in."""
    return (("topology", spec.topology_name),) if spec.topology_name else ()


RESOURCE_FLAVOR: Kind[ResourceFlavorSpec] = Kind(
    name="ResourceFlavor",
    plural="ResourceFlavors",
    short_names=("flavor", "flavors", "rf"),
    spec=ResourceFlavorSpec,
    created=ResourceFlavorCreated,
    changed=ResourceFlavorChanged,
    deletion_requested=ResourceFlavorDeletionRequested,
    deleted=ResourceFlavorDeleted,
    rules=resource_flavor_violations,
    rules_of_change=resource_flavor_change_violations,
    references=_references,
    when_in_use="Waits",
)
