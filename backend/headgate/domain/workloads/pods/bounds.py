"""Whether pods keep within the LimitRanges of their namespace (Kueue's ValidateLimitRange, §3.3).

A container's larger one of request and limit is held to the maximum and the smaller one to the
minimum; a pod as a whole by its requests. What is not asked for is not bounded.
"""

from collections.abc import Iterator
from typing import Any

from headgate.domain.limits.specs import LimitRangeItem
from headgate.domain.rejection import Violation
from headgate.domain.values.amounts import amount_of_nanos, milli_quantity, quantity_of
from headgate.domain.values.pointers import child
from headgate.domain.workloads.pods.defaults import NO_BOUNDS, LimitRangeBounds
from headgate.domain.workloads.pods.requests import (
    NO_POD_DEFAULTS,
    ContainerResources,
    Nanos,
    container_resources,
    nanos_of_amounts,
    pod_requests,
    pod_resources,
)
from headgate.domain.workloads.specs import PodSet, WorkloadSpec

MILLI = 1000


def pod_limit_violations(spec: WorkloadSpec, bounds: LimitRangeBounds) -> tuple[Violation, ...]:
    """Where the pods of a workload leave the bounds of its namespace."""
    if bounds == NO_BOUNDS:
        return ()
    return tuple(
        violation
        for index, pod_set in enumerate(spec.pod_sets)
        for violation in _pod_set_violations(
            child("/spec/podSets", index, "template", "spec"), pod_set, bounds
        )
    )


def _pod_set_violations(
    place: str, pod_set: PodSet, bounds: LimitRangeBounds
) -> Iterator[Violation]:
    pod: dict[str, Any] = pod_set.template.get("spec") or {}
    defaults = pod_set.defaults or NO_POD_DEFAULTS
    for field in ("initContainers", "containers"):
        for index, container in enumerate(pod.get(field) or ()):
            asked = container_resources(container, defaults)
            here = child(place, field, index, "resources")
            yield from _range_violations(
                here,
                "container",
                _chosen_of_request_and_limit(asked, max),
                _chosen_of_request_and_limit(asked, min),
                bounds,
            )
            yield from _ratio_violations(here, asked, bounds.container)
            yield from _limit_violations(here, asked, bounds.container)
    whole = nanos_of_amounts(pod_requests(pod_resources(pod, defaults)))
    yield from _range_violations(place, "pod", whole, whole, bounds)


def _chosen_of_request_and_limit(asked: ContainerResources, chosen: Any) -> Nanos:  # noqa: ANN401 - max or min
    """The larger or smaller one of request and limit, where both are there."""
    requests, limits = asked.effective(), asked.limits
    return {name: chosen(nanos, limits.get(name, nanos)) for name, nanos in requests.items()}


def _range_violations(
    place: str, what: str, most: Nanos, least: Nanos, bounds: LimitRangeBounds
) -> Iterator[Violation]:
    item = bounds.container if what == "container" else bounds.pod
    for name, bound in nanos_of_amounts(item.max).items():
        if most.get(name, bound) > bound:
            yield _violation(place, f"A {what} has at most", name, item.max[name], most[name])
    for name, bound in nanos_of_amounts(item.min).items():
        if least.get(name, bound) < bound:
            yield _violation(place, f"A {what} has at least", name, item.min[name], least[name])


def _ratio_violations(
    place: str, asked: ContainerResources, item: LimitRangeItem
) -> Iterator[Violation]:
    for name, ratio in item.max_limit_request_ratio_milli.items():
        request, limit = asked.effective().get(name, 0), asked.limits.get(name, 0)
        if request and limit * MILLI > request * ratio:
            times = milli_quantity(ratio)
            yield Violation(
                pointer=child(place, "limits", name),
                rule=f"By the LimitRange of the namespace the limit of {name} is at most {times}"
                " times its request.",
                remedy="Lower the limit, or raise the request.",
            )


def _limit_violations(
    place: str, asked: ContainerResources, item: LimitRangeItem
) -> Iterator[Violation]:
    """Requests above a limit that the namespace gave and not above its maximum as well."""
    most = nanos_of_amounts(item.max)
    for name, limit in asked.limits.items():
        request = asked.requests.get(name, 0)
        if limit < request <= most.get(name, request):
            given = quantity_of(name, amount_of_nanos(name, limit))
            yield Violation(
                pointer=child(place, "requests", name),
                rule=f"The namespace limits containers that state no limit to {given} of {name}.",
                remedy="Lower the request, or state a limit.",
            )


def _violation(place: str, what: str, name: str, bound: int, nanos: int) -> Violation:
    found = quantity_of(name, amount_of_nanos(name, nanos))
    limit = quantity_of(name, bound)
    return Violation(
        pointer=place,
        rule=f"{what} {limit} of {name} by the LimitRange of the namespace; this one has {found}.",
        remedy=f"Give an amount of {name} within the range, or have the range changed.",
    )
