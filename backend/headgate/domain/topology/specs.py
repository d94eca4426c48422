"""The specs of Topology, ResourceFlavor and Node (reference topology.md §1)."""

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.values.selectors import Taint, Toleration

HOSTNAME_LABEL = "kubernetes.io/hostname"


class TopologySpec(msgspec.Struct, frozen=True, kw_only=True):
    """The node labels that name the levels, widest first; 1 to 16, hostname only last."""

    levels: tuple[str, ...]

    @property
    def goes_to_hosts(self) -> bool:
        """Whether the lowest level is the host."""
        return self.levels[-1] == HOSTNAME_LABEL


class ResourceFlavorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of machine: which nodes are of it, and what pods on them must tolerate."""

    node_labels: dict[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology_name: str = ""


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A host: what it offers, and whether it takes pods.

    `allocatable` and `used_by_others` are amounts as in `quantities`; the latter is what runs there
    without being a workload of ours, its number of pods under `pods`. `draining`: what runs there
    is to find another place. `lease_seconds` after `heard_at` a silent host is not ready; 0 is
    never.
    """

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    allocatable: dict[str, int] = {}
    used_by_others: dict[str, int] = {}
    draining: bool = False
    not_ready_since: Instant | None = None
    lease_seconds: int = 0
    heard_at: Instant | None = None
