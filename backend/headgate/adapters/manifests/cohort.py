"""The codec of Cohort (queueing.md §1.3)."""

from typing import Any

from headgate.adapters.manifests.codec import KUEUE, KUEUE_ALPHA, OURS, Codec, Extras
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import ManifestSchema, object_schema
from headgate.adapters.manifests.queue_settings import (
    GROUP_RECORD,
    MINIMUM_RUNTIME_RECORD,
    WEIGHT_FIELD,
    CohortPreemptionSchema,
    FairSharingSchema,
    FairSharingStatusSchema,
    ResourceGroupSchema,
    rendered_share,
)
from headgate.adapters.manifests.records import Record, field, listed
from headgate.domain.kinds.cohort import COHORT, CohortSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.queue_settings import MinimumRuntime


def _read_parent(spec: Fields, name: str, _: object) -> str:
    return spec.text(name) or spec.text("parent")


def _read_preemption(spec: Fields, name: str, _: object) -> MinimumRuntime:
    fields = spec.child_or_empty(name)
    read = MINIMUM_RUNTIME_RECORD.read_nested(fields.child_or_empty("minRuntime"))
    fields.reject_unknown()
    return read


COHORT_RECORD = Record(
    CohortSpec,
    field("parentName", read=_read_parent, omits_usual=True),
    listed("resourceGroups", GROUP_RECORD, omits_usual=True),
    field(
        "preemption",
        "min_runtime",
        read=_read_preemption,
        render=lambda runtime: {"minRuntime": MINIMUM_RUNTIME_RECORD.render(runtime)},
        omits_usual=True,
    ),
    WEIGHT_FIELD,
)


class CohortSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """A group of ClusterQueues that lend to each other."""

    parent_name: str | None = None
    resource_groups: list[ResourceGroupSchema] = []
    fair_sharing: FairSharingSchema | None = None
    preemption: CohortPreemptionSchema | None = None


class CohortStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """Derived from the log."""

    fair_sharing: FairSharingStatusSchema | None = None


CohortObject = object_schema("Cohort", "A Cohort.", CohortSpecSchema, CohortStatusSchema)


def _render(cohort: Configured[CohortSpec], extras: Extras) -> dict[str, Any]:
    status = rendered_share(extras.weighted_share)
    return {"spec": COHORT_RECORD.render(cohort.spec), **({"status": status} if status else {})}


COHORT_CODEC = Codec(
    kind=COHORT,
    versions=(*KUEUE, KUEUE_ALPHA, OURS),
    read=lambda spec: (COHORT_RECORD.read(spec), ()),
    render=_render,
    schema=CohortObject,
    old_names=(("/spec/parentName", "parent"),),
)
