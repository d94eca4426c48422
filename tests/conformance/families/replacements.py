"""Other hosts for those that failed (`pkg/cache/scheduler/tas_*`, and lines of random problems)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headgate.domain.scheduling.placement.replacement import replace_hosts
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.admission import TopologyAssignment
from tests.conformance.cases import Case
from tests.conformance.families.family import Family
from tests.conformance.families.placements import (
    MAIN,
    Domains,
    as_domains,
    ground_of,
    hosts_of_line,
    hosts_of_table,
    judged,
    known_gate,
    pod_set_of_line,
    pod_set_of_table,
    random_problem,
    topology_assignments,
    workload_of,
)
from tests.conformance.installed import Installed, read
from tests.conformance.statuses import decoded, topology_assignment

ONE_POD = {"cpu": 1000}
"""What a pod of a case of several layers asks for."""


def line(case: Case) -> Iterator[str]:
    """A random problem: a new place, or another host for one that failed."""
    lost = case.given("unhealthy")
    if not lost:
        yield from random_problem(case)
        return
    given = {
        pod_set["name"]: {
            "levels": case.inputs["levels"][-1:],
            "domains": [{"values": d["values"], "count": d["count"]} for d in pod_set["existing"]],
        }
        for pod_set in case.listed("podSets")
        if pod_set.get("existing")
    }
    pod_sets = [pod_set_of_line(pod_set) for pod_set in case.listed("podSets")]
    wanted = {name: as_domains(expected.get("domains")) for name, expected in case.want.items()}
    yield from judged(wanted, _replaced(hosts_of_line(case), pod_sets, given, lost))


def table(case: Case) -> Iterator[str]:
    """A case of the table: a new place, or another host for one that failed."""
    status = case.mapped("workload").get("status") or {}
    if not status.get("unhealthyNodes"):
        yield from topology_assignments(case)
        return
    lost = status["unhealthyNodes"][0]["name"]
    given = {
        found.get("name") or MAIN: found["topologyAssignment"]
        for found in (status.get("admission") or {}).get("podSetAssignments") or ()
        if found.get("topologyAssignment")
    }
    pod_sets = [
        pod_set_of_table(pod_set)
        for pod_set in case.listed("podSets")
        if (pod_set.get("podSetName") or MAIN) in given
    ]
    wanted = {
        name or MAIN: None if found["wantAssignment"] is None else decoded(found["wantAssignment"])
        for name, found in (case.want["wantPodSets"] or {}).items()
        if (name or MAIN) in given
    }
    yield from judged(wanted, _replaced(hosts_of_table(case), pod_sets, given, lost))


def several_layers(case: Case) -> Iterator[str]:
    """Slices within slices, one host of which failed."""
    levels = case.shared["defaultLevels"]
    hosts = hosts_of_table(case, case.listed("levels") or levels)
    pod_set = pod_set_of_table(
        {
            "count": case.number("count") or case.number("admissionCount"),
            "requests": ONE_POD,
            "topologyRequest": case.given("topologyRequest"),
        }
    )
    wanted = case.want["wantAssignment"]
    given = {MAIN: case.inputs["existingTA"]}
    found = _replaced(hosts, [pod_set], given, case.text("unhealthyNode"))
    yield from judged({MAIN: None if wanted is None else decoded(wanted)}, found)


def unhealthy_hosts(workloads: Iterable[dict[str, Any]]) -> list[str]:
    """Hosts that a workload's status calls unhealthy: what the node itself says comes too late."""
    return [
        found["name"]
        for workload in workloads
        for found in (workload.get("status") or {}).get("unhealthyNodes") or ()
    ]


def host_of(node: dict[str, Any]) -> str:
    """The name that pods on a node are placed under."""
    metadata = node["metadata"]
    name: str = (metadata.get("labels") or {}).get("kubernetes.io/hostname", metadata["name"])
    return name


def _replaced(
    installed: Installed,
    pod_sets: list[dict[str, Any]],
    given: Mapping[str, dict[str, Any]],
    lost: str,
) -> dict[str, Domains | None]:
    spec = read("Workload", workload_of(pod_sets)).spec
    context = ground_of(installed)
    found: dict[str, Domains | None] = {}
    for pod_set in spec.pod_sets:
        known = topology_assignment(given[pod_set.name])
        placed = replace_hosts(context, pod_set, known, {lost})
        found[pod_set.name] = None if isinstance(placed, PlacementShortfall) else _shown(placed)
    return found


def _shown(assignment: TopologyAssignment) -> Domains:
    return [(domain.values, domain.count) for domain in assignment.domains]


LINES = Family(
    line,
    known_gate,
    {
        "inputs.kind": "part of the name",
        "inputs.gates": "those that are not as by default are the gates of the case",
    },
)
FAMILIES = {
    "TestFindTopologyAssignments": Family(table, known_gate),
    "TestFindTopologyAssignmentsMultiLayerReplacement": Family(
        several_layers,
        unread={
            "inputs.admissionCount": "as many pods as the assignment has",
            "want.wantReason": "the wording of why there is no place",
            "shared.podSetName": "there is one pod set, whatever its name",
        },
    ),
}
