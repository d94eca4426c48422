"""The kinds that Kubernetes defines: LimitRange, RuntimeClass and Namespace.

What LimitRanges and RuntimeClasses do to workloads stands in queueing.md §3.3; ClusterQueues select
submitters by the labels of Namespaces.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.field_rules import (
    amount_violations,
    broken_rule_of_dns_label,
    label_violations,
    toleration_violations,
)
from headgate.domain.kinds.configured_object import (
    NamespacedObjectCreated,
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import (
    Kind,
)
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.message import Amount
from headgate.domain.values.quantities import Requests
from headgate.domain.values.selectors import Toleration


class LimitRangeItem(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds for every container or every pod, and what containers have that say nothing.

    `default` is for limits and `default_request` for requests; both count for containers only.
    A limit may be so many thousandths of its request as `max_limit_request_ratio_milli` says.
    """

    type: Literal["Container", "Pod", "PersistentVolumeClaim"] = "Container"
    max: Requests = {}
    min: Requests = {}
    default: Requests = {}
    default_request: Requests = {}
    max_limit_request_ratio_milli: dict[str, int] = {}


class LimitRangeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What the workloads of its namespace are held to from the moment they are submitted."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRangeCreated(
    NamespacedObjectCreated[LimitRangeSpec], frozen=True, kw_only=True, tag="limit_range.created"
):
    """The LimitRange exists, as generation 1."""


class LimitRangeChanged(
    ObjectChanged[LimitRangeSpec], frozen=True, kw_only=True, tag="limit_range.changed"
):
    """Labels, annotations or spec of the LimitRange are replaced."""


class LimitRangeDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="limit_range.deletion_requested"
):
    """Deletion of the LimitRange was requested while others referenced it."""


class LimitRangeDeleted(ObjectDeleted, frozen=True, tag="limit_range.deleted"):
    """The LimitRange is gone; its name is free."""


MILLI = 1000
ASCENDING = ("min", "defaultRequest", "default", "max")
"""The amounts of one resource, each at most as large as those after it."""


def limit_range_violations(spec: LimitRangeSpec) -> tuple[Violation, ...]:
    """Broken rules of a LimitRange."""
    return tuple(
        violation
        for index, item in enumerate(spec.limits)
        for violation in _item_violations(child("/spec/limits", index), item)
    )


def _item_violations(place: str, item: LimitRangeItem) -> Iterator[Violation]:
    amounts = dict(
        zip(ASCENDING, (item.min, item.default_request, item.default, item.max), strict=True)
    )
    for field, named in amounts.items():
        yield from amount_violations(child(place, field), named)
    if item.type == "Pod":
        for field in ("default", "defaultRequest"):
            if amounts[field]:
                yield violation(child(place, field), "PodLimitWithDefaults", field=field)
    for lower, upper in (
        (low, high) for at, low in enumerate(ASCENDING) for high in ASCENDING[at + 1 :]
    ):
        yield from _order_violations(place, (lower, amounts[lower]), (upper, amounts[upper]))
    for resource, ratio in item.max_limit_request_ratio_milli.items():
        if ratio < MILLI:
            yield violation(child(place, "maxLimitRequestRatio", resource), "RatioBelowOne")


def _order_violations(
    place: str, lower: tuple[str, Requests], upper: tuple[str, Requests]
) -> Iterator[Violation]:
    (low, least), (high, most) = lower, upper
    for resource in sorted(least.keys() & most.keys()):
        if least[resource] > most[resource]:
            bound = Amount(resource, most[resource])
            pointer = child(place, low, resource)
            yield violation(pointer, "LimitRangeDescending", lower=low, upper=high, bound=bound)


LIMIT_RANGE: Kind[LimitRangeSpec] = Kind(
    name="LimitRange",
    plural="LimitRanges",
    short_names=("limits",),
    spec=LimitRangeSpec,
    created=LimitRangeCreated,
    changed=LimitRangeChanged,
    deletion_requested=LimitRangeDeletionRequested,
    deleted=LimitRangeDeleted,
    rules=limit_range_violations,
)


class RuntimeScheduling(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes have the runtime, and which of their taints its pods tolerate."""

    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClassSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A way to run pods; `overhead` is what each pod takes besides what its containers ask for."""

    handler: str = ""
    overhead: Requests = {}
    scheduling: RuntimeScheduling = RuntimeScheduling()


class RuntimeClassCreated(
    ObjectCreated[RuntimeClassSpec], frozen=True, kw_only=True, tag="runtime_class.created"
):
    """The RuntimeClass exists, as generation 1."""


class RuntimeClassChanged(
    ObjectChanged[RuntimeClassSpec], frozen=True, kw_only=True, tag="runtime_class.changed"
):
    """Labels, annotations or spec of the RuntimeClass are replaced."""


class RuntimeClassDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="runtime_class.deletion_requested"
):
    """Deletion of the RuntimeClass was requested while others referenced it."""


class RuntimeClassDeleted(ObjectDeleted, frozen=True, tag="runtime_class.deleted"):
    """The RuntimeClass is gone; its name is free."""


def runtime_class_violations(spec: RuntimeClassSpec) -> tuple[Violation, ...]:
    """Broken rules of a RuntimeClass."""
    return (
        *amount_violations("/overhead/podFixed", spec.overhead),
        *label_violations("/scheduling/nodeSelector", spec.scheduling.node_selector),
        *toleration_violations("/scheduling/tolerations", spec.scheduling.tolerations),
    )


RUNTIME_CLASS: Kind[RuntimeClassSpec] = Kind(
    name="RuntimeClass",
    plural="RuntimeClasses",
    spec=RuntimeClassSpec,
    created=RuntimeClassCreated,
    changed=RuntimeClassChanged,
    deletion_requested=RuntimeClassDeletionRequested,
    deleted=RuntimeClassDeleted,
    rules=runtime_class_violations,
)


class NamespaceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing but the name and labels of the object itself."""


class NamespaceCreated(
    ObjectCreated[NamespaceSpec], frozen=True, kw_only=True, tag="namespace.created"
):
    """The Namespace exists, as generation 1."""


class NamespaceChanged(
    ObjectChanged[NamespaceSpec], frozen=True, kw_only=True, tag="namespace.changed"
):
    """Labels, annotations or spec of the Namespace are replaced."""


class NamespaceDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="namespace.deletion_requested"
):
    """Deletion of the Namespace was requested while others referenced it."""


class NamespaceDeleted(ObjectDeleted, frozen=True, tag="namespace.deleted"):
    """The Namespace is gone; its name is free."""


NAMESPACE: Kind[NamespaceSpec] = Kind(
    name="Namespace",
    plural="Namespaces",
    short_names=("ns",),
    spec=NamespaceSpec,
    created=NamespaceCreated,
    changed=NamespaceChanged,
    deletion_requested=NamespaceDeletionRequested,
    deleted=NamespaceDeleted,
    broken_rule_of_name=broken_rule_of_dns_label,
    when_in_use="Refuses",
)
