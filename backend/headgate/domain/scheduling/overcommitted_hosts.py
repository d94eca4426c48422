"""Hosts that have become smaller than what stands on them, and who has to look for another place.

What others use of a host counts for nothing here: it keeps new pods away, and nobody has to go for
it. Those of lowest priority go first, of equals the one admitted last.
"""

from collections.abc import Iterator

from headgate.domain.scheduling.cycle_context import CycleContext
from headgate.domain.scheduling.hosts.health import TOO_SMALL
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.placement.host_table import PODS
from headgate.domain.streams import workload_stream
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.events import WorkloadHostsFailed
from headgate.domain.workloads.state import Workload, condition


def fail_overcommitted_hosts(cycle: CycleContext) -> None:
    """Tell of each workload that must leave a host which is too small for all who stand there."""
    watch = cycle.partition.watch
    if not watch.may_be_overcommitted:
        return
    watch.may_be_overcommitted = False
    for host in tuple(watch.overcommitted_hosts()):
        for workload in tuple(_workloads_to_move(cycle, host)):
            hosts = {**workload.unhealthy_nodes, host: TOO_SMALL}
            failed = WorkloadHostsFailed(hosts=dict(sorted(hosts.items())))
            cycle.decide((workload_stream(workload.key), failed))


def _workloads_to_move(cycle: CycleContext, host: str) -> Iterator[Workload]:
    """Who has to leave `host` until the rest fits, without those who are leaving it already."""
    partition = cycle.partition
    row = partition.hosts.row_of[host,]
    there = partition.watch.workloads_on(host)
    held = {each.key: _usage_at(partition.charges.held_by(each), row) for each in there}
    missing: Requests = {}
    for staying in (each for each in there if host not in each.unhealthy_nodes):
        missing = _sum(missing, held[staying.key])
    missing = _less(missing, partition.watch.allocatable_at((host,)))
    for workload in sorted(there, key=_removal_order):
        if not missing:
            return
        if host not in workload.unhealthy_nodes and missing.keys() & held[workload.key].keys():
            missing = _less(missing, held[workload.key])
            yield workload


def _usage_at(charge: Charge, row: int) -> Requests:
    held: dict[str, int] = {}
    for rows, counts, requests in charge.pods:
        pods = int(counts[rows == row].sum())
        for resource, amount in {PODS: 1, **requests}.items():
            if amount * pods:
                held[resource] = held.get(resource, 0) + amount * pods
    return held


def _sum(left: Requests, right: Requests) -> Requests:
    return {each: left.get(each, 0) + right.get(each, 0) for each in (*left, *right)}


def _less(missing: Requests, freed: Requests) -> Requests:
    left = {resource: amount - freed.get(resource, 0) for resource, amount in missing.items()}
    return {resource: amount for resource, amount in left.items() if amount > 0}


def _removal_order(workload: Workload) -> tuple[int, int, str]:
    admitted = condition(workload, "Admitted")
    since = admitted.last_transition_at if admitted is not None else workload.created_at
    return workload.spec.priority, -since, workload.key
