"""Every configured object as it stands, by kind, and how one event changes one of them."""

from collections.abc import Callable
from typing import Any

import msgspec

from headgate.domain.budgets.evolve import evolve_disruption_budget
from headgate.domain.budgets.specs import DisruptionBudgetSpec
from headgate.domain.checks.evolve import evolve_admission_check
from headgate.domain.checks.specs import AdmissionCheckSpec
from headgate.domain.configuration.evolve import evolve_configuration
from headgate.domain.configuration.specs import ConfigurationSpec
from headgate.domain.configured import Absent, Configured
from headgate.domain.limits.evolve import evolve_limit_range, evolve_runtime_class
from headgate.domain.limits.specs import LimitRangeSpec, RuntimeClassSpec
from headgate.domain.namespaces.evolve import evolve_namespace
from headgate.domain.namespaces.specs import NamespaceSpec
from headgate.domain.priorities.evolve import evolve_workload_priority_class
from headgate.domain.priorities.specs import WorkloadPriorityClassSpec
from headgate.domain.queues.evolve import (
    evolve_cluster_queue,
    evolve_cohort,
    evolve_local_queue,
)
from headgate.domain.queues.specs import ClusterQueueSpec, CohortSpec, LocalQueueSpec
from headgate.domain.topology.evolve import (
    evolve_node,
    evolve_resource_flavor,
    evolve_topology,
)
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec
from headgate.domain.values.instants import Instant


class Config(msgspec.Struct, kw_only=True):
    """Configured objects by name; those that live in a namespace by `namespace/name`.

    `active_since` tells by stream when queues last became active or inactive, where that was after
    they were made; it is replaced as a whole, so that several may hold the same.
    """

    cluster_queues: dict[str, Configured[ClusterQueueSpec]] = {}
    local_queues: dict[str, Configured[LocalQueueSpec]] = {}
    cohorts: dict[str, Configured[CohortSpec]] = {}
    resource_flavors: dict[str, Configured[ResourceFlavorSpec]] = {}
    topologies: dict[str, Configured[TopologySpec]] = {}
    nodes: dict[str, Configured[NodeSpec]] = {}
    priority_classes: dict[str, Configured[WorkloadPriorityClassSpec]] = {}
    admission_checks: dict[str, Configured[AdmissionCheckSpec]] = {}
    disruption_budgets: dict[str, Configured[DisruptionBudgetSpec]] = {}
    namespaces: dict[str, Configured[NamespaceSpec]] = {}
    configurations: dict[str, Configured[ConfigurationSpec]] = {}
    limit_ranges: dict[str, Configured[LimitRangeSpec]] = {}
    runtime_classes: dict[str, Configured[RuntimeClassSpec]] = {}
    active_since: dict[str, Instant] = {}

    @property
    def configuration(self) -> ConfigurationSpec:
        """What holds for the whole installation; Kueue's defaults where nobody has said so."""
        written = self.configurations.get(ONLY_CONFIGURATION)
        return written.spec if written else USUAL_CONFIGURATION

    def copied(self) -> "Config":
        """The same objects in containers of their own."""
        objects = {field: dict(getattr(self, field)) for field in FIELDS.values()}
        return Config(**objects, active_since=self.active_since)

    def of_kind(self, kind: str) -> dict[str, Configured[Any]]:
        """The objects of one kind, named as in their streams."""
        objects: dict[str, Configured[Any]] = getattr(self, FIELDS[kind])
        return objects


USUAL_CONFIGURATION = ConfigurationSpec()
"""What holds while nobody has written a Configuration."""

ONLY_CONFIGURATION = "default"
"""The name of the one Configuration."""

FIELDS: dict[str, str] = {
    "clusterqueue": "cluster_queues",
    "localqueue": "local_queues",
    "cohort": "cohorts",
    "resourceflavor": "resource_flavors",
    "topology": "topologies",
    "node": "nodes",
    "workloadpriorityclass": "priority_classes",
    "admissioncheck": "admission_checks",
    "disruptionbudget": "disruption_budgets",
    "namespace": "namespaces",
    "configuration": "configurations",
    "limitrange": "limit_ranges",
    "runtimeclass": "runtime_classes",
}
"""Kind of stream to field of `Config`."""

CONFIGURED_EVOLVE: dict[str, Callable[[Any, Any, Instant], Absent | Configured[Any]]] = {
    "clusterqueue": evolve_cluster_queue,
    "localqueue": evolve_local_queue,
    "cohort": evolve_cohort,
    "resourceflavor": evolve_resource_flavor,
    "topology": evolve_topology,
    "node": evolve_node,
    "workloadpriorityclass": evolve_workload_priority_class,
    "admissioncheck": evolve_admission_check,
    "disruptionbudget": evolve_disruption_budget,
    "namespace": evolve_namespace,
    "configuration": evolve_configuration,
    "limitrange": evolve_limit_range,
    "runtimeclass": evolve_runtime_class,
}
"""How a fact changes an object of each configured kind."""
