"""Rules for Topologies, ResourceFlavors and Nodes (reference topology.md §1.1-1.2)."""

from collections.abc import Iterator, Mapping

from headgate.domain.metadata import label_violations, violation_of
from headgate.domain.rejection import Violation
from headgate.domain.selection_rules import taint_violations, toleration_violations
from headgate.domain.topology.specs import (
    HOSTNAME_LABEL,
    NodeSpec,
    ResourceFlavorSpec,
    TopologySpec,
)
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.names import (
    MAX_LEVEL_KEY_LENGTH,
    broken_rule_of_label_key,
    broken_rule_of_name,
)
from headgate.domain.values.pointers import child

MOST_LEVELS = 16
MOST_OF_A_FLAVOR = 8
LONGEST_LEASE_SECONDS = 86_400

_LEVELS = "/spec/levels"


def topology_violations(spec: TopologySpec) -> tuple[Violation, ...]:
    """What is wrong with the levels of a Topology."""
    return (
        *_level_count_violations(spec.levels),
        *_level_key_violations(spec.levels),
        *_level_order_violations(spec.levels),
    )


def topology_change_violations(before: TopologySpec, after: TopologySpec) -> tuple[Violation, ...]:
    """Levels may change only where hosts stay the leaves, so that usage keeps its place."""
    if before.levels == after.levels or (_ends_in_hosts(before) and _ends_in_hosts(after)):
        return ()
    return (
        Violation(
            pointer=_LEVELS,
            rule=f"Levels change only if {HOSTNAME_LABEL} is the last one before and after.",
            remedy=f"Keep {HOSTNAME_LABEL} last, or make another Topology.",
        ),
    )


def resource_flavor_violations(spec: ResourceFlavorSpec) -> tuple[Violation, ...]:
    """What is wrong with a ResourceFlavor."""
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
        Violation(
            pointer="/spec/topologyName",
            rule=f"topologyName never changes once it is set; it is {before.topology_name}.",
            remedy="Make another ResourceFlavor for the other Topology.",
        ),
    )


def node_violations(spec: NodeSpec) -> tuple[Violation, ...]:
    """What is wrong with a Node."""
    return (
        *taint_violations("/spec/taints", spec.taints),
        *amount_violations("/status/allocatable", spec.allocatable),
        *amount_violations("/status/usedByOthers", spec.used_by_others),
    )


def amount_violations(pointer: str, amounts: Mapping[str, int]) -> Iterator[Violation]:
    """What is wrong with amounts by resource: names that are none, amounts below zero."""
    for resource, amount in amounts.items():
        place = child(pointer, resource)
        found = violation_of(place, resource, broken_rule_of_label_key)
        if found:
            yield found
        if amount < 0:
            yield Violation(
                pointer=place,
                rule=f"The amount of {resource} is at least 0.",
                remedy="Give an amount that is not negative.",
            )


def lease_violations(seconds: int) -> Iterator[Violation]:
    """What is wrong with the length of a lease."""
    if not 0 <= seconds <= LONGEST_LEASE_SECONDS:
        yield Violation(
            pointer="/leaseSeconds",
            rule=f"A lease is 0 (none) to {LONGEST_LEASE_SECONDS} seconds long.",
            remedy="Give several times the interval between two heartbeats.",
        )


def silent_at(spec: NodeSpec) -> Instant | None:
    """When a node counts as not ready if nothing more is heard of it; None for never."""
    if not spec.ready or spec.heard_at is None or not spec.lease_seconds:
        return None
    return seconds_after(spec.heard_at, spec.lease_seconds)


def _ends_in_hosts(spec: TopologySpec) -> bool:
    return spec.levels[-1:] == (HOSTNAME_LABEL,)


def _level_count_violations(levels: tuple[str, ...]) -> Iterator[Violation]:
    if not 1 <= len(levels) <= MOST_LEVELS:
        yield Violation(
            pointer=_LEVELS,
            rule=f"A Topology has 1 to {MOST_LEVELS} levels, widest first; this one {len(levels)}.",
            remedy="Name the node labels that tell blocks, racks and hosts apart.",
        )


def _level_key_violations(levels: tuple[str, ...]) -> Iterator[Violation]:
    seen: dict[str, int] = {}
    for index, level in enumerate(levels):
        place = child(_LEVELS, index, "nodeLabel")
        found = violation_of(place, level, broken_rule_of_label_key)
        if found:
            yield found
        if len(level) > MAX_LEVEL_KEY_LENGTH:
            yield Violation(
                pointer=place,
                rule=f"A level key has at most {MAX_LEVEL_KEY_LENGTH} characters.",
                remedy="Use a shorter label.",
            )
        if seen.setdefault(level, index) != index:
            yield Violation(
                pointer=place,
                rule=f"Level {level} is listed twice.",
                remedy="Name each level once.",
            )


def _level_order_violations(levels: tuple[str, ...]) -> Iterator[Violation]:
    for index, level in enumerate(levels[:-1]):
        if level == HOSTNAME_LABEL:
            yield Violation(
                pointer=child(_LEVELS, index, "nodeLabel"),
                rule=f"{HOSTNAME_LABEL} can only be the last level: nothing is narrower.",
                remedy="Move it to the end.",
            )


def _flavor_size_violations(spec: ResourceFlavorSpec) -> Iterator[Violation]:
    counted = (
        ("nodeLabels", len(spec.node_labels)),
        ("nodeTaints", len(spec.node_taints)),
        ("tolerations", len(spec.tolerations)),
    )
    for field, count in counted:
        if count > MOST_OF_A_FLAVOR:
            yield Violation(
                pointer=f"/spec/{field}",
                rule=f"A ResourceFlavor has at most {MOST_OF_A_FLAVOR} {field}.",
                remedy=f"Remove {count - MOST_OF_A_FLAVOR} of the {count}.",
            )


def _topology_name_violations(spec: ResourceFlavorSpec) -> Iterator[Violation]:
    if not spec.topology_name:
        return
    found = violation_of("/spec/topologyName", spec.topology_name, broken_rule_of_name)
    if found:
        yield found
    if not spec.node_labels:
        yield Violation(
            pointer="/spec/nodeLabels",
            rule="A flavor with a topology needs at least one node label to find its nodes by.",
            remedy="Add the label that all nodes of this flavor carry.",
        )
