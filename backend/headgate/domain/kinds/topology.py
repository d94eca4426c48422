"""Topology: the levels of a network, widest first (topology.md §1.1), with rules of placement."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.field_rules import (
    MAX_LEVEL_KEY_LENGTH,
    broken_rule_of_label_key,
    count_violations,
    duplicate_violations,
    length_violations,
    name_violations,
)
from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.rejection import Violation, child, violation

HOSTNAME_LABEL = "kubernetes.io/hostname"


class TopologySpec(msgspec.Struct, frozen=True, kw_only=True):
    """The node labels that name the levels, widest first; 1 to 16, hostname only last."""

    levels: tuple[str, ...]

    @property
    def goes_to_hosts(self) -> bool:
        """Whether the lowest level is the host."""
        return self.levels[-1] == HOSTNAME_LABEL


class TopologyCreated(
    ObjectCreated[TopologySpec], frozen=True, kw_only=True, tag="topology.created"
):
    """The Topology exists, as generation 1."""


class TopologyChanged(
    ObjectChanged[TopologySpec], frozen=True, kw_only=True, tag="topology.changed"
):
    """Labels, annotations or spec of the Topology are replaced."""


class TopologyDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="topology.deletion_requested"
):
    """Deletion of the Topology was requested while others referenced it."""


class TopologyDeleted(ObjectDeleted, frozen=True, tag="topology.deleted"):
    """The Topology is gone; its name is free."""


MAX_LEVELS = 16
_LEVELS = "/spec/levels"


def topology_violations(spec: TopologySpec) -> tuple[Violation, ...]:
    """Broken rules of the levels of a Topology; of too many levels only that."""
    too_many = tuple(count_violations(_LEVELS, len(spec.levels), MAX_LEVELS))
    return too_many or (
        *count_violations(_LEVELS, len(spec.levels), MAX_LEVELS, 1),
        *_level_key_violations(spec.levels),
        *_level_order_violations(spec.levels),
    )


def topology_change_violations(before: TopologySpec, after: TopologySpec) -> tuple[Violation, ...]:
    """Returns the violation by a change of levels, unless hosts stay the leaves."""
    if before.levels == after.levels or (_ends_in_hosts(before) and _ends_in_hosts(after)):
        return ()
    return (violation(_LEVELS, "LevelsImmutable", label=HOSTNAME_LABEL),)


def _ends_in_hosts(spec: TopologySpec) -> bool:
    return spec.levels[-1:] == (HOSTNAME_LABEL,)


def _level_key_violations(levels: tuple[str, ...]) -> Iterator[Violation]:
    places = [(child(_LEVELS, index, "nodeLabel"), key) for index, key in enumerate(levels)]
    for pointer, level in places:
        yield from name_violations(pointer, level, broken_rule_of_label_key)
        yield from length_violations(pointer, level, MAX_LEVEL_KEY_LENGTH)
    yield from duplicate_violations(places)


def _level_order_violations(levels: tuple[str, ...]) -> Iterator[Violation]:
    for index, level in enumerate(levels[:-1]):
        if level == HOSTNAME_LABEL:
            pointer = child(_LEVELS, index, "nodeLabel")
            yield violation(pointer, "HostLevelNotLast", label=HOSTNAME_LABEL)


TOPOLOGY: Kind[TopologySpec] = Kind(
    name="Topology",
    plural="Topologies",
    short_names=("topo",),
    spec=TopologySpec,
    created=TopologyCreated,
    changed=TopologyChanged,
    deletion_requested=TopologyDeletionRequested,
    deleted=TopologyDeleted,
    rules=topology_violations,
    rules_of_change=topology_change_violations,
    when_in_use="Waits",
)


class TopologyRules(msgspec.Struct, frozen=True, kw_only=True):
    """How hosts are chosen, and what follows when a host fails (topology.md §4, §6).

    `profile`: pod sets that require no common level take the hosts with least free capacity
    (`Mixed`), or the best fit as all others do (`BestFit`).
    `respect_preferred_affinity`: hosts that a pod's preferred node affinity scores come first.
    `not_ready_seconds`: how long a host may be not ready before it counts as failed; with None only
    when the executor says that no pod is alive there.
    `fail_fast`: evict at once where no replacement is found; otherwise wait for one.
    `node_feasibility_for_all_levels`: each node is checked for itself also where the lowest level
    of a topology is above hosts (Kueue: `TASNodeFeasibilityForAllLevels`); otherwise a lowest
    domain counts as one host.
    `partial_slices`: pods beyond whole slices are one shorter slice (Kueue: `TASPartialSlices`);
    otherwise counts that slices do not divide are refused.
    `grouped_pod_set_slicing`: pod sets of a group may have slices (Kueue:
    `TASGroupedPodSetSlicing`).
    `unknown_level` and `mixed_requests`: whether a pending workload is deactivated that asks for a
    level of no topology in its ClusterQueue, or of which only some pod sets ask for a level
    (KEP-2724, Validation; Kueue dropped both rules).
    """

    profile: Literal["Mixed", "BestFit"] = "Mixed"
    respect_preferred_affinity: bool = False
    not_ready_seconds: int | None = 30
    replace_failed_nodes: bool = True
    fail_fast: bool = True
    node_feasibility_for_all_levels: bool = True
    partial_slices: bool = True
    grouped_pod_set_slicing: bool = True
    unknown_level: Literal["Wait", "Deactivate"] = "Wait"
    mixed_requests: Literal["Admit", "Deactivate"] = "Admit"

    @property
    def deactivates_invalid_requests(self) -> bool:
        """Whether some pending workload may be deactivated for its topology request."""
        return "Deactivate" in {self.unknown_level, self.mixed_requests}
