"""Raising or lowering a workload's priority for a while (preemption.md §6.3, Kueue's KEP 7990).

The annotation counts if the Configuration says so. While a workload waits, and no round works for
it, its boost is part of its priority. Once it has a place its priority stays, so that nobody is
evicted in circles, and a boost upwards protects it instead; when it waits again it counts in full.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from headgate.domain.metadata import refuse
from headgate.domain.priorities.rules import HIGHEST_PRIORITY, LOWEST_PRIORITY
from headgate.domain.rejection import Violation
from headgate.domain.values.pointers import child
from headgate.domain.workloads.preemption.protection import Classes, protection_bound
from headgate.domain.workloads.specs import PRIORITY_BOOST, Annotations, WorkloadSpec
from headgate.domain.workloads.state import Workload

_POINTER = child("/metadata/annotations", PRIORITY_BOOST)


def unboosted_priority(spec: WorkloadSpec) -> int:
    """Its priority without any boost."""
    return spec.priority - spec.boost_in_priority


def without_priority_boost(spec: WorkloadSpec) -> WorkloadSpec:
    """The spec as it would be without any boost."""
    if not (spec.priority_boost or spec.boost_in_priority):
        return spec
    return replace(spec, priority=unboosted_priority(spec), priority_boost=0, boost_in_priority=0)


def with_priority_boost(
    spec: WorkloadSpec,
    annotations: Annotations,
    classes: Classes,
    before: Workload | None = None,
    *,
    is_allowed: bool,
) -> WorkloadSpec:
    """A spec without boost, with the one of its annotations if they count; `before` is it so far.

    Raises `InvalidObject` for what is no number, or goes further than priorities or classes may.
    """
    said = annotations.get(PRIORITY_BOOST, "").strip() if is_allowed else ""
    boost = _parsed_boost(said) if said else 0
    refuse("Workload", "", tuple(_boost_violations(spec, classes, said, boost)))
    applied = boost or 0
    if before is not None and not _is_pending(before):
        applied = before.spec.boost_in_priority
    if not (boost or applied):
        return spec
    return replace(
        spec,
        priority=spec.priority + applied,
        priority_boost=boost or 0,
        boost_in_priority=applied,
    )


def with_full_boost(spec: WorkloadSpec) -> WorkloadSpec:
    """The spec of one who waits again: all of its boost counts in the line."""
    if spec.boost_in_priority == spec.priority_boost:
        return spec
    return replace(
        spec,
        priority=unboosted_priority(spec) + spec.priority_boost,
        boost_in_priority=spec.priority_boost,
    )


def _is_pending(workload: Workload) -> bool:
    return workload.admission is None and workload.nomination is None


def _parsed_boost(text: str) -> int | None:
    digits = text[1:] if text[:1] in {"-", "+"} else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else None  # noqa: PLR2004 - a signed int32 has no more digits


def _boost_violations(
    spec: WorkloadSpec, classes: Classes, said: str, boost: int | None
) -> Iterator[Violation]:
    if boost is None:
        yield Violation(
            pointer=_POINTER,
            rule=f"{said!r:.80} is no priority boost: a boost is a whole number.",
            remedy="Write it like 100 or -50, or remove the annotation.",
        )
        return
    if not LOWEST_PRIORITY <= spec.priority + boost <= HIGHEST_PRIORITY:
        yield Violation(
            pointer=_POINTER,
            rule=f"Priority {spec.priority} with a boost of {boost} is beyond what a priority may "
            f"be, {LOWEST_PRIORITY} to {HIGHEST_PRIORITY}.",
            remedy="Choose a smaller boost.",
        )
    bound = protection_bound(spec, spec.preemption_priority_class_name, classes)
    if bound is not None and boost > bound:
        yield Violation(
            pointer=_POINTER,
            rule=f"A boost of {boost} is more than maxProtectionDelta {bound} of its class.",
            remedy=f"Choose at most {bound}, or have the delta raised.",
        )
