"""Manifests of priority classes, AdmissionChecks, DisruptionBudgets and Namespaces."""

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.selectors import read_label_selector
from headgate.domain.kinds.admission_check import AdmissionCheckSpec, CheckParameters
from headgate.domain.kinds.disruption_budget import DisruptionBudgetSpec
from headgate.domain.kinds.namespace import NamespaceSpec
from headgate.domain.kinds.workload_priority_class import WorkloadPriorityClassSpec
from headgate.domain.values.selectors import LabelSelector


def read_priority_class(root: Fields) -> tuple[WorkloadPriorityClassSpec, tuple[str, ...]]:
    """A WorkloadPriorityClass or a PriorityClass: its fields stand beside the metadata."""
    if not root.has("value"):
        root.note("value", "value is required.", "Give the priority as an integer.")
    read = WorkloadPriorityClassSpec(
        value=root.integer("value", 0),
        description=root.text("description"),
        global_default=root.flag("globalDefault", default=False),
        preemption_policy=root.choice(
            "preemptionPolicy", ("PreemptLowerPriority", "Never"), "PreemptLowerPriority"
        ),
        max_protection_delta=root.optional_integer("maxProtectionDelta"),
    )
    return read, ()


def read_admission_check(spec: Fields) -> tuple[AdmissionCheckSpec, tuple[str, ...]]:
    """The spec of an AdmissionCheck; whether it is active its controller says."""
    spec.ignore("retryDelayMinutes")
    parameters = spec.child("parameters")
    read = AdmissionCheckSpec(
        controller_name=spec.required_text("controllerName"),
        parameters=_parameters(parameters) if parameters else None,
    )
    return read, ("active",)


def read_budget(spec: Fields) -> tuple[DisruptionBudgetSpec, tuple[str, ...]]:
    """The spec of a DisruptionBudget."""
    selector = spec.child("selector")
    if selector is None:
        spec.note("selector", "selector is required.", "Select workloads by label, or all by {}.")
    read = DisruptionBudgetSpec(
        selector=read_label_selector(selector) if selector else LabelSelector(),
        unit=spec.choice("unit", ("Workload", "Pod"), "Workload"),
        min_available=spec.optional_integer("minAvailable"),
        max_unavailable=spec.optional_integer("maxUnavailable"),
        enforcement=spec.choice("enforcement", ("BestEffort", "Strict"), "BestEffort"),
    )
    return read, ()


def read_namespace(spec: Fields) -> tuple[NamespaceSpec, tuple[str, ...]]:
    """The spec of a Namespace: only Kubernetes' own finalizers may stand there."""
    spec.ignore("finalizers")
    return NamespaceSpec(), ()


def _parameters(fields: Fields) -> CheckParameters:
    read = CheckParameters(
        api_group=fields.text("apiGroup"),
        kind=fields.required_text("kind"),
        name=fields.required_text("name"),
    )
    fields.reject_unknown()
    return read
