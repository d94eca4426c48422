"""Every configured object as it stands, by kind, and which of them reference which.

References keep an object from going (queueing.md §1, topology.md §1).
"""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from headgate.domain.kinds.configuration import CONFIGURATION_NAME, ConfigurationSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.priority_classes import SYSTEM_CLASSES
from headgate.domain.kinds.registry import KINDS, KINDS_BY_STREAM
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.ended import EndedWorkloads, has_ended
from headgate.domain.workloads.state import Workload

if TYPE_CHECKING:
    from headgate.domain.kinds.acknowledgment import AcknowledgmentSpec
    from headgate.domain.kinds.admission_check import (
        AdmissionCheckSpec,
        ProvisioningRequestConfigSpec,
    )
    from headgate.domain.kinds.cluster_queue import ClusterQueueSpec, CohortSpec
    from headgate.domain.kinds.executor import ExecutorSpec
    from headgate.domain.kinds.job_templates import CronJobSpec, TrainingRuntimeSpec
    from headgate.domain.kinds.kubernetes_kinds import (
        LimitRangeSpec,
        NamespaceSpec,
        RuntimeClassSpec,
    )
    from headgate.domain.kinds.local_queue import LocalQueueSpec
    from headgate.domain.kinds.priority_classes import (
        DisruptionBudgetSpec,
        WorkloadPriorityClassSpec,
    )
    from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
    from headgate.domain.kinds.topology import TopologySpec
    from headgate.domain.kinds.webhook import WebhookSpec
    from headgate.domain.nodes.state import NodeSpec

    class _ObjectsByKind(msgspec.Struct, kw_only=True):
        """The types of the kinds that rules of scheduling read."""

        cluster_queues: dict[str, Configured[ClusterQueueSpec]] = {}
        local_queues: dict[str, Configured[LocalQueueSpec]] = {}
        cohorts: dict[str, Configured[CohortSpec]] = {}
        resource_flavors: dict[str, Configured[ResourceFlavorSpec]] = {}
        topologies: dict[str, Configured[TopologySpec]] = {}
        nodes: dict[str, Configured[NodeSpec]] = {}
        workload_priority_classes: dict[str, Configured[WorkloadPriorityClassSpec]] = {}
        admission_checks: dict[str, Configured[AdmissionCheckSpec]] = {}
        disruption_budgets: dict[str, Configured[DisruptionBudgetSpec]] = {}
        namespaces: dict[str, Configured[NamespaceSpec]] = {}
        configurations: dict[str, Configured[ConfigurationSpec]] = {}
        limit_ranges: dict[str, Configured[LimitRangeSpec]] = {}
        runtime_classes: dict[str, Configured[RuntimeClassSpec]] = {}
        executors: dict[str, Configured[ExecutorSpec]] = {}
        cron_jobs: dict[str, Configured[CronJobSpec]] = {}
        training_runtimes: dict[str, Configured[TrainingRuntimeSpec]] = {}
        cluster_training_runtimes: dict[str, Configured[TrainingRuntimeSpec]] = {}
        provisioning_request_configs: dict[str, Configured[ProvisioningRequestConfigSpec]] = {}
        webhooks: dict[str, Configured[WebhookSpec]] = {}
        acknowledgments: dict[str, Configured[AcknowledgmentSpec]] = {}

else:
    _ObjectsByKind = msgspec.defstruct(
        "_ObjectsByKind",
        [(kind.field, dict[str, Configured[kind.spec]], {}) for kind in KINDS],
        kw_only=True,
    )

DEFAULT_CONFIGURATION = ConfigurationSpec()
"""The rules that hold while no Configuration exists."""


class ObjectSet(_ObjectsByKind, kw_only=True):
    """Configured objects by name; those that live in a namespace by `namespace/name`.

    It has one field for each kind of the registry. `active_since` tells by stream when queues last
    became active or inactive, where that was after their creation; it is replaced as a whole, so
    that several sets may share one.
    """

    active_since: dict[str, Instant] = {}

    @property
    def configuration(self) -> ConfigurationSpec:
        """The rules of the whole installation; Kueue's defaults where there is no Configuration."""
        written = self.configurations.get(CONFIGURATION_NAME)
        return written.spec if written else DEFAULT_CONFIGURATION

    @property
    def priority_classes(self) -> "Mapping[str, Configured[WorkloadPriorityClassSpec]]":
        """The priority classes by name, those of the system among them."""
        return ChainMap(self.workload_priority_classes, SYSTEM_CLASSES)  # type: ignore[arg-type]  # it is never written to

    def copied(self) -> "ObjectSet":
        """The same objects in containers of their own."""
        objects = {kind.field: dict(getattr(self, kind.field)) for kind in KINDS}
        return ObjectSet(**objects, active_since=self.active_since)

    def of_kind(self, kind: str) -> dict[str, Configured[Any]]:
        """The objects of one kind, named as in their streams."""
        objects: dict[str, Configured[Any]] = getattr(self, _FIELDS[kind])
        return objects


_FIELDS = {stream_kind: kind.field for stream_kind, kind in KINDS_BY_STREAM.items()}


def terminating_objects(config: ObjectSet) -> tuple[tuple[str, str], ...]:
    """The objects that are deleted once nothing refers to them, as kind and key."""
    return tuple(
        (kind, key)
        for kind in KINDS_BY_STREAM
        for key, found in sorted(config.of_kind(kind).items())
        if found.terminating_at is not None
    )


class NamespaceCounts:
    """The numbers of workloads and configured objects by namespace, from when they are first read.

    `ended` has the numbers of those workloads that have ended.
    """

    def __init__(
        self, config: ObjectSet, workloads: Mapping[str, Workload], ended: EndedWorkloads
    ) -> None:
        self._config = config
        self._workloads = workloads
        self._ended = ended
        self._counts: dict[str, int] | None = None

    def of(self, namespace: str) -> int:
        """The number of workloads and configured objects of a namespace."""
        if self._counts is None:
            self._counts = {}
            kinds = (self._config.of_kind(kind) for kind in KINDS_BY_STREAM)
            live = (key for key, found in self._workloads.items() if not has_ended(found))
            for key in chain(live, *kinds):
                self.count("", key, 1)
        return self._counts.get(namespace, 0) + self._ended.number_of((namespace,))

    def replace(self, kind: str, key: str, before: object, after: object) -> None:
        """Count an object that was added or deleted; ended workloads are counted elsewhere."""
        if self._counts is not None:
            self.count(kind, key, _is_counted(after) - _is_counted(before))

    def count(self, kind: str, key: str, change: int) -> None:
        """Count an object that was added, or with -1 one that was deleted."""
        if self._counts is None or not change or kind in ("round", "log"):
            return
        namespace, slash, _ = key.partition("/")
        if slash:
            self._counts[namespace] = self._counts.get(namespace, 0) + change


def _is_counted(state: object) -> bool:
    return state is not None and not (isinstance(state, Workload) and has_ended(state))


def referrers_of(
    config: ObjectSet, workloads: Mapping[str, Workload], kind: str, key: str
) -> tuple[str, ...]:
    """The objects that keep one from going, as `kind/key` in order; `kind` as in stream names.

    Besides the objects that name it: a ClusterQueue is kept by the workloads with its quota, a
    Namespace by everything that lives in it.
    """
    if kind == "clusterqueue":
        return (*_objects_naming(config, kind, key), *workloads_with_quota(workloads, key))
    if kind == "namespace":
        return objects_in_namespace(config, workloads, key)
    return tuple(_objects_naming(config, kind, key))


def workloads_with_quota(workloads: Mapping[str, Workload], cluster_queue: str) -> tuple[str, ...]:
    """The workloads that have quota reserved in a ClusterQueue."""
    return tuple(
        f"workload/{key}"
        for key, workload in sorted(workloads.items())
        if workload.finished_at is None
        and workload.admission is not None
        and workload.admission.cluster_queue == cluster_queue
    )


def objects_in_namespace(
    config: ObjectSet, workloads: Iterable[str], namespace: str
) -> tuple[str, ...]:
    """Everything that lives in a namespace, as `kind/key`."""
    prefix = f"{namespace}/"
    kinds: tuple[tuple[str, Iterable[str]], ...] = (
        *((k.stream_kind, config.of_kind(k.stream_kind)) for k in KINDS if k.is_namespaced),
        ("workload", workloads),
    )
    return tuple(
        f"{kind}/{key}"
        for kind, objects in kinds
        for key in sorted(key for key in objects if key.startswith(prefix))
    )


def _objects_naming(config: ObjectSet, kind: str, key: str) -> Iterator[str]:
    for referring in KINDS:
        for name, found in sorted(config.of_kind(referring.stream_kind).items()):
            if (kind, key) in referring.references(found.spec):
                yield f"{referring.stream_kind}/{name}"
