"""Flavors, topologies, nodes, classes, checks, budgets and namespaces as they are shown."""

from collections.abc import Mapping
from headgate.adapters.manifests.rendering.metadata import rendered_condition
from headgate.adapters.manifests.rendering.selectors import rendered_selector
from headgate.adapters.manifests.rendering.selectors import rendered_taint
from headgate.domain.kinds.admission_check import AdmissionCheckSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.disruption_budget import DisruptionBudgetSpec
from headgate.domain.kinds.namespace import NamespaceSpec
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import TopologySpec
from headgate.domain.kinds.workload_priority_class import WorkloadPriorityClassSpec
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.scheduling.preemption.disruption_budgets import BudgetStatus
from headgate.domain.values.quantities import quantity_of
from headgate.domain.values.selectors import toleration_fields
from typing import Any


def resource_flavor_body(flavor: Configured[ResourceFlavorSpec]) -> dict[str, Any]:
    """The spec of a ResourceFlavor."""
    spec = flavor.spec
    fields: dict[str, Any] = {
        "nodeLabels": spec.node_labels,
        "nodeTaints": [rendered_taint(taint) for taint in spec.node_taints],
        "tolerations": [toleration_fields(toleration) for toleration in spec.tolerations],
        "topologyName": spec.topology_name,
    }
    return {"spec": {name: value for name, value in fields.items() if value}}


def topology_body(topology: Configured[TopologySpec]) -> dict[str, Any]:
    """The levels of a Topology."""
    return {"spec": {"levels": [{"nodeLabel": level} for level in topology.spec.levels]}}


def node_body(node: Configured[NodeSpec]) -> dict[str, Any]:
    """A node with what it reported of itself."""
    spec = node.spec
    ready = rendered_condition(
        "Ready",
        status=spec.ready,
        reason="NodeReady" if spec.ready else "NodeNotReady",
        message="",
        at=spec.not_ready_since or node.created_at,
        generation=node.generation,
    )
    lease = {"leaseSeconds": spec.lease_seconds} if spec.lease_seconds else {}
    return {
        "spec": {
            **({"taints": [rendered_taint(taint) for taint in spec.taints]} if spec.taints else {}),
            "unschedulable": spec.unschedulable,
            **({"draining": True} if spec.draining else {}),
        },
        "status": {
            "conditions": [ready],
            "allocatable": _quantities(spec.allocatable),
            "usedByOthers": _quantities(spec.used_by_others),
            **lease,
        },
    }


def priority_class_body(found: Configured[WorkloadPriorityClassSpec]) -> dict[str, Any]:
    """The fields of a WorkloadPriorityClass, which stand beside its metadata."""
    spec = found.spec
    delta = spec.max_protection_delta
    return {
        "value": spec.value,
        **({"description": spec.description} if spec.description else {}),
        "globalDefault": spec.global_default,
        "preemptionPolicy": spec.preemption_policy,
        **({} if delta is None else {"maxProtectionDelta": delta}),
    }


def admission_check_body(check: Configured[AdmissionCheckSpec]) -> dict[str, Any]:
    """An AdmissionCheck with what its controller last said of itself."""
    spec = check.spec
    rendered: dict[str, Any] = {"controllerName": spec.controller_name}
    if spec.parameters is not None:
        rendered["parameters"] = {
            "apiGroup": spec.parameters.api_group,
            "kind": spec.parameters.kind,
            "name": spec.parameters.name,
        }
    active = rendered_condition(
        "Active",
        status=spec.active,
        reason="Active" if spec.active else "Inactive",
        message="The admission check is active"
        if spec.active
        else "Its controller does not serve it",
        at=check.created_at,
        generation=check.generation,
    )
    return {"spec": rendered, "status": {"conditions": [active]}}


def budget_body(budget: Configured[DisruptionBudgetSpec]) -> dict[str, Any]:
    """The spec of a DisruptionBudget."""
    spec = budget.spec
    bounds = {"minAvailable": spec.min_available, "maxUnavailable": spec.max_unavailable}
    return {
        "spec": {
            "selector": rendered_selector(spec.selector),
            "unit": spec.unit,
            **{name: bound for name, bound in bounds.items() if bound is not None},
            "enforcement": spec.enforcement,
        }
    }


def budget_status(standing: BudgetStatus) -> dict[str, Any]:
    """How many there are, how many run, how many more may be taken, and who is gone or going."""
    return {
        "expected": standing.expected,
        "healthy": standing.healthy,
        "allowed": standing.allowed,
        "disrupted": list(standing.disrupted),
    }


def namespace_body(namespace: Configured[NamespaceSpec]) -> dict[str, Any]:
    """A Namespace."""
    phase = "Active" if namespace.terminating_at is None else "Terminating"
    return {"spec": {}, "status": {"phase": phase}}


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {resource: quantity_of(resource, amount) for resource, amount in amounts.items()}
