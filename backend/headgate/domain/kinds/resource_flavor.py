"""ResourceFlavor: a kind of machine that quota is counted in (topology.md §1.2)."""

from collections.abc import Iterator

import msgspec

from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import (
    Kind,
)
from headgate.domain.metadata import (
    label_violations,
    violation_of,
)
from headgate.domain.rejection import Violation, violation
from headgate.domain.selection_rules import taint_violations, toleration_violations
from headgate.domain.values.names import (
    broken_rule_of_name,
)
from headgate.domain.values.selectors import Taint, Toleration


class ResourceFlavorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of machine: which nodes are of it, and what pods on them must tolerate."""

    node_labels: dict[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology_name: str = ""


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
    """A flavor that lies in a topology stays there."""
    if not before.topology_name or before.topology_name == after.topology_name:
        return ()
    return (
        violation(
            "/spec/topologyName",
            "Stated",
            rule=f"topologyName never changes once it is set; it is {before.topology_name}.",
            remedy="Make another ResourceFlavor for the other Topology.",
        ),
    )


def _flavor_size_violations(spec: ResourceFlavorSpec) -> Iterator[Violation]:
    counted = (
        ("nodeLabels", len(spec.node_labels)),
        ("nodeTaints", len(spec.node_taints)),
        ("tolerations", len(spec.tolerations)),
    )
    for field, count in counted:
        if count > MAX_FLAVOR_ENTRIES:
            yield violation(
                f"/spec/{field}",
                "Stated",
                rule=f"A ResourceFlavor has at most {MAX_FLAVOR_ENTRIES} {field}.",
                remedy=f"Remove {count - MAX_FLAVOR_ENTRIES} of the {count}.",
            )


def _topology_name_violations(spec: ResourceFlavorSpec) -> Iterator[Violation]:
    if not spec.topology_name:
        return
    found = violation_of("/spec/topologyName", spec.topology_name, broken_rule_of_name)
    if found:
        yield found
    if not spec.node_labels:
        yield violation(
            "/spec/nodeLabels",
            "Stated",
            rule="A flavor with a topology needs at least one node label to find its nodes by.",
            remedy="Add the label that all nodes of this flavor carry.",
        )


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
