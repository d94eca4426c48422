"""The codec of WorkloadPriorityClass: its fields stand beside the metadata, as in Kueue."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.schemas import (
    ManifestSchema,
    ObjectMeta,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.workload_priority_class import (
    WORKLOAD_PRIORITY_CLASS,
    WorkloadPriorityClassSpec,
)


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
    read=read_priority_class,
    render=lambda found, _: priority_class_body(found),
    schema=WorkloadPriorityClassObject,
    has_fields_at_root=True,
)
