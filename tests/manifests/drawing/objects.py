"""Random states of every configured kind."""

from typing import Any

from hypothesis import strategies as st

from headgate.domain.kinds.acknowledgment import SEVERITIES, AcknowledgmentSpec
from headgate.domain.kinds.admission_check import (
    AdmissionCheckSpec,
    CheckParameters,
    ProvisioningRequestConfigSpec,
    ProvisioningRetryStrategy,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor import ExecutorSpec, LogRetention, PortRange
from headgate.domain.kinds.job_templates import CronJobSpec, JobTemplate, TrainingRuntimeSpec
from headgate.domain.kinds.kubernetes_kinds import (
    LimitRangeItem,
    LimitRangeSpec,
    NamespaceSpec,
    RuntimeClassSpec,
    RuntimeScheduling,
)
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.priority_classes import DisruptionBudgetSpec, WorkloadPriorityClassSpec
from headgate.domain.kinds.registry import KINDS_BY_NAME
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import TopologySpec
from headgate.domain.kinds.webhook import WebhookSpec
from headgate.domain.nodes.state import NodeSpec
from tests.builders.instants import T0
from tests.manifests.drawing.configuration import configuration_specs
from tests.manifests.drawing.queues import cluster_queue_specs, cohort_specs
from tests.manifests.drawing.values import (
    AMOUNTS,
    KEYS,
    LABELS,
    NAMES,
    POLICIES,
    RESOURCES,
    SELECTORS,
    TAINTS,
    TOLERATIONS,
    WEIGHTS,
)

_ROOM = st.dictionaries(st.sampled_from(RESOURCES), AMOUNTS, max_size=3)
_POD = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}}]}}


def _runtimes() -> st.SearchStrategy[Any]:
    job = {"name": "node", "template": {"spec": {"template": _POD}}}
    return st.builds(
        lambda nodes, mpi, launcher: TrainingRuntimeSpec(
            nodes=nodes,
            is_mpi=mpi,
            runs_launcher_as_node=mpi and launcher,
            template={"replicatedJobs": [job]},
        ),
        st.integers(1, 9),
        st.booleans(),
        st.booleans(),
    )


_SPECS: dict[str, st.SearchStrategy[Any]] = {
    "ClusterQueue": cluster_queue_specs(),
    "LocalQueue": st.builds(
        LocalQueueSpec, cluster_queue=NAMES, stop_policy=POLICIES, fair_weight_milli=WEIGHTS
    ),
    "Cohort": cohort_specs(),
    "ResourceFlavor": st.builds(
        ResourceFlavorSpec, node_labels=LABELS, node_taints=TAINTS, tolerations=TOLERATIONS
    ),
    "Topology": st.builds(
        TopologySpec, levels=st.lists(KEYS, min_size=1, max_size=4, unique=True).map(tuple)
    ),
    "Node": st.builds(
        NodeSpec,
        taints=TAINTS,
        unschedulable=st.booleans(),
        ready=st.booleans(),
        allocatable=_ROOM,
        used_by_others=_ROOM,
    ),
    "WorkloadPriorityClass": st.builds(
        WorkloadPriorityClassSpec,
        value=st.integers(-(2**31), 2**31 - 1),
        description=st.text(alphabet="äöü words: {}", max_size=20),
        global_default=st.booleans(),
        preemption_policy=st.sampled_from(["PreemptLowerPriority", "Never"]),
        max_protection_delta=st.one_of(st.none(), st.integers(0, 9)),
    ),
    "AdmissionCheck": st.builds(
        AdmissionCheckSpec,
        controller_name=NAMES,
        parameters=st.one_of(
            st.none(), st.builds(CheckParameters, api_group=NAMES, kind=NAMES, name=NAMES)
        ),
        active=st.booleans(),
    ),
    "DisruptionBudget": st.builds(
        DisruptionBudgetSpec,
        selector=SELECTORS,
        unit=st.sampled_from(["Workload", "Pod"]),
        max_unavailable=st.integers(0, 9),
        enforcement=st.sampled_from(["BestEffort", "Strict"]),
    ),
    "LimitRange": st.builds(
        LimitRangeSpec,
        limits=st.lists(st.builds(LimitRangeItem, type=st.just("Pod"), max=_ROOM), max_size=2).map(
            tuple
        ),
    ),
    "RuntimeClass": st.builds(
        RuntimeClassSpec,
        handler=NAMES,
        overhead=_ROOM,
        scheduling=st.builds(
            RuntimeScheduling,
            node_selector=LABELS,
            tolerations=TOLERATIONS,
        ),
    ),
    "Namespace": st.just(NamespaceSpec()),
    "Executor": st.builds(
        ExecutorSpec,
        flavors=st.lists(NAMES, min_size=1, max_size=2, unique=True).map(tuple),
        lease_seconds=st.integers(5, 99),
        node_loss_policy=st.sampled_from(["Replace", "Fence", "Wait"]),
        rendezvous_ports=st.builds(PortRange, last=st.integers(20_000, 21_000)),
        log_retention=st.builds(
            LogRetention,
            max_mebibytes=st.integers(0, 9),
            after_finished_seconds=st.one_of(st.none(), st.integers(0, 9)),
        ),
    ),
    "Configuration": configuration_specs(),
    "CronJob": st.builds(
        CronJobSpec,
        schedule=st.sampled_from(["@daily", "*/5 0-6 1,15 * mon"]),
        time_zone=st.sampled_from(["", "Europe/Berlin"]),
        starting_deadline_seconds=st.one_of(st.none(), st.integers(0, 9)),
        concurrency_policy=st.sampled_from(["Allow", "Forbid", "Replace"]),
        suspend=st.booleans(),
        successful_jobs_history_limit=st.integers(0, 9),
        failed_jobs_history_limit=st.integers(0, 9),
        job_template=st.builds(JobTemplate, labels=LABELS, spec=st.just({"template": _POD})),
    ),
    "TrainingRuntime": _runtimes(),
    "ClusterTrainingRuntime": _runtimes(),
    "Webhook": st.builds(
        WebhookSpec,
        url=st.sampled_from(["https://alerts.example.org/", "http://pager:8080/a?b=c"]),
        min_severity=st.sampled_from(SEVERITIES),
        kinds=st.lists(NAMES, max_size=2, unique=True).map(tuple),
        suspend=st.booleans(),
    ),
    "Acknowledgment": st.builds(
        AcknowledgmentSpec,
        cause=NAMES,
        reason=NAMES,
        until=st.one_of(st.none(), st.just(T0)),
        severity=st.sampled_from(SEVERITIES),
        count=st.one_of(st.none(), st.integers(0, 9)),
    ),
    "ProvisioningRequestConfig": st.builds(
        ProvisioningRequestConfigSpec,
        provisioning_class_name=NAMES,
        parameters=LABELS,
        managed_resources=st.lists(st.sampled_from(RESOURCES), max_size=2, unique=True).map(tuple),
        retry_strategy=st.builds(ProvisioningRetryStrategy, backoff_limit_count=st.integers(0, 9)),
        pod_set_merge_policy=st.sampled_from(["", "IdenticalPodTemplates"]),
    ),
}


@st.composite
def configured_objects(draw: st.DrawFn) -> tuple[str, Configured[Any]]:
    """A kind, and an object of it as it may stand."""
    kind = draw(st.sampled_from(sorted(_SPECS)))
    state: Configured[Any] = Configured(
        name="default" if kind == "Configuration" else draw(NAMES),
        namespace=draw(NAMES) if KINDS_BY_NAME[kind].is_namespaced else "",
        uid=draw(NAMES),
        labels=draw(LABELS),
        annotations=draw(
            st.dictionaries(KEYS, st.text(alphabet="ab \n:#", max_size=9), max_size=2)
        ),
        created_at=T0,
        generation=draw(st.integers(1, 9)),
        spec=draw(_SPECS[kind]),
    )
    return kind, state
