"""Every configured kind and what decides for it, by the kind of its streams."""

from typing import Any

from headgate.domain.budgets.decide import DISRUPTION_BUDGET
from headgate.domain.checks.decide import ADMISSION_CHECK
from headgate.domain.configuration.decide import CONFIGURATION
from headgate.domain.decider import Decider
from headgate.domain.limits.decide import LIMIT_RANGE, RUNTIME_CLASS
from headgate.domain.namespaces.decide import NAMESPACE
from headgate.domain.priorities.decide import WORKLOAD_PRIORITY_CLASS
from headgate.domain.queues.decide import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from headgate.domain.topology.decide import NODE, RESOURCE_FLAVOR, TOPOLOGY

CONFIGURED_DECIDERS: dict[str, Decider[Any, Any, Any]] = {
    "clusterqueue": CLUSTER_QUEUE,
    "localqueue": LOCAL_QUEUE,
    "cohort": COHORT,
    "resourceflavor": RESOURCE_FLAVOR,
    "topology": TOPOLOGY,
    "node": NODE,
    "workloadpriorityclass": WORKLOAD_PRIORITY_CLASS,
    "admissioncheck": ADMISSION_CHECK,
    "disruptionbudget": DISRUPTION_BUDGET,
    "namespace": NAMESPACE,
    "configuration": CONFIGURATION,
    "limitrange": LIMIT_RANGE,
    "runtimeclass": RUNTIME_CLASS,
}
