"""Rules for workloads that grow and shrink while they run (reference queueing.md §3.12)."""

from collections.abc import Iterator

from msgspec.structs import replace

from headgate.domain.rejection import Violation
from headgate.domain.values.pointers import child
from headgate.domain.workloads.annotations import (
    ELASTIC,
    REPLACES,
    Annotations,
    is_elastic,
    replaced_key,
)
from headgate.domain.workloads.specs import PodSet, WorkloadSpec

_ANNOTATIONS = "/metadata/annotations"


def elastic_violations(
    key: str, annotations: Annotations, spec: WorkloadSpec
) -> Iterator[Violation]:
    """What is wrong with a workload that is elastic, or takes over the pods of another one."""
    other = replaced_key(annotations)
    namespace = key.partition("/")[0]
    if other and not other.startswith(f"{namespace}/"):
        yield Violation(
            pointer=child(_ANNOTATIONS, REPLACES),
            rule="A slice replaces a workload of its own namespace.",
            remedy=f"Name it like {namespace}/its-name.",
        )
    if not other and not is_elastic(annotations):
        return
    marked = child(_ANNOTATIONS, REPLACES if other else ELASTIC)
    if any(pod_set.min_count is not None for pod_set in spec.pod_sets):
        yield Violation(
            pointer=marked,
            rule="An elastic workload starts with all its pods: it has no minCount.",
            remedy="Remove minCount, or the annotation.",
        )


def is_scale_down(before: tuple[PodSet, ...], after: tuple[PodSet, ...]) -> bool:
    """Whether the pod sets are the same but for counts that are lower."""
    return len(before) == len(after) and all(
        new == replace(old, count=new.count) and new.count <= old.count
        for old, new in zip(before, after, strict=True)
    )
