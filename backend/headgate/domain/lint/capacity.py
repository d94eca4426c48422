"""What the nodes of each flavor offer, as far as nodes are known."""

from collections.abc import Iterable, Mapping

from headgate.domain.config import Config
from headgate.domain.scheduling.matching import node_is_of_flavor
from headgate.domain.values.quantities import Requests, added


def capacity_of_flavors(config: Config) -> dict[str, Requests]:
    """By flavor what all its nodes offer together; nothing where it has no node."""
    groups: dict[tuple[tuple[str, str], ...], Requests] = {}
    found: dict[str, Requests] = {}
    for name, flavor in sorted(config.resource_flavors.items()):
        key = tuple(sorted(flavor.spec.node_labels.items()))
        if key not in groups:
            groups[key] = _together(
                node.spec.allocatable
                for _, node in sorted(config.nodes.items())
                if node_is_of_flavor(node.labels, flavor.spec)
            )
        found[name] = groups[key]
    return found


def _together(offers: Iterable[Mapping[str, int]]) -> Requests:
    total: Requests = {}
    for offer in offers:
        total = added(total, offer)
    return total
