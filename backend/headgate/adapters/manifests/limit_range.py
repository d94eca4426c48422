"""The codec of LimitRange, with the defaults that Kubernetes gives it."""

from typing import Any, Literal

import msgspec

from headgate.adapters.manifests.codec import OURS, Codec, Extras, ReadSpec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import ManifestSchema, object_schema
from headgate.adapters.manifests.records import Record, field, milli_map
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.limit_range import LIMIT_RANGE, LimitRangeItem, LimitRangeSpec

_ITEM_RECORD = Record(
    LimitRangeItem,
    field("type"),
    field("max", omits_usual=True),
    field("min", omits_usual=True),
    field("default", omits_usual=True),
    field("defaultRequest", omits_usual=True),
    milli_map("maxLimitRequestRatio", "max_limit_request_ratio_milli", missing=0, omits_usual=True),
)


def _read(spec: Fields) -> ReadSpec:
    return LimitRangeSpec(limits=tuple(_item(item) for item in spec.children("limits"))), ()


def _item(fields: Fields) -> LimitRangeItem:
    """One item; containers have a limit where there is a largest, and a request where a limit."""
    read = _ITEM_RECORD.read_nested(fields)
    if read.type != "Container":
        return read
    limits = {**read.max, **read.default}
    requests = {**read.min, **limits, **read.default_request}
    return msgspec.structs.replace(
        read, default=dict(sorted(limits.items())), default_request=dict(sorted(requests.items()))
    )


def _render(found: Configured[LimitRangeSpec], _: Extras) -> dict[str, Any]:
    return {"spec": {"limits": [_ITEM_RECORD.render(item) for item in found.spec.limits]}}


class LimitRangeItemSchema(ManifestSchema, kw_only=True, frozen=True):
    """Bounds of every container or pod; the defaults count for containers."""

    type: Literal["Container", "Pod", "PersistentVolumeClaim"]
    max: dict[str, str] = {}
    min: dict[str, str] = {}
    default: dict[str, str] = {}
    default_request: dict[str, str] = {}
    max_limit_request_ratio: dict[str, str] = {}


class LimitRangeSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """What is bounded."""

    limits: list[LimitRangeItemSchema] = []


LimitRangeObject = object_schema(
    "LimitRange", "A LimitRange; it holds for workloads submitted after it.", LimitRangeSpecSchema
)


LIMIT_RANGE_CODEC = Codec(
    kind=LIMIT_RANGE,
    versions=("v1", OURS),
    read=_read,
    render=_render,
    schema=LimitRangeObject,
)
