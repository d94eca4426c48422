"""The resource requests of one pod, from its containers (queueing.md §3.3).

Kubernetes: resource.PodRequests. A pod requests the largest of the sum of its containers, the peak
of its init containers and its pod-level requests, plus overhead. Limits stand for missing requests
before defaults of a namespace do (Kueue: workload.AdjustResources). Amounts are added in billionths
and rounded once.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from headgate.domain.values.quantities import (
    NotAQuantity,
    Requests,
    amount_of_nanos,
    nanos_of,
    quantity_of,
)
from headgate.domain.workloads.specs import PodDefaults

POD_LEVEL_RESOURCES = ("cpu", "memory")

Nanos: TypeAlias = dict[str, int]

NO_POD_DEFAULTS = PodDefaults()


class PodResources(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of the parts of a pod in billionths.

    `initial` pairs the requests of each init container with whether it is a sidecar. `pod_level`
    are requests of the pod as a whole; more that its containers request counts (Kueue #16047).
    """

    containers: tuple[Nanos, ...]
    initial: tuple[tuple[Nanos, bool], ...] = ()
    pod_level: Nanos = {}
    overhead: Nanos = {}


class ContainerResources(msgspec.Struct, frozen=True, kw_only=True):
    """The requests and limits of one container in billionths."""

    requests: Nanos
    limits: Nanos

    def effective(self) -> Nanos:
        """The requests, with limits in place of missing ones."""
        return {**self.limits, **self.requests}


def pod_requests(asked: PodResources) -> Requests:
    """The requests of one pod, in the units of `quantities`."""
    sidecars: Nanos = {}
    peak: Nanos = {}
    for wanted, stays in asked.initial:
        peak = _larger(peak, _sum([sidecars, wanted]))
        if stays:
            sidecars = _sum([sidecars, wanted])
    total = _larger(_sum([*asked.containers, sidecars]), peak)
    pod_level = {
        name: nanos
        for name, nanos in asked.pod_level.items()
        if name in POD_LEVEL_RESOURCES or name.startswith("hugepages-")
    }
    exact = _sum([_larger(total, pod_level), asked.overhead])
    return {name: amount_of_nanos(name, nanos) for name, nanos in sorted(exact.items())}


def pod_resources(pod: Mapping[str, Any], defaults: PodDefaults = NO_POD_DEFAULTS) -> PodResources:
    """The resources of a pod's spec with defaults filled in."""
    return PodResources(
        containers=tuple(
            container_resources(container, defaults).effective()
            for container in pod.get("containers") or ()
        ),
        initial=tuple(
            (
                container_resources(container, defaults).effective(),
                container.get("restartPolicy") == ALWAYS,
            )
            for container in pod.get("initContainers") or ()
        ),
        pod_level=container_resources(pod).effective(),
        overhead=nanos_of_quantities(pod.get("overhead")) or nanos_of_amounts(defaults.overhead),
    )


ALWAYS = "Always"
"""The restart policy of a sidecar: an init container that keeps running."""


def container_resources(
    container: Mapping[str, Any], defaults: PodDefaults = NO_POD_DEFAULTS
) -> ContainerResources:
    """The requests and limits of a container, or of a pod as a whole, with defaults filled in."""
    stated = container.get("resources") or {}
    return ContainerResources(
        requests={
            **nanos_of_amounts(missing_requests(stated, defaults)),
            **nanos_of_quantities(stated.get("requests")),
        },
        limits={**nanos_of_amounts(defaults.limits), **nanos_of_quantities(stated.get("limits"))},
    )


def missing_requests(stated: Mapping[str, Any], defaults: PodDefaults) -> Requests:
    """The default requests of resources for which a container states neither request nor limit."""
    known = {*(stated.get("requests") or {}), *(stated.get("limits") or {})}
    return {name: amount for name, amount in defaults.requests.items() if name not in known}


def nanos_of_quantities(stated: Mapping[str, Any] | None) -> Nanos:
    """Quantities by resource in billionths; invalid ones, refused at submission, are left out."""
    found: Nanos = {}
    for resource, value in (stated or {}).items():
        try:
            found[resource] = nanos_of(str(value))
        except NotAQuantity:
            continue
    return found


def nanos_of_amounts(amounts: Requests) -> Nanos:
    """Amounts by resource in billionths."""
    return {name: nanos_of(quantity_of(name, amount)) for name, amount in amounts.items()}


def _sum(parts: Iterable[Nanos]) -> Nanos:
    total: Nanos = {}
    for part in parts:
        for name, nanos in part.items():
            total[name] = total.get(name, 0) + nanos
    return total


def _larger(left: Nanos, right: Nanos) -> Nanos:
    names = {**left, **right}
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in names}
