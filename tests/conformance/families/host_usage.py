"""What is in use on the hosts of flavors, also of those that were given to other nodes."""

from collections.abc import Iterable, Iterator
from typing import Any

from headgate.domain.kinds.resource_flavor import ResourceFlavorChanged
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.nodes.state import NodeReported
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.values.quantities import amount_of
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.families.placements import (
    ground_of,
    installed_hosts,
    other_pods,
    used_by_others,
)
from tests.conformance.installed import Installed, quantities_of, read

PLENTY = {"cpu": "1000", "memory": "1Ti", "pods": "1000"}


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


def usage_by_others(case: Case) -> Iterator[str]:
    """What pods of no workload use on each node, as pods come and go."""
    pods = {_pod_key(pod["metadata"]): pod for pod in case.listed("initialPods")}
    nodes = sorted({pod["spec"].get("nodeName") or "" for pod in pods.values()} - {""})
    installed = installed_hosts([HOSTNAME_LABEL], {}, [_host(name) for name in nodes])
    _report(installed, nodes, pods.values())
    for name in case.listed("podsDelete"):
        pods.pop(_pod_key(name), None)
    _report(installed, nodes, pods.values())
    hosts = ground_of(installed).table
    found = {
        leaf[-1]: {
            resource: used
            for resource, line in hosts.resources.items()
            if (used := amount_of(resource, PLENTY[resource]) - int(hosts.free[ACTUAL][line, row]))
        }
        for row, leaf in enumerate(hosts.leaf_ids)
    }
    busy = {name: amounts for name, amounts in found.items() if amounts}
    yield from differences("usage", case.want["wantNodeUsage"] or {}, busy)


def _pod_key(metadata: dict[str, str]) -> tuple[str, str]:
    return metadata.get("namespace", ""), metadata["name"]


def _host(name: str) -> dict[str, Any]:
    """A node that is ready and has plenty of everything."""
    return {
        "metadata": {"name": name, "labels": {HOSTNAME_LABEL: name}},
        "status": {
            "allocatable": PLENTY,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _report(installed: Installed, nodes: list[str], pods: Iterable[dict[str, Any]]) -> None:
    """A heartbeat of each node, with what the pods on it use."""
    usage = used_by_others(other_pods(pods))
    for name in nodes:
        reported = NodeReported(
            ready=True,
            allocatable={each: amount_of(each, amount) for each, amount in PLENTY.items()},
            used_by_others={
                each: amount_of(each, amount) for each, amount in usage.get(name, {}).items()
            },
        )
        installed.record(f"node/{name}", reported)


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


FAMILIES = {"TestNonTasUsageCacheIncrementalUpdates": Family(usage_by_others)}
