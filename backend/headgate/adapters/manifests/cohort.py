"""The codec of Cohort (queueing.md §1.3)."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import KUEUE, KUEUE_ALPHA, OURS, Codec, Extras
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.queue_preemption import (
    CohortPreemptionSchema,
    read_shield,
    rendered_runtime,
)
from headgate.adapters.manifests.resource_groups import (
    FairSharingSchema,
    FairSharingStatusSchema,
    ResourceGroupSchema,
    read_groups,
    read_weight,
    rendered_groups,
    rendered_share,
    rendered_weight,
)
from headgate.adapters.manifests.schemas import ManifestSchema, ObjectMeta
from headgate.domain.kinds.cohort import COHORT, CohortSpec
from headgate.domain.kinds.configured_object import Configured


def read_cohort(spec: Fields) -> tuple[CohortSpec, tuple[str, ...]]:
    """The spec of a Cohort."""
    read = CohortSpec(
        parent_name=spec.text("parentName") or spec.text("parent"),
        resource_groups=read_groups(spec),
        fair_weight_milli=read_weight(spec),
        min_runtime=read_shield(spec.child_or_empty("preemption")),
    )
    return read, ()


def cohort_spec(spec: CohortSpec) -> dict[str, Any]:
    """The spec of a Cohort."""
    rendered: dict[str, Any] = {"parentName": spec.parent_name} if spec.parent_name else {}
    if spec.resource_groups:
        rendered["resourceGroups"] = rendered_groups(spec.resource_groups)
    if granted := rendered_runtime(spec.min_runtime):
        rendered["preemption"] = granted
    return rendered | rendered_weight(spec.fair_weight_milli)


class CohortSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """A group of ClusterQueues that lend to each other."""

    parent_name: str | None = None
    resource_groups: list[ResourceGroupSchema] = []
    fair_sharing: FairSharingSchema | None = None
    preemption: CohortPreemptionSchema | None = None


class CohortStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """Derived from the log."""

    fair_sharing: FairSharingStatusSchema | None = None


class CohortObject(ManifestSchema, kw_only=True, frozen=True):
    """A Cohort."""

    api_version: str
    kind: Literal["Cohort"]
    metadata: ObjectMeta
    spec: CohortSpecSchema
    status: CohortStatusSchema | None = None


def _render(cohort: Configured[CohortSpec], extras: Extras) -> dict[str, Any]:
    status = rendered_share(extras.weighted_share)
    return {"spec": cohort_spec(cohort.spec), **({"status": status} if status else {})}


COHORT_CODEC = Codec(
    kind=COHORT,
    versions=(*KUEUE, KUEUE_ALPHA, OURS),
    read=read_cohort,
    render=_render,
    schema=CohortObject,
    old_names=(("/spec/parentName", "parent"),),
)
