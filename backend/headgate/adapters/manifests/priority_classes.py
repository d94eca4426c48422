"""Priority classes and DisruptionBudgets in manifests, and which class a workload names.

Its own field or Kueue's label goes before KAI's label, and that one before what the pods name
(queueing.md §1.5). The fields of a WorkloadPriorityClass stand beside the metadata, as in Kueue.
DisruptionBudgets: preemption.md §6.2.
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec, Extras
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import (
    LabelSelectorSchema,
    ManifestSchema,
    Metadata,
    ObjectMeta,
    object_schema,
)
from headgate.adapters.manifests.pod_templates import Template
from headgate.adapters.manifests.records import Record, field
from headgate.adapters.manifests.selectors import LABEL_SELECTOR_RECORD
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.priority_classes import (
    DISRUPTION_BUDGET,
    WORKLOAD_PRIORITY_CLASS,
    DisruptionBudgetSpec,
    WorkloadPriorityClassSpec,
)
from headgate.domain.rejection import child
from headgate.domain.scheduling.partition.budget_status import BudgetStatus
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.specs import PriorityClassReference


def _read_value(root: Fields, name: str, _: object) -> int:
    root.require(name)
    return root.integer(name, 0)


PRIORITY_CLASS_RECORD = Record(
    WorkloadPriorityClassSpec,
    field("value", read=_read_value),
    field("description", omits_usual=True),
    field("globalDefault"),
    field("preemptionPolicy"),
    field("maxProtectionDelta"),
)


class WorkloadPriorityClassObject(ManifestSchema, kw_only=True, frozen=True):
    """A WorkloadPriorityClass; its value stands beside the metadata, as in Kueue."""

    api_version: str
    kind: Literal["WorkloadPriorityClass"]
    metadata: ObjectMeta
    value: int
    description: str = ""
    global_default: bool = False
    preemption_policy: str | None = None
    max_protection_delta: int | None = None


WORKLOAD_PRIORITY_CLASS_CODEC = Codec(
    kind=WORKLOAD_PRIORITY_CLASS,
    versions=(*KUEUE, OURS),
    read=lambda root: (PRIORITY_CLASS_RECORD.read(root), ()),
    render=lambda found, _: PRIORITY_CLASS_RECORD.render(found.spec),
    schema=WorkloadPriorityClassObject,
    has_fields_at_root=True,
)


PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
KAI_PRIORITY_CLASS = "priorityClassName"
"""KAI's label, on the workload or on its pods."""

_LABELS = "/metadata/labels"


class NamedClass(msgspec.Struct, frozen=True):
    """A class, if one is named, and where its name stands or would; empty: in its own field."""

    reference: PriorityClassReference | None
    place: str

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Where the name of our shape stands in the manifest."""
        if not self.place:
            return ()
        own = "/spec/priorityClassRef"
        return ((f"{own}/name", self.place), (own, self.place))


def class_of_job(
    metadata: Metadata, templates: Sequence[Template], of_kind: tuple[str, str] | None = None
) -> NamedClass:
    """The class that a job names; `of_kind` is the one in a field of its kind, and its pointer."""
    named = metadata.labels.get(PRIORITY_CLASS, "")
    own = NamedClass(_reference("WorkloadPriorityClass", named), child(_LABELS, PRIORITY_CLASS))
    if own.reference:
        return own
    if of_kind is not None:
        name, place = of_kind
        return NamedClass(_reference("PriorityClass", name), place)
    return _class_told_otherwise(metadata, templates) or own


def class_of_workload(
    spec: Fields, metadata: Metadata, templates: Sequence[Template]
) -> NamedClass:
    """The class that a Workload names."""
    own = _named_in_spec(spec)
    return own if own.reference else _class_told_otherwise(metadata, templates) or own


def _class_told_otherwise(metadata: Metadata, templates: Sequence[Template]) -> NamedClass | None:
    labelled = (
        (metadata.labels, _LABELS),
        *((found.labels, f"{found.pointer}{_LABELS}") for found in templates),
    )
    told = (
        *(
            (labels.get(KAI_PRIORITY_CLASS, ""), place, KAI_PRIORITY_CLASS)
            for labels, place in labelled
        ),
        *(
            (found.priority_class_name, f"{found.pointer}/spec", "priorityClassName")
            for found in templates
        ),
    )
    for name, place, key in told:
        if name:
            return NamedClass(_reference("PriorityClass", name), child(place, key))
    return None


def _named_in_spec(spec: Fields) -> NamedClass:
    reference = spec.child("priorityClassRef")
    name = spec.text("priorityClassName")
    source = spec.choice(
        "priorityClassSource",
        ("kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""),
        "",
    )
    if reference is None:
        of_pods = source == "scheduling.k8s.io/priorityclass"
        kind: PriorityClassKind = "PriorityClass" if of_pods else "WorkloadPriorityClass"
        return NamedClass(
            _reference(kind, name), f"{spec.pointer}/priorityClassName" if name else ""
        )
    if name:
        spec.note(
            "priorityClassName", "NotTogether", fields=("priorityClassRef", "priorityClassName")
        )
    return NamedClass(_read_reference(reference), "")


PriorityClassKind = Literal["WorkloadPriorityClass", "PriorityClass"]


def _read_reference(fields: Fields) -> PriorityClassReference | None:
    kind: PriorityClassKind = fields.choice(
        "kind", ("WorkloadPriorityClass", "PriorityClass"), "WorkloadPriorityClass"
    )
    wanted = "scheduling.k8s.io" if kind == "PriorityClass" else "kueue.x-k8s.io"
    fields.choice("group", (wanted,), wanted)
    name = fields.required_text("name")
    fields.reject_unknown()
    return _reference(kind, name)


def _reference(kind: PriorityClassKind, name: str) -> PriorityClassReference | None:
    if not name:
        return None
    group = "scheduling.k8s.io" if kind == "PriorityClass" else "kueue.x-k8s.io"
    return PriorityClassReference(group=group, kind=kind, name=name)


def _read_selector(spec: Fields, name: str, _: object) -> LabelSelector:
    selector = spec.child(name)
    if selector is None:
        spec.note(name, "Required", field=name)
        return LabelSelector()
    return LABEL_SELECTOR_RECORD.read_nested(selector)


BUDGET_RECORD = Record(
    DisruptionBudgetSpec,
    field("selector", read=_read_selector, render=LABEL_SELECTOR_RECORD.render),
    field("unit"),
    field("minAvailable"),
    field("maxUnavailable"),
    field("enforcement"),
)


def budget_status(standing: BudgetStatus) -> dict[str, Any]:
    """The selected units: expected, healthy, evictable now, and the disrupted ones by name."""
    return {
        "expected": standing.expected,
        "healthy": standing.healthy,
        "allowed": standing.allowed,
        "disrupted": list(standing.disrupted),
    }


class DisruptionBudgetSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """How many of the selected must stay, or may be gone."""

    selector: LabelSelectorSchema
    unit: Literal["Workload", "Pod"] = "Workload"
    min_available: int | None = None
    max_unavailable: int | None = None
    enforcement: Literal["BestEffort", "Strict"] = "BestEffort"


class DisruptionBudgetStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """In units of the budget: those there are, those that run, and how many more may be taken."""

    expected: int
    healthy: int
    allowed: int
    disrupted: list[str] = []


DisruptionBudgetObject = object_schema(
    "DisruptionBudget",
    "A DisruptionBudget.",
    DisruptionBudgetSpecSchema,
    DisruptionBudgetStatusSchema,
)


def _render(budget: Configured[DisruptionBudgetSpec], extras: Extras) -> dict[str, Any]:
    standing = extras.budget_standing
    status = {} if standing is None else {"status": budget_status(standing)}
    return {"spec": BUDGET_RECORD.render(budget.spec), **status}


DISRUPTION_BUDGET_CODEC = Codec(
    kind=DISRUPTION_BUDGET,
    versions=(OURS,),
    read=lambda spec: (BUDGET_RECORD.read(spec), ()),
    render=_render,
    schema=DisruptionBudgetObject,
    is_status_derived=True,
)
