"""Rules for AdmissionChecks (reference queueing.md §1.6)."""

from headgate.domain.checks.specs import AdmissionCheckSpec
from headgate.domain.rejection import Violation

LONGEST_CONTROLLER_NAME = 253

_CONTROLLER = "/spec/controllerName"


def check_violations(spec: AdmissionCheckSpec) -> tuple[Violation, ...]:
    """What is wrong with an AdmissionCheck."""
    if 1 <= len(spec.controller_name) <= LONGEST_CONTROLLER_NAME:
        return ()
    return (
        Violation(
            pointer=_CONTROLLER,
            rule=f"controllerName has 1 to {LONGEST_CONTROLLER_NAME} characters.",
            remedy="Name the controller that answers for this check.",
        ),
    )


def check_change_violations(
    before: AdmissionCheckSpec, after: AdmissionCheckSpec
) -> tuple[Violation, ...]:
    """A check belongs to one controller for life."""
    if before.controller_name == after.controller_name:
        return ()
    return (
        Violation(
            pointer=_CONTROLLER,
            rule=f"controllerName never changes; it is {before.controller_name}.",
            remedy="Make another AdmissionCheck for the other controller.",
        ),
    )
