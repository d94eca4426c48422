"""RuntimeClass: a way to run pods, its overhead and its nodes (queueing.md §3.3)."""

import msgspec

from headgate.domain.field_rules import amount_violations, label_violations, toleration_violations
from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.rejection import Violation
from headgate.domain.values.quantities import Requests
from headgate.domain.values.selectors import Toleration


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
