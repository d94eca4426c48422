"""Which hosts of a flavor may take pods of a template, and why others may not (topology.md §1.3).

Only where the topology goes down to hosts; above that, machines are not looked at one by one.
"""

import numpy as np

from headgate.domain.configured import Configured
from headgate.domain.scheduling.matching import matches_node, untolerated, written
from headgate.domain.scheduling.placement.domains import FlavorTopology
from headgate.domain.scheduling.placement.hosts import Bools, HostTable
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec
from headgate.domain.workloads.specs import Scheduling


def eligible_hosts(
    topology: FlavorTopology, table: HostTable, flavor: ResourceFlavorSpec, pod: Scheduling
) -> tuple[Bools, tuple[str, ...]]:
    """A mask over the flavor's places, and for each place the reason that excludes it (or empty).

    Kept per template in `topology`; labels and taints change only with configuration, which builds
    the topology anew.
    """
    if not topology.goes_to_hosts:
        return np.ones(len(topology.paths), dtype=np.bool_), ("",) * len(topology.paths)
    key = (pod.tolerations, tuple(sorted(pod.node_selector.items())), pod.affinity)
    known = topology.eligible.get(key)
    if known is None:
        reasons = tuple(
            _refusal(table.nodes_at(table.places[row])[0], flavor, pod) for row in topology.rows
        )
        known = (np.array([not reason for reason in reasons], dtype=np.bool_), reasons)
        topology.eligible[key] = known
    return known


def _refusal(node: Configured[NodeSpec], flavor: ResourceFlavorSpec, pod: Scheduling) -> str:
    taint = untolerated(node.spec.taints, (*pod.tolerations, *flavor.tolerations))
    if taint is not None:
        return f'taint "{written(taint)}"'
    if any(node.labels.get(key) != value for key, value in pod.node_selector.items()):
        return "nodeSelector"
    if not matches_node(node.labels, node.name, pod.affinity):
        return "affinity"
    return ""
