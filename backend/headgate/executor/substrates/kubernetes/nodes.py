"""Nodes of Kubernetes as they register: allocatable, labels, taints, and use by pods of others.

And what an executor sees of its cluster, and may not do there.
"""

from collections.abc import Iterable, Mapping

import msgspec

from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import Requests, added
from headgate.executor.server_reports import quantities_of
from headgate.executor.substrate import NodeDescription, Object
from headgate.executor.substrates.agent.inventory import EXECUTOR_LABEL, HOSTNAME
from headgate.executor.substrates.kubernetes.access import RIGHTS, Access
from headgate.executor.substrates.kubernetes.api_server import ApiServer
from headgate.executor.substrates.kubernetes.objects import (
    Camel,
    Condition,
    Metadata,
    OtherPod,
    instant_of,
)

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
LOST_TAINTS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Pods of such nodes are evicted by Headgate once the node is lost, and not before."""


class Taint(Camel):
    """A taint of a node."""

    key: str
    effect: str
    value: str = ""


class NodeSpec(Camel):
    """What an administrator set."""

    unschedulable: bool = False
    taints: list[Taint] = []


class NodeStatus(Camel):
    """What the kubelet reports."""

    allocatable: dict[str, str] = {}
    conditions: list[Condition] = []


class Node(Camel):
    """A node."""

    metadata: Metadata
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)

    @property
    def hostname(self) -> str:
        """The label by which pods are sent to it; it may differ from the name."""
        return self.metadata.labels.get(HOSTNAME, self.metadata.name)

    @property
    def taints(self) -> list[Taint]:
        """Its taints, with that of a cordon, but for orders to leave a node that is not ready."""
        found = [
            each
            for each in self.spec.taints
            if not (each.key in LOST_TAINTS and each.effect == "NoExecute")
        ]
        if self.spec.unschedulable and all(each.key != UNSCHEDULABLE for each in found):
            found.append(Taint(key=UNSCHEDULABLE, effect="NoSchedule"))
        return found

    @property
    def is_ready(self) -> bool:
        """Whether its kubelet says that it takes pods."""
        return any(
            each.type == "Ready" and each.status == "True" for each in self.status.conditions
        )

    def is_lost(self, now: Instant, seconds: float) -> bool:
        """Whether it is being deleted, or was not ready for so long."""
        if self.metadata.deletion_timestamp is not None:
            return True
        for condition in self.status.conditions:
            if condition.type == "Ready" and condition.status != "True":
                since = instant_of(condition.last_transition_time) or 0
                return now - since >= seconds * MICROSECONDS_PER_SECOND
        return False


def describe_nodes(
    nodes: Iterable[Node], others: Iterable[OtherPod], executor: str, labels: Mapping[str, str]
) -> list[NodeDescription]:
    """Returns nodes as they are registered, with what pods of others use of each."""
    used: dict[str, Requests] = {}
    for pod in others:
        if pod.node:
            used[pod.node] = added(used.get(pod.node, {}), {**pod.requests, "pods": 1})
    by_name = sorted(nodes, key=lambda node: node.metadata.name)
    return [_described(node, used, executor, labels) for node in by_name]


def _described(
    node: Node, used: Mapping[str, Requests], executor: str, labels: Mapping[str, str]
) -> NodeDescription:
    capacity = {
        resource: quantity
        for resource, quantity in sorted(node.status.allocatable.items())
        if quantity != "0" and not resource.startswith("attachable-volumes-")
    }
    others = used.get(node.metadata.name, {})
    taints: list[Object] = [
        {"key": each.key, "value": each.value, "effect": each.effect} for each in node.taints
    ]
    return NodeDescription(
        name=node.metadata.name,
        capacity=capacity,
        used_by_others=quantities_of({each: others.get(each, 0) for each in capacity}),
        labels={**node.metadata.labels, **labels, EXECUTOR_LABEL: executor},
        taints=taints,
    )


REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class ClusterReview(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor would see of a cluster, and which of its rights are lacking."""

    version: str
    nodes: int
    not_ready: int
    lacking: tuple[str, ...]


class _Version(Camel):
    git_version: str = ""


class _Nodes(Camel):
    items: list[Node] = []


class _Allowed(Camel):
    allowed: bool = False


class _Review(Camel):
    status: _Allowed = msgspec.field(default_factory=_Allowed)


async def review_cluster(access: Access) -> ClusterReview:
    """Returns what this host's credentials see and may do. Raises `ServerAway` and `Refused`."""
    server = ApiServer(access)
    try:
        version = msgspec.json.decode(await server.get("/version"), type=_Version)
        lacking = [right for right in RIGHTS if not await _is_allowed(server, *right)]
        may_list = ("", "nodes", "list") not in lacking
        content = await server.get("/api/v1/nodes") if may_list else b"{}"
    finally:
        await server.close()
    nodes = msgspec.json.decode(content, type=_Nodes).items
    return ClusterReview(
        version=version.git_version,
        nodes=len(nodes),
        not_ready=sum(not node.is_ready for node in nodes),
        lacking=tuple(
            f"{verb} {resource}{f'.{group}' if group else ''}" for group, resource, verb in lacking
        ),
    )


async def _is_allowed(server: ApiServer, group: str, resource: str, verb: str) -> bool:
    name, _, subresource = resource.partition("/")
    asked = {"group": group, "resource": name, "subresource": subresource, "verb": verb}
    body: Object = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    return msgspec.json.decode(await server.create(REVIEWS, body), type=_Review).status.allowed
