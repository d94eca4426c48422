"""The codec of LimitRange, with the defaults that Kubernetes gives it."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import OURS, Codec
from headgate.adapters.manifests.fields import Fields, quantities
from headgate.adapters.manifests.schemas import ManifestSchema, ObjectMeta
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.limit_range import LIMIT_RANGE, LimitRangeItem, LimitRangeSpec
from headgate.domain.values.quantities import milli_quantity


def read_limit_range(spec: Fields) -> tuple[LimitRangeSpec, tuple[str, ...]]:
    """The spec of a LimitRange."""
    return LimitRangeSpec(limits=tuple(_item(item) for item in spec.children("limits"))), ()


def _item(fields: Fields) -> LimitRangeItem:
    """One item; containers have a limit where there is a largest, and a request where a limit."""
    kind = fields.choice("type", ("Container", "Pod", "PersistentVolumeClaim"), "Container")
    most, least = fields.amounts("max"), fields.amounts("min")
    limits, requests = fields.amounts("default"), fields.amounts("defaultRequest")
    if kind == "Container":
        limits = {**most, **limits}
        requests = {**least, **limits, **requests}
    ratios = fields.child("maxLimitRequestRatio")
    read = LimitRangeItem(
        type=kind,
        max=most,
        min=least,
        default=dict(sorted(limits.items())),
        default_request=dict(sorted(requests.items())),
        max_limit_request_ratio_milli={
            resource: ratios.milli(resource, 0) for resource in sorted(ratios.values)
        }
        if ratios
        else {},
    )
    if ratios:
        ratios.reject_unknown()
    fields.reject_unknown()
    return read


def limit_range_body(found: Configured[LimitRangeSpec]) -> dict[str, Any]:
    """The spec of a LimitRange."""
    return {"spec": {"limits": [_rendered_item(item) for item in found.spec.limits]}}


def _rendered_item(item: LimitRangeItem) -> dict[str, Any]:
    ratios = item.max_limit_request_ratio_milli
    bounds = {
        "max": quantities(item.max),
        "min": quantities(item.min),
        "default": quantities(item.default),
        "defaultRequest": quantities(item.default_request),
        "maxLimitRequestRatio": {name: milli_quantity(ratio) for name, ratio in ratios.items()},
    }
    return {"type": item.type, **{name: found for name, found in bounds.items() if found}}


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


class LimitRangeObject(ManifestSchema, kw_only=True, frozen=True):
    """A LimitRange; it holds for workloads submitted after it."""

    api_version: str
    kind: Literal["LimitRange"]
    metadata: ObjectMeta
    spec: LimitRangeSpecSchema


LIMIT_RANGE_CODEC = Codec(
    kind=LIMIT_RANGE,
    versions=("v1", OURS),
    read=read_limit_range,
    render=lambda found, _: limit_range_body(found),
    schema=LimitRangeObject,
)
