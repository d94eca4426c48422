"""The codecs of the kinds that Kubernetes defines: LimitRange, RuntimeClass and Namespace.

LimitRanges get the defaults that Kubernetes gives them; the fields of a RuntimeClass stand beside
its metadata.
"""

from typing import Any, Literal

import msgspec

from headgate.adapters.manifests.codec import OURS, Codec, Extras, ReadSpec
from headgate.adapters.manifests.fields import Fields, quantities
from headgate.adapters.manifests.metadata import ManifestSchema, ObjectMeta, Quantity, object_schema
from headgate.adapters.manifests.records import Record, field, listed, milli_map, nested
from headgate.adapters.manifests.selectors import TOLERATION_RECORD, TolerationSchema
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.kubernetes_kinds import (
    LIMIT_RANGE,
    NAMESPACE,
    RUNTIME_CLASS,
    LimitRangeItem,
    LimitRangeSpec,
    NamespaceSpec,
    RuntimeClassSpec,
    RuntimeScheduling,
)

_ITEM_RECORD = Record(
    LimitRangeItem,
    field("type"),
    field("max", omits_usual=True),
    field("min", omits_usual=True),
    field("default", omits_usual=True),
    field("defaultRequest", omits_usual=True),
    milli_map("maxLimitRequestRatio", "max_limit_request_ratio_milli", missing=0, omits_usual=True),
)


def _read_limit_range(spec: Fields) -> ReadSpec:
    return LimitRangeSpec(limits=tuple(_read_item(item) for item in spec.children("limits"))), ()


def _read_item(fields: Fields) -> LimitRangeItem:
    """One item; containers have a limit where there is a largest, and a request where a limit."""
    read = _ITEM_RECORD.read_nested(fields)
    if read.type != "Container":
        return read
    limits = {**read.max, **read.default}
    requests = {**read.min, **limits, **read.default_request}
    return msgspec.structs.replace(
        read, default=dict(sorted(limits.items())), default_request=dict(sorted(requests.items()))
    )


def _render_limit_range(found: Configured[LimitRangeSpec], _: Extras) -> dict[str, Any]:
    return {"spec": {"limits": [_ITEM_RECORD.render(item) for item in found.spec.limits]}}


class LimitRangeItemSchema(ManifestSchema, kw_only=True, frozen=True):
    """Bounds of every container or pod; the defaults count for containers."""

    type: Literal["Container", "Pod", "PersistentVolumeClaim"]
    max: dict[str, Quantity] = {}
    min: dict[str, Quantity] = {}
    default: dict[str, Quantity] = {}
    default_request: dict[str, Quantity] = {}
    max_limit_request_ratio: dict[str, Quantity] = {}


class LimitRangeSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """What is bounded."""

    limits: list[LimitRangeItemSchema] = []


LimitRangeObject = object_schema(
    "LimitRange", "A LimitRange; it holds for workloads submitted after it.", LimitRangeSpecSchema
)


LIMIT_RANGE_CODEC = Codec(
    kind=LIMIT_RANGE,
    versions=("v1", OURS),
    read=_read_limit_range,
    render=_render_limit_range,
    schema=LimitRangeObject,
)


def _read_overhead(root: Fields, name: str, _: object) -> dict[str, int]:
    overhead = root.child_or_empty(name)
    amounts = overhead.amounts("podFixed")
    overhead.reject_unknown()
    return amounts


RUNTIME_CLASS_RECORD = Record(
    RuntimeClassSpec,
    field("handler"),
    field(
        "overhead",
        read=_read_overhead,
        render=lambda amounts: {"podFixed": quantities(amounts)},
        omits_usual=True,
    ),
    nested(
        "scheduling",
        Record(
            RuntimeScheduling,
            field("nodeSelector", omits_usual=True),
            listed("tolerations", TOLERATION_RECORD, omits_usual=True),
        ),
        omits_usual=True,
    ),
)


class RuntimeOverheadSchema(ManifestSchema, kw_only=True, frozen=True):
    """What each pod takes besides what its containers ask for."""

    pod_fixed: dict[str, Quantity] = {}


class RuntimeSchedulingSchema(ManifestSchema, kw_only=True, frozen=True):
    """Which nodes have the runtime; pods get it merged when they are submitted."""

    node_selector: dict[str, str] = {}
    tolerations: list[TolerationSchema] = []


class RuntimeClassObject(ManifestSchema, kw_only=True, frozen=True):
    """A RuntimeClass; its fields stand beside the metadata, as in Kubernetes."""

    api_version: str
    kind: Literal["RuntimeClass"]
    metadata: ObjectMeta
    handler: str
    overhead: RuntimeOverheadSchema | None = None
    scheduling: RuntimeSchedulingSchema | None = None


RUNTIME_CLASS_CODEC = Codec(
    kind=RUNTIME_CLASS,
    versions=("node.k8s.io/v1", OURS),
    read=lambda root: (RUNTIME_CLASS_RECORD.read(root), ()),
    render=lambda found, _: RUNTIME_CLASS_RECORD.render(found.spec),
    schema=RuntimeClassObject,
    has_fields_at_root=True,
)


def _read_namespace(spec: Fields) -> tuple[NamespaceSpec, tuple[str, ...]]:
    """The spec of a Namespace: only Kubernetes' own finalizers may stand there."""
    spec.ignore("finalizers")
    return NamespaceSpec(), ()


def _namespace_body(namespace: Configured[NamespaceSpec]) -> dict[str, Any]:
    """A Namespace."""
    phase = "Active" if namespace.terminating_at is None else "Terminating"
    return {"spec": {}, "status": {"phase": phase}}


NamespaceObject = object_schema("Namespace", "A Namespace.")


NAMESPACE_CODEC = Codec(
    kind=NAMESPACE,
    versions=("v1", OURS),
    read=_read_namespace,
    render=lambda namespace, _: _namespace_body(namespace),
    schema=NamespaceObject,
)
