"""What the nodes of each flavor offer, as far as nodes are known."""

from collections.abc import Mapping
from typing import TypeAlias

from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.matching import node_is_of_flavor
from headgate.domain.values.quantities import Requests

FlavorCapacity: TypeAlias = Mapping[str, Requests]
"""By flavor what all its nodes offer together; nothing where it has no node."""


def capacity_of_flavors(config: ObjectSet) -> FlavorCapacity:
    """Every flavor's capacity, in one pass over the nodes: those alike to all flavors are one."""
    keys = sorted({key for f in config.resource_flavors.values() for key in f.spec.node_labels})
    alike: dict[tuple[str, ...], Requests] = {}
    for _, node in sorted(config.nodes.items()):
        offer = alike.setdefault(tuple(node.labels.get(key, "") for key in keys), {})
        _add(offer, node.spec.allocatable)
    found: dict[str, Requests] = {}
    for name, flavor in sorted(config.resource_flavors.items()):
        found[name] = {}
        for values, offer in alike.items():
            if node_is_of_flavor(dict(zip(keys, values, strict=True)), flavor.spec):
                _add(found[name], offer)
    return found


def _add(total: Requests, amounts: Mapping[str, int]) -> None:
    for resource, amount in amounts.items():
        total[resource] = total.get(resource, 0) + amount
