"""States as the read models keep them: JSON, by kind of stream."""

from typing import Any, TypeAlias

import msgspec

from headgate.domain.budgets.specs import DisruptionBudgetSpec
from headgate.domain.checks.specs import AdmissionCheckSpec
from headgate.domain.configuration.specs import ConfigurationSpec
from headgate.domain.configured import Absent, Configured
from headgate.domain.limits.specs import LimitRangeSpec, RuntimeClassSpec
from headgate.domain.namespaces.specs import NamespaceSpec
from headgate.domain.priorities.specs import WorkloadPriorityClassSpec
from headgate.domain.queues.specs import ClusterQueueSpec, CohortSpec, LocalQueueSpec
from headgate.domain.rounds.state import Round
from headgate.domain.streams import kind_and_key
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec
from headgate.domain.workloads.state import Workload

Decoder: TypeAlias = msgspec.json.Decoder[Any]

SPECS: dict[str, type] = {
    "clusterqueue": ClusterQueueSpec,
    "cohort": CohortSpec,
    "localqueue": LocalQueueSpec,
    "resourceflavor": ResourceFlavorSpec,
    "topology": TopologySpec,
    "node": NodeSpec,
    "workloadpriorityclass": WorkloadPriorityClassSpec,
    "admissioncheck": AdmissionCheckSpec,
    "disruptionbudget": DisruptionBudgetSpec,
    "namespace": NamespaceSpec,
    "configuration": ConfigurationSpec,
    "limitrange": LimitRangeSpec,
    "runtimeclass": RuntimeClassSpec,
}

DECODERS: dict[str, Decoder] = {
    "workload": msgspec.json.Decoder(Workload),
    "round": msgspec.json.Decoder(Round),
    **{
        kind: msgspec.json.Decoder(Configured[spec])  # type: ignore[valid-type]
        for kind, spec in SPECS.items()
    },
}


def state_of(stream: str, written: str | None) -> Any:  # noqa: ANN401 - by kind of stream
    """The state that was written for a stream; `Absent` where there is none."""
    if written is None:
        return Absent()
    kind, _ = kind_and_key(stream)
    return DECODERS[kind].decode(written)
