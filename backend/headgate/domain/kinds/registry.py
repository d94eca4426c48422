"""The registry of kinds: every configured kind, in the one place that lists them.

The object set, the event catalogue, the stored read models, the references, the routes of the API,
the manifests and the command line derive what they know of kinds from it.
"""

from typing import Any

from headgate.domain.kinds.acknowledgment import ACKNOWLEDGMENT
from headgate.domain.kinds.admission_check import ADMISSION_CHECK, PROVISIONING_REQUEST_CONFIG
from headgate.domain.kinds.cluster_queue import CLUSTER_QUEUE, COHORT
from headgate.domain.kinds.configuration import CONFIGURATION
from headgate.domain.kinds.executor import EXECUTOR
from headgate.domain.kinds.job_templates import (
    CLUSTER_TRAINING_RUNTIME,
    CRON_JOB,
    TRAINING_RUNTIME,
)
from headgate.domain.kinds.kubernetes_kinds import LIMIT_RANGE, NAMESPACE, RUNTIME_CLASS
from headgate.domain.kinds.local_queue import LOCAL_QUEUE
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.kinds.priority_classes import DISRUPTION_BUDGET, WORKLOAD_PRIORITY_CLASS
from headgate.domain.kinds.resource_flavor import RESOURCE_FLAVOR
from headgate.domain.kinds.topology import TOPOLOGY
from headgate.domain.kinds.webhook import WEBHOOK
from headgate.domain.nodes.decide import NODE

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
    CRON_JOB,
    TRAINING_RUNTIME,
    CLUSTER_TRAINING_RUNTIME,
    PROVISIONING_REQUEST_CONFIG,
    WEBHOOK,
    ACKNOWLEDGMENT,
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
    "TrainJob",
    "AppWrapper",
    "SparkApplication",
)
"""Kinds of manifests that become workloads, by their names in manifests."""

SUBMITTED_AS = "headgate.dev/submitted-as"
"""The annotation with the kind of manifest a workload was submitted as; absent for a Workload."""

KIND_LABEL = "headgate.dev/kind"
"""The label with the same kind without its version, by which lists select."""

KINDS_BY_STREAM: dict[str, Kind[Any]] = {kind.stream_kind: kind for kind in KINDS}
"""Kinds by their name in streams (`clusterqueue`), in the order of the registry."""

KINDS_BY_NAME: dict[str, Kind[Any]] = {kind.name: kind for kind in KINDS}
"""Kinds by their name in manifests (`ClusterQueue`)."""

NAMESPACED_STREAMS: tuple[str, ...] = tuple(
    kind.stream_kind for kind in KINDS if kind.is_namespaced
)
"""Kinds of objects that live in a namespace, by their name in streams."""
