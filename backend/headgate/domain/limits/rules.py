"""Rules for LimitRanges and RuntimeClasses, those of Kubernetes' own validation."""

from collections.abc import Iterator

from headgate.domain.limits.specs import LimitRangeItem, LimitRangeSpec, RuntimeClassSpec
from headgate.domain.metadata import label_violations, violation_of
from headgate.domain.rejection import Violation
from headgate.domain.selection_rules import toleration_violations
from headgate.domain.values.names import broken_rule_of_label_key
from headgate.domain.values.pointers import child
from headgate.domain.values.quantities import Requests, quantity_of

MILLI = 1000
ASCENDING = ("min", "defaultRequest", "default", "max")
"""The amounts of one resource, each at most as large as those after it."""


def limit_range_violations(spec: LimitRangeSpec) -> tuple[Violation, ...]:
    """What is wrong with a LimitRange."""
    return tuple(
        violation
        for index, item in enumerate(spec.limits)
        for violation in _item_violations(child("/spec/limits", index), item)
    )


def runtime_class_violations(spec: RuntimeClassSpec) -> tuple[Violation, ...]:
    """What is wrong with a RuntimeClass."""
    return (
        *_amount_violations("/overhead/podFixed", spec.overhead),
        *label_violations("/scheduling/nodeSelector", spec.scheduling.node_selector),
        *toleration_violations("/scheduling/tolerations", spec.scheduling.tolerations),
    )


def _item_violations(place: str, item: LimitRangeItem) -> Iterator[Violation]:
    amounts = dict(
        zip(ASCENDING, (item.min, item.default_request, item.default, item.max), strict=True)
    )
    for field, named in amounts.items():
        yield from _amount_violations(child(place, field), named)
    for lower, upper in (
        (low, high) for at, low in enumerate(ASCENDING) for high in ASCENDING[at + 1 :]
    ):
        yield from _order_violations(place, (lower, amounts[lower]), (upper, amounts[upper]))
    for resource, ratio in item.max_limit_request_ratio_milli.items():
        if ratio < MILLI:
            yield Violation(
                pointer=child(place, "maxLimitRequestRatio", resource),
                rule="No limit is below its request, so that the ratio is at least 1.",
                remedy="Give 1 or more.",
            )


def _order_violations(
    place: str, lower: tuple[str, Requests], upper: tuple[str, Requests]
) -> Iterator[Violation]:
    (low, least), (high, most) = lower, upper
    for resource in sorted(least.keys() & most.keys()):
        if least[resource] > most[resource]:
            bound = quantity_of(resource, most[resource])
            yield Violation(
                pointer=child(place, low, resource),
                rule=f"{low} of {resource} is at most its {high}, {bound}.",
                remedy=f"Lower {low}, or raise {high}.",
            )


def _amount_violations(pointer: str, amounts: Requests) -> Iterator[Violation]:
    for resource, amount in amounts.items():
        found = violation_of(child(pointer, resource), resource, broken_rule_of_label_key)
        if found:
            yield found
        if amount < 0:
            yield Violation(
                pointer=child(pointer, resource),
                rule=f"{resource} is at least 0.",
                remedy="Give an amount that is not negative.",
            )
