"""The effect of draining a node on the workloads with pods there."""

from typing import Literal

from headgate.application.access.redaction import FOREIGN_WORKLOAD, NamespaceScope, allows
from headgate.application.application_services import ApplicationServices
from headgate.application.queries.views import (
    Free,
    Position,
    Timestamp,
    Whole,
    arguments_view,
    message_text,
    timestamp,
)
from headgate.domain.rejection import NotFound
from headgate.domain.scheduling.second_pass import preview_drain
from headgate.domain.streams import workload_stream


class HostPods(Whole, kw_only=True, frozen=True):
    """Pods on one host."""

    host: str
    pods: int


class DepartureView(Whole, kw_only=True, frozen=True):
    """A workload on the node; `hosts` are where its pods would go, `reason` why nowhere."""

    workload: str
    pods: int
    outcome: Literal["Moves", "Waits", "Evicted"]
    hosts: list[HostPods]
    reason: str
    code: str = ""
    arguments: Free = {}


class DrainPreview(Whole, kw_only=True, frozen=True):
    """Every workload with pods on a node, and its placement if the node were drained now."""

    position: Position
    at: Timestamp
    node: str
    workloads: list[DepartureView]


def drain_preview(services: ApplicationServices, node: str, scope: NamespaceScope) -> DrainPreview:
    """The preview for a node; raises `NotFound`. Other teams' names are withheld."""
    cluster_state = services.reader.cluster_state
    if node not in cluster_state.config.nodes:
        raise NotFound("ObjectNotFound", kind="Node", name=node)
    return DrainPreview(
        position=cluster_state.position,
        at=timestamp(services.clock.now()),
        node=node,
        workloads=[
            DepartureView(
                workload=found.workload
                if allows(scope, workload_stream(found.workload))
                else FOREIGN_WORKLOAD,
                pods=found.pods,
                outcome=found.outcome,
                hosts=[HostPods(host=host, pods=pods) for host, pods in found.hosts],
                reason=message_text(found.reason, scope) if found.reason else "",
                code=found.reason.code if found.reason else "",
                arguments=arguments_view(found.reason, scope) if found.reason else {},
            )
            for found in preview_drain(cluster_state, node)
        ],
    )
