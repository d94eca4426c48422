"""Objects that wait to go until nothing uses them any more, and now may (queueing.md §1.1)."""

from collections.abc import Iterator, Mapping

from headgate.domain.budgets.events import DisruptionBudgetDeleted
from headgate.domain.checks.events import AdmissionCheckDeleted
from headgate.domain.config import FIELDS, Config
from headgate.domain.configuration.events import ConfigurationDeleted
from headgate.domain.facts import DomainEvent
from headgate.domain.limits.events import LimitRangeDeleted, RuntimeClassDeleted
from headgate.domain.namespaces.events import NamespaceDeleted
from headgate.domain.priorities.events import WorkloadPriorityClassDeleted
from headgate.domain.queues.events import ClusterQueueDeleted, CohortDeleted, LocalQueueDeleted
from headgate.domain.topology.events import NodeDeleted, ResourceFlavorDeleted, TopologyDeleted
from headgate.domain.uses import users_of
from headgate.domain.workloads.state import Workload

DELETED: dict[str, DomainEvent] = {
    "clusterqueue": ClusterQueueDeleted(),
    "localqueue": LocalQueueDeleted(),
    "cohort": CohortDeleted(),
    "resourceflavor": ResourceFlavorDeleted(),
    "topology": TopologyDeleted(),
    "node": NodeDeleted(),
    "workloadpriorityclass": WorkloadPriorityClassDeleted(),
    "admissioncheck": AdmissionCheckDeleted(),
    "disruptionbudget": DisruptionBudgetDeleted(),
    "namespace": NamespaceDeleted(),
    "configuration": ConfigurationDeleted(),
    "limitrange": LimitRangeDeleted(),
    "runtimeclass": RuntimeClassDeleted(),
}
"""The last fact about an object of each kind."""


def terminating_objects(config: Config) -> tuple[tuple[str, str], ...]:
    """The objects that wait to go, as kind and key."""
    return tuple(
        (kind, key)
        for kind in FIELDS
        for key, found in sorted(config.of_kind(kind).items())
        if found.terminating_at is not None
    )


def finalized_objects(
    config: Config, workloads: Mapping[str, Workload]
) -> Iterator[tuple[str, DomainEvent]]:
    """The objects that go now, each with its stream and its last fact."""
    for kind, key in terminating_objects(config):
        if not users_of(config, workloads, kind, key):
            yield f"{kind}/{key}", DELETED[kind]
