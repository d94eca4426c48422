"""Rules for WorkloadPriorityClasses (reference queueing.md §1.5, preemption.md §6.2)."""

from collections.abc import Iterator

from headgate.domain.priorities.specs import WorkloadPriorityClassSpec
from headgate.domain.rejection import Violation

LONGEST_DESCRIPTION = 2048
LOWEST_PRIORITY = -(2**31)
HIGHEST_PRIORITY = 2**31 - 1


def priority_class_violations(spec: WorkloadPriorityClassSpec) -> tuple[Violation, ...]:
    """What is wrong with a WorkloadPriorityClass."""
    return tuple(_violations(spec))


def _violations(spec: WorkloadPriorityClassSpec) -> Iterator[Violation]:
    if not LOWEST_PRIORITY <= spec.value <= HIGHEST_PRIORITY:
        yield Violation(
            pointer="/value",
            rule=f"A priority lies between {LOWEST_PRIORITY} and {HIGHEST_PRIORITY}.",
            remedy="Choose a number in this range.",
        )
    if len(spec.description) > LONGEST_DESCRIPTION:
        yield Violation(
            pointer="/description",
            rule=f"A description has at most {LONGEST_DESCRIPTION} characters.",
            remedy=f"Shorten it: it has {len(spec.description)}.",
        )
    if spec.max_protection_delta is not None and spec.max_protection_delta < 0:
        yield Violation(
            pointer="/maxProtectionDelta",
            rule="maxProtectionDelta is at least 0: protection is never below priority.",
            remedy="Give 0 for no more protection than the priority itself.",
        )


FIRST_PRIORITY = 2**31
"""Added to every priority, so that each further pod costs more than any priority saves (T14)."""
