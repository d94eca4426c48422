"""The registry of kinds: every configured kind, in the one place that lists them.

The object set, the event catalogue, the stored read models, the references, the routes of the API,
the manifests and the command line derive what they know of kinds from it.
"""

from typing import Any

from headgate.domain.kinds.admission_check import ADMISSION_CHECK
from headgate.domain.kinds.cluster_queue import CLUSTER_QUEUE
from headgate.domain.kinds.cohort import COHORT
from headgate.domain.kinds.configuration import CONFIGURATION
from headgate.domain.kinds.disruption_budget import DISRUPTION_BUDGET
from headgate.domain.kinds.executor import EXECUTOR
from headgate.domain.kinds.limit_range import LIMIT_RANGE
from headgate.domain.kinds.local_queue import LOCAL_QUEUE
from headgate.domain.kinds.namespace import NAMESPACE
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.kinds.resource_flavor import RESOURCE_FLAVOR
from headgate.domain.kinds.runtime_class import RUNTIME_CLASS
from headgate.domain.kinds.topology import TOPOLOGY
from headgate.domain.kinds.workload_priority_class import WORKLOAD_PRIORITY_CLASS
from headgate.domain.nodes.decide import NODE
from headgate.domain.recorded_event import EventIgnored
from headgate.domain.recorded_event import evolve as evolve_log
from headgate.domain.rounds.state import evolve as evolve_round
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.evolve import evolve as evolve_workload

KINDS: tuple[Kind[Any], ...] = (
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    COHORT,
    RESOURCE_FLAVOR,
    TOPOLOGY,
    NODE,
    WORKLOAD_PRIORITY_CLASS,
    ADMISSION_CHECK,
    DISRUPTION_BUDGET,
    NAMESPACE,
    CONFIGURATION,
    LIMIT_RANGE,
    RUNTIME_CLASS,
    EXECUTOR,
)

JOB_KINDS = (
    "Job",
    "JobSet",
    "Pod",
    "PodGroup",
    "Deployment",
    "StatefulSet",
    "LeaderWorkerSet",
    "RayCluster",
    "RayJob",
    "RayService",
    "PyTorchJob",
    "TFJob",
    "MPIJob",
    "XGBoostJob",
    "PaddleJob",
    "JAXJob",
    "AppWrapper",
    "SparkApplication",
)
"""Kinds of manifests that become workloads, by their names in manifests."""

KINDS_BY_STREAM: dict[str, Kind[Any]] = {kind.stream_kind: kind for kind in KINDS}
"""Kinds by their name in streams (`clusterqueue`), in the order of the registry."""

KINDS_BY_NAME: dict[str, Kind[Any]] = {kind.name: kind for kind in KINDS}
"""Kinds by their name in manifests (`ClusterQueue`)."""

NAMESPACED_STREAMS: tuple[str, ...] = tuple(
    kind.stream_kind for kind in KINDS if kind.is_namespaced
)
"""Kinds of objects that live in a namespace, by their name in streams."""


def evolve_state(kind: str, state: Any, event: Any, at: Instant) -> Any:  # noqa: ANN401 - by kind
    """The state of a stream after an event; `kind` as in the name of the stream."""
    if isinstance(event, EventIgnored):
        return state
    if kind == "workload":
        return evolve_workload(state, event, at)
    if kind == "round":
        return evolve_round(state, event, at)
    if kind == "log":
        return evolve_log(state, event, at)
    return KINDS_BY_STREAM[kind].evolve(state, event, at)
