"""What is in use on the hosts of flavors, also of those that were given to other nodes."""

from collections.abc import Iterator
from typing import Any

from headgate.domain.kinds.resource_flavor import ResourceFlavorChanged
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.scheduling.placement.host_table import ACTUAL
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.installed import Installed, quantities_of, read


def hold_hosts(installed: Installed, case: Case) -> None:
    """Pods that stand on hosts of flavors, some of which are given to other nodes afterwards."""
    queues = list(installed.cluster_state.config.cluster_queues)
    for flavor, usages in case.mapped("tasFlavorUsage").items():
        for number, used in enumerate(usages):
            domain = {"values": used["values"], "count": used.get("count", 0)}
            given = {
                "name": "main",
                "flavors": dict.fromkeys(used.get("singlePodRequests") or {}, flavor),
                "count": domain["count"],
                "topologyAssignment": {"levels": [HOSTNAME_LABEL], "domains": [domain]},
            }
            pod_set = _pods_of(used.get("singlePodRequests") or {}, domain["count"])
            status = {
                "admission": {"clusterQueue": queues[0], "podSetAssignments": [given]},
                "conditions": [{"type": "QuotaReserved", "status": "True"}],
            }
            metadata = {"name": f"{flavor}-{number}"}
            value = {"metadata": metadata, "spec": {"podSets": [pod_set]}, "status": status}
            installed.add("Workload", value)
    for value in case.listed("relabeledFlavors"):
        spec = read("ResourceFlavor", value).spec
        name = value["metadata"]["name"]
        installed.record(f"resourceflavor/{name}", ResourceFlavorChanged(spec=spec))


def _pods_of(requests: dict[str, int], count: int) -> dict[str, Any]:
    """A pod set of so many pods that request these amounts, CPU in milli."""
    container = {"name": "c", "resources": {"requests": quantities_of(requests)}}
    return {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}}


def differing_usage(installed: Installed, case: Case) -> Iterator[str]:
    """What is in use on the hosts of each flavor that the case asks about."""
    for flavor, wanted in (case.want["wantTASUsage"] or {}).items():
        partition = installed.partition_of(
            next(iter(installed.cluster_state.config.cluster_queues))
        )
        hosts = partition.hosts
        topology = partition.topologies.get(flavor)
        rows = [] if topology is None else [int(row) for row in topology.rows]
        used = hosts.capacity - hosts.free[ACTUAL]
        found = {
            ",".join(hosts.leaf_ids[row]): {
                name: int(used[line, row])
                for name, line in hosts.resources.items()
                if used[line, row]
            }
            for row in rows
        }
        yield from differences(flavor, wanted, {host: held for host, held in found.items() if held})
