"""LimitRanges and RuntimeClasses: what they add to pods and what they require (queueing.md §3.3).

Kueue: workload.AdjustResources and ValidateLimitRange. A RuntimeClass adds overhead, node selector
and tolerations; LimitRanges give requests and limits to containers without them, and bound
containers and pods. Additions are made at submission and stay when the objects change.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.kubernetes_kinds import LimitRangeItem, LimitRangeSpec, RuntimeClassSpec
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.message import Amount
from headgate.domain.values.quantities import Requests, amount_of_nanos, milli_quantity, quantity_of
from headgate.domain.values.selectors import toleration_fields
from headgate.domain.workloads.pods.requests import (
    NO_POD_DEFAULTS,
    ContainerResources,
    Nanos,
    container_resources,
    missing_requests,
    nanos_of_amounts,
    pod_requests,
    pod_resources,
)
from headgate.domain.workloads.specs import PodDefaults, PodSet, WorkloadSpec

LimitRanges: TypeAlias = Mapping[str, Configured[LimitRangeSpec]]
RuntimeClasses: TypeAlias = Mapping[str, Configured[RuntimeClassSpec]]


class LimitRangeBounds(msgspec.Struct, frozen=True, kw_only=True):
    """The LimitRanges of a namespace combined, by the types `Container` and `Pod`."""

    container: LimitRangeItem = LimitRangeItem()
    pod: LimitRangeItem = LimitRangeItem(type="Pod")


NO_BOUNDS = LimitRangeBounds()


def limit_range_bounds(ranges: LimitRanges, namespace: str) -> LimitRangeBounds:
    """The tightest bounds of a namespace; of several defaults the first by LimitRange name."""
    if not ranges:
        return NO_BOUNDS
    prefix = f"{namespace}/"
    found = NO_BOUNDS
    for key in sorted(ranges):
        if key.startswith(prefix):
            for item in ranges[key].spec.limits:
                found = _with_item(found, item)
    return found


def with_pod_defaults(
    spec: WorkloadSpec,
    bounds: LimitRangeBounds,
    classes: RuntimeClasses,
    before: WorkloadSpec | None = None,
) -> WorkloadSpec:
    """The spec with defaults added to its pods; unchanged pod sets of `before` keep theirs."""
    known = {pod_set.name: pod_set for pod_set in before.pod_sets} if before else {}
    if bounds == NO_BOUNDS and not classes and not any(p.defaults for p in known.values()):
        return spec
    pod_sets = tuple(
        _completed(pod_set, known.get(pod_set.name), bounds, classes) for pod_set in spec.pod_sets
    )
    return replace(spec, pod_sets=pod_sets)


def completed_template(pod_set: PodSet) -> dict[str, Any]:
    """The pod template with defaults filled in, as the pods are created."""
    defaults = pod_set.defaults
    pod = pod_set.template.get("spec")
    if defaults is None or not isinstance(pod, dict):
        return pod_set.template
    filled = dict(pod)
    if defaults.overhead:
        filled["overhead"] = _quantities(defaults.overhead)
    if defaults.node_selector:
        filled["nodeSelector"] = {**(pod.get("nodeSelector") or {}), **defaults.node_selector}
    if defaults.tolerations:
        added = (toleration_fields(toleration) for toleration in defaults.tolerations)
        filled["tolerations"] = [*(pod.get("tolerations") or ()), *added]
    if defaults.requests or defaults.limits:
        for field in ("initContainers", "containers"):
            if field in filled:
                filled[field] = [_filled(found, defaults) for found in filled[field]]
    return {**pod_set.template, "spec": filled}


def _completed(
    pod_set: PodSet, known: PodSet | None, bounds: LimitRangeBounds, classes: RuntimeClasses
) -> PodSet:
    if (
        known is not None
        and pod_set.unread == known.unread
        and pod_set.template in (known.template, completed_template(known))
    ):
        return replace(
            pod_set,
            template=known.template,
            written=known.written,
            needs=known.needs,
            defaults=known.defaults,
            scheduling=known.scheduling,
        )
    pod = pod_set.template.get("spec") or {}
    runtime = classes.get(pod.get("runtimeClassName") or "")
    given = runtime.spec if runtime is not None else RuntimeClassSpec()
    container, stated = bounds.container, pod_set.scheduling
    defaults = PodDefaults(
        overhead={} if pod.get("overhead") else given.overhead,
        requests=container.default_request,
        limits=container.default,
        node_selector=given.scheduling.node_selector,
        tolerations=tuple(t for t in given.scheduling.tolerations if t not in stated.tolerations),
    )
    if defaults == PodDefaults():
        return pod_set
    scheduling = replace(
        stated,
        requests=pod_requests(pod_resources(pod, defaults)),
        node_selector={**stated.node_selector, **defaults.node_selector},
        tolerations=(*stated.tolerations, *defaults.tolerations),
    )
    return replace(pod_set, defaults=defaults, scheduling=scheduling)


def _filled(container: dict[str, Any], defaults: PodDefaults) -> dict[str, Any]:
    stated = container.get("resources") or {}
    resources = {
        **stated,
        "requests": {
            **_quantities(missing_requests(stated, defaults)),
            **(stated.get("requests") or {}),
        },
        "limits": {**_quantities(defaults.limits), **(stated.get("limits") or {})},
    }
    return {**container, "resources": {name: part for name, part in resources.items() if part}}


def _quantities(amounts: Requests) -> dict[str, str]:
    return {name: quantity_of(name, amount) for name, amount in amounts.items()}


def _with_item(bounds: LimitRangeBounds, item: LimitRangeItem) -> LimitRangeBounds:
    match item.type:
        case "Container":
            return replace(bounds, container=_combined_item(bounds.container, item))
        case "Pod":
            return replace(bounds, pod=_combined_item(bounds.pod, item))
        case "PersistentVolumeClaim":
            return bounds


def _combined_item(known: LimitRangeItem, item: LimitRangeItem) -> LimitRangeItem:
    ratios = (known.max_limit_request_ratio_milli, item.max_limit_request_ratio_milli)
    return LimitRangeItem(
        type=known.type,
        max=_minimum_each(known.max, item.max),
        min=_maximum_each(known.min, item.min),
        default={**item.default, **known.default},
        default_request={**item.default_request, **known.default_request},
        max_limit_request_ratio_milli=_minimum_each(*ratios),
    )


def _minimum_each(left: Requests, right: Requests) -> Requests:
    names = sorted({*left, *right})
    return {
        name: min(left.get(name, right.get(name, 0)), right.get(name, left.get(name, 0)))
        for name in names
    }


def _maximum_each(left: Requests, right: Requests) -> Requests:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in sorted({*left, *right})}


MILLI = 1000


def pod_limit_violations(spec: WorkloadSpec, bounds: LimitRangeBounds) -> tuple[Violation, ...]:
    """Violations of the LimitRanges of the namespace by the pods of the spec.

    The larger of a container's request and limit is compared with the maximum, the smaller one with
    the minimum; a pod as a whole is compared by its requests.
    """
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
    """The larger or smaller one of request and limit of each resource."""
    requests, limits = asked.effective(), asked.limits
    return {name: chosen(nanos, limits.get(name, nanos)) for name, nanos in requests.items()}


def _range_violations(
    place: str, scope: str, most: Nanos, least: Nanos, bounds: LimitRangeBounds
) -> Iterator[Violation]:
    item = bounds.container if scope == "container" else bounds.pod
    for name, bound in nanos_of_amounts(item.max).items():
        if most.get(name, bound) > bound:
            asked, maximum = _amount(name, most[name]), Amount(name, item.max[name])
            yield violation(place, "AboveLimitRange", scope=scope, maximum=maximum, amount=asked)
    for name, bound in nanos_of_amounts(item.min).items():
        if least.get(name, bound) < bound:
            asked, minimum = _amount(name, least[name]), Amount(name, item.min[name])
            yield violation(place, "BelowLimitRange", scope=scope, minimum=minimum, amount=asked)


def _ratio_violations(
    place: str, asked: ContainerResources, item: LimitRangeItem
) -> Iterator[Violation]:
    for name, ratio in item.max_limit_request_ratio_milli.items():
        request, limit = asked.effective().get(name, 0), asked.limits.get(name, 0)
        if request and limit * MILLI > request * ratio:
            pointer, maximum = child(place, "limits", name), milli_quantity(ratio)
            yield violation(pointer, "LimitRequestRatioTooHigh", resource=name, maximum=maximum)


def _limit_violations(
    place: str, asked: ContainerResources, item: LimitRangeItem
) -> Iterator[Violation]:
    """Requests that exceed a limit added by the namespace but not its maximum."""
    most = nanos_of_amounts(item.max)
    for name, limit in asked.limits.items():
        request = asked.requests.get(name, 0)
        if limit < request <= most.get(name, request):
            pointer = child(place, "requests", name)
            yield violation(pointer, "RequestAboveDefaultLimit", limit=_amount(name, limit))


def _amount(resource: str, nanos: int) -> Amount:
    return Amount(resource, amount_of_nanos(resource, nanos))


def pod_runtime_violations(spec: WorkloadSpec) -> tuple[Violation, ...]:
    """Node selectors of pods that contradict their RuntimeClass.

    The node selectors of RuntimeClasses are in the pod sets' `defaults` by then (Kubernetes:
    RuntimeClass admission).
    """
    return tuple(
        violation
        for index, pod_set in enumerate(spec.pod_sets)
        for violation in _conflicts(child("/spec/podSets", index, "template", "spec"), pod_set)
    )


def _conflicts(place: str, pod_set: PodSet) -> Iterator[Violation]:
    if pod_set.defaults is None or not pod_set.defaults.node_selector:
        return
    pod = pod_set.template.get("spec") or {}
    stated = pod.get("nodeSelector") or {}
    for key, wanted in sorted(pod_set.defaults.node_selector.items()):
        if stated.get(key, wanted) != wanted:
            yield violation(
                child(place, "nodeSelector", key),
                "RuntimeClassSelectorDiffers",
                runtime_class=str(pod.get("runtimeClassName")),
                key=key,
                value=wanted,
            )
