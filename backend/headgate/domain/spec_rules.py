"""The rules of every kind for a spec taken by itself, found by kind."""

from collections.abc import Callable
from typing import Any

from headgate.domain.budgets.rules import budget_violations
from headgate.domain.checks.rules import check_violations
from headgate.domain.configuration.rules import configuration_violations
from headgate.domain.limits.rules import limit_range_violations, runtime_class_violations
from headgate.domain.namespaces.rules import namespace_violations
from headgate.domain.priorities.rules import priority_class_violations
from headgate.domain.queues.rules import (
    cluster_queue_violations,
    cohort_violations,
    local_queue_violations,
)
from headgate.domain.rejection import Violation
from headgate.domain.topology.rules import (
    node_violations,
    resource_flavor_violations,
    topology_violations,
)
from headgate.domain.workloads.decide.spec_rules import workload_violations

_RULES: dict[str, Callable[[Any], tuple[Violation, ...]]] = {
    "ClusterQueue": cluster_queue_violations,
    "LocalQueue": local_queue_violations,
    "Cohort": cohort_violations,
    "ResourceFlavor": resource_flavor_violations,
    "Topology": topology_violations,
    "Node": node_violations,
    "WorkloadPriorityClass": priority_class_violations,
    "AdmissionCheck": check_violations,
    "DisruptionBudget": budget_violations,
    "Namespace": namespace_violations,
    "Configuration": configuration_violations,
    "LimitRange": limit_range_violations,
    "RuntimeClass": runtime_class_violations,
    "Workload": workload_violations,
}


def spec_violations(kind: str, spec: Any) -> tuple[Violation, ...]:  # noqa: ANN401
    """What is wrong with the spec of an object of that kind (`ClusterQueue`)."""
    return _RULES[kind](spec)
