"""Random states of every configured kind."""

from typing import Any

from hypothesis import strategies as st

from headgate.domain.kinds.admission_check import AdmissionCheckSpec, CheckParameters
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.disruption_budget import DisruptionBudgetSpec
from headgate.domain.kinds.executor import ExecutorSpec, LogRetention, PortRange
from headgate.domain.kinds.kubernetes_kinds import (
    LimitRangeItem,
    LimitRangeSpec,
    NamespaceSpec,
    RuntimeClassSpec,
    RuntimeScheduling,
)
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import TopologySpec
from headgate.domain.kinds.workload_priority_class import WorkloadPriorityClassSpec
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
}


@st.composite
def configured_objects(draw: st.DrawFn) -> tuple[str, Configured[Any]]:
    """A kind, and an object of it as it may stand."""
    kind = draw(st.sampled_from(sorted(_SPECS)))
    state: Configured[Any] = Configured(
        name="default" if kind == "Configuration" else draw(NAMES),
        namespace=draw(NAMES) if kind in {"LocalQueue", "DisruptionBudget", "LimitRange"} else "",
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
