"""The codec of WorkloadPriorityClass: its fields stand beside the metadata, as in Kueue."""

from typing import Literal

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import ManifestSchema, ObjectMeta
from headgate.adapters.manifests.records import Record, field
from headgate.domain.kinds.workload_priority_class import (
    WORKLOAD_PRIORITY_CLASS,
    WorkloadPriorityClassSpec,
)


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
