"""LimitRanges and RuntimeClasses as they are shown."""

from collections.abc import Mapping
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.limit_range import LimitRangeItem
from headgate.domain.kinds.limit_range import LimitRangeSpec
from headgate.domain.kinds.runtime_class import RuntimeClassSpec
from headgate.domain.kinds.runtime_class import RuntimeScheduling
from headgate.domain.values.quantities import milli_quantity
from headgate.domain.values.quantities import quantity_of
from headgate.domain.values.selectors import toleration_fields
from typing import Any


def limit_range_body(found: Configured[LimitRangeSpec]) -> dict[str, Any]:
    """The spec of a LimitRange."""
    return {"spec": {"limits": [_item(item) for item in found.spec.limits]}}


def runtime_class_body(found: Configured[RuntimeClassSpec]) -> dict[str, Any]:
    """The fields of a RuntimeClass, which stand beside its metadata."""
    overhead = quantities(found.spec.overhead)
    scheduling = _scheduling(found.spec.scheduling)
    return {
        "handler": found.spec.handler,
        **({"overhead": {"podFixed": overhead}} if overhead else {}),
        **({"scheduling": scheduling} if scheduling else {}),
    }


def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts by resource as quantities."""
    return {resource: quantity_of(resource, amount) for resource, amount in amounts.items()}


def _scheduling(scheduling: RuntimeScheduling) -> dict[str, Any]:
    fields = {
        "nodeSelector": scheduling.node_selector,
        "tolerations": [toleration_fields(toleration) for toleration in scheduling.tolerations],
    }
    return {name: value for name, value in fields.items() if value}


def _item(item: LimitRangeItem) -> dict[str, Any]:
    ratios = item.max_limit_request_ratio_milli
    bounds = {
        "max": quantities(item.max),
        "min": quantities(item.min),
        "default": quantities(item.default),
        "defaultRequest": quantities(item.default_request),
        "maxLimitRequestRatio": {name: milli_quantity(ratio) for name, ratio in ratios.items()},
    }
    return {"type": item.type, **{name: found for name, found in bounds.items() if found}}
