"""Which nodes an Executor selects, and why an Executor is inactive."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor import ExecutorSpec
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import IllegalNow, NotFound
from headgate.domain.workloads.specs import NodeLossPolicy

ConfiguredExecutor = Configured[ExecutorSpec]


class SharedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that an Executor selects although an older one does; the younger one is inactive."""

    node: str
    older: str


def selects(config: ObjectSet, spec: ExecutorSpec, labels: Mapping[str, str]) -> bool:
    """Whether an Executor selects a node with these labels, by its labels or by a flavor."""
    if spec.node_selector:
        return _has_labels(labels, spec.node_selector)
    return any(
        flavor is not None and _has_labels(labels, flavor.spec.node_labels)
        for flavor in map(config.resource_flavors.get, spec.flavors)
    )


def shared_node(config: ObjectSet, executor: ConfiguredExecutor) -> SharedNode | None:
    """The first node by name that an older Executor selects too; None for an active Executor."""
    older = sorted(
        (each for each in config.executors.values() if _age(each) < _age(executor)), key=_age
    )
    if not older:
        return None
    for name, node in sorted(config.nodes.items()):
        if not selects(config, executor.spec, node.labels):
            continue
        first = next((each for each in older if selects(config, each.spec, node.labels)), None)
        if first is not None:
            return SharedNode(node=name, older=first.name)
    return None


def require_active(config: ObjectSet, executor: ConfiguredExecutor) -> None:
    """Raises `IllegalNow` for an Executor of which an older one selects a node."""
    shared = shared_node(config, executor)
    if shared is not None:
        raise IllegalNow(
            "ExecutorInactive", name=executor.name, older=shared.older, node=shared.node
        )


def require_selected(
    config: ObjectSet, executor: str, node: str, labels: Mapping[str, str]
) -> None:
    """Raises `IllegalNow` where the Executor does not select a node with these labels.

    Of several Executors that select a node the oldest has it.
    """
    selecting = [each for each in config.executors.values() if selects(config, each.spec, labels)]
    if executor not in {each.name for each in selecting}:
        raise IllegalNow("NodeNotSelected", name=executor, node=node)
    first = min(selecting, key=_age)
    if first.name != executor:
        raise IllegalNow("NodeOfOtherExecutor", node=node, executor=first.name)


def is_connected(executor: ConfiguredExecutor) -> bool:
    """Whether a process has claimed the Executor, and its lease has not ended."""
    return executor.spec.epoch > 0 and executor.spec.lost_at is None


def nodes_of_executor(config: ObjectSet, name: str) -> Iterator[str]:
    """The nodes that an executor has registered, by name."""
    return (key for key, node in sorted(config.nodes.items()) if node.spec.executor == name)


def known_nodes(config: ObjectSet, name: str) -> list[str]:
    """The nodes that an executor has registered, by name; raises `NotFound` without it."""
    if name not in config.executors:
        raise NotFound("ObjectNotFound", kind="Executor", name=name)
    return list(nodes_of_executor(config, name))


def abandoned_nodes(config: ObjectSet, of_workload: NodeLossPolicy | None) -> Iterator[str]:
    """The nodes of lost executors on which the pods of a workload are not waited for."""
    return (
        name
        for name, node in config.nodes.items()
        if node.spec.is_executor_lost
        and loss_policy(config, node.spec.executor, of_workload) != "Wait"
    )


def nodes_of_flavor(
    config: ObjectSet, flavor: Configured[ResourceFlavorSpec]
) -> list[Configured[NodeSpec]]:
    """The nodes with the labels of a flavor."""
    labels = flavor.spec.node_labels
    return [node for node in config.nodes.values() if _has_labels(node.labels, labels)]


def executors_of_flavor(
    config: ObjectSet, flavor: Configured[ResourceFlavorSpec]
) -> tuple[ConfiguredExecutor, ...]:
    """The Executors that run the pods of a flavor, oldest first.

    Empty where none selects a flavor without nodes, or where one of its nodes has no Executor.
    """
    nodes = nodes_of_flavor(config, flavor)
    if nodes:
        names = {node.spec.executor for node in nodes}
    else:
        names = {executor_of_flavors(config, (flavor.name,))}
    if not names <= config.executors.keys():
        return ()
    return tuple(sorted((config.executors[name] for name in names), key=_age))


def executor_of_flavors(config: ObjectSet, flavors: Iterable[str]) -> str:
    """The oldest Executor that selects the nodes of one of the flavors; empty where none does."""
    known = [config.resource_flavors[name] for name in flavors if name in config.resource_flavors]
    for executor in sorted(config.executors.values(), key=_age):
        if any(
            flavor.name in executor.spec.flavors
            or (
                executor.spec.node_selector
                and _has_labels(flavor.spec.node_labels, executor.spec.node_selector)
            )
            for flavor in known
        ):
            return executor.name
    return ""


def loss_policy(
    config: ObjectSet, executor: str, of_workload: NodeLossPolicy | None
) -> NodeLossPolicy:
    """What becomes of the pods of a workload on nodes of a lost executor."""
    if of_workload is not None:
        return of_workload
    found = config.executors.get(executor)
    return "Replace" if found is None else found.spec.node_loss_policy


def _has_labels(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in wanted.items())


def _age(executor: ConfiguredExecutor) -> tuple[int, str]:
    """The order in which Executors take nodes that several select: the oldest first."""
    return executor.created_at, executor.name
