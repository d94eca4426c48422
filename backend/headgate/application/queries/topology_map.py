"""The domains of a topology with what they hold, what is free, and who is there."""

from collections.abc import Sequence

from headgate.application.installation import Installation
from headgate.application.queries.topology_views import (
    DomainNode,
    HostView,
    HostWorkload,
    TaintView,
    TopologyMap,
)
from headgate.application.queries.views import timestamp
from headgate.application.visibility import Scope, counted
from headgate.domain.rejection import NotFound
from headgate.domain.views import topology_map as views


def topology_map(installation: Installation, name: str, scope: Scope) -> TopologyMap:
    """The map of one topology, as someone may see it; raises `NotFound`."""
    cell = installation.reader.cell
    found = views.topology_map(cell, name)
    if found is None:
        raise NotFound(f"There is no Topology {name}.", remedy="List the topologies.")
    return TopologyMap(
        position=cell.position,
        at=timestamp(installation.clock.now()),
        topology=name,
        levels=list(found.levels),
        resources=list(found.resources),
        domains=[_domain(domain, scope) for domain in found.domains],
    )


def _domain(domain: views.MapDomain, scope: Scope) -> DomainNode:
    return DomainNode(
        path=list(domain.path),
        hosts=domain.hosts,
        ready=domain.ready,
        allocatable=domain.allocatable,
        used=domain.used,
        others=domain.others,
        free=domain.free,
        children=[_domain(child, scope) for child in domain.children],
        host=None if domain.host is None else _host(domain.host, scope),
    )


def _host(host: views.MapHost, scope: Scope) -> HostView:
    return HostView(
        name=host.name,
        ready=host.ready,
        cordoned=host.cordoned,
        taints=[TaintView(key=t.key, value=t.value, effect=t.effect) for t in host.taints],
        workloads=_guests(host.workloads, scope),
    )


def _guests(guests: Sequence[views.PodsHere], scope: Scope) -> list[HostWorkload]:
    """Who is on a host; all of other teams together are one line."""
    hidden = [
        guest for guest in guests if scope is not None and guest.key.partition("/")[0] not in scope
    ]
    shown = [
        HostWorkload(
            key=guest.key,
            pods=guest.pods,
            cluster_queue=guest.cluster_queue,
            priority=guest.priority,
        )
        for guest in guests
        if guest not in hidden
    ]
    if hidden:
        number = len({guest.key for guest in hidden})
        pods = sum(guest.pods for guest in hidden)
        shown.append(HostWorkload(key=counted(number), pods=pods, cluster_queue="", priority=0))
    return shown
