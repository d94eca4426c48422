"""Priority classes, AdmissionChecks, DisruptionBudgets, Namespaces and the Configuration."""

from typing import Any

from headgate.domain.kinds.admission_check import AdmissionCheckSpec
from headgate.domain.kinds.configuration import ConfigurationSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.kubernetes_kinds import NamespaceSpec
from headgate.domain.kinds.priority_classes import DisruptionBudgetSpec, WorkloadPriorityClassSpec
from headgate.domain.values.selectors import LabelSelector
from tests.builders.instants import T0


def a_priority_class(
    name: str = "high", value: int = 100, **fields: Any
) -> Configured[WorkloadPriorityClassSpec]:
    return Configured(
        name=name,
        uid=f"uid-{name}",
        created_at=T0,
        spec=WorkloadPriorityClassSpec(value=value, **fields),
    )


def a_check(
    name: str = "check", controller_name: str = "example.com/controller", **fields: Any
) -> Configured[AdmissionCheckSpec]:
    return Configured(
        name=name,
        uid=f"uid-{name}",
        created_at=T0,
        spec=AdmissionCheckSpec(controller_name=controller_name, **fields),
    )


def a_budget(
    name: str = "budget", namespace: str = "team-a", **fields: Any
) -> Configured[DisruptionBudgetSpec]:
    usual: dict[str, Any] = {"selector": LabelSelector(), "max_unavailable": 1}
    return Configured(
        name=name,
        namespace=namespace,
        uid=f"uid-{name}",
        created_at=T0,
        spec=DisruptionBudgetSpec(**usual | fields),
    )


def a_namespace(name: str = "team-a", **labels: str) -> Configured[NamespaceSpec]:
    return Configured(
        name=name, uid=f"uid-{name}", labels=labels, created_at=T0, spec=NamespaceSpec()
    )


def a_configuration(**fields: Any) -> Configured[ConfigurationSpec]:
    return Configured(
        name="default", uid="uid-default", created_at=T0, spec=ConfigurationSpec(**fields)
    )
