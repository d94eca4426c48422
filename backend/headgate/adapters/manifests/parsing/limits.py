"""Manifests of LimitRanges and RuntimeClasses, with the defaults that Kubernetes gives them."""

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.selectors import read_tolerations
from headgate.domain.kinds.limit_range import LimitRangeItem, LimitRangeSpec
from headgate.domain.kinds.runtime_class import RuntimeClassSpec, RuntimeScheduling


def read_limit_range(spec: Fields) -> tuple[LimitRangeSpec, tuple[str, ...]]:
    """The spec of a LimitRange."""
    return LimitRangeSpec(limits=tuple(_item(item) for item in spec.children("limits"))), ()


def read_runtime_class(root: Fields) -> tuple[RuntimeClassSpec, tuple[str, ...]]:
    """A RuntimeClass: its fields stand beside the metadata."""
    scheduling = root.child("scheduling")
    overhead = root.child("overhead")
    amounts = overhead.amounts("podFixed") if overhead else {}
    if overhead:
        overhead.reject_unknown()
    read = RuntimeClassSpec(
        handler=root.text("handler"),
        overhead=amounts,
        scheduling=_scheduling(scheduling) if scheduling else RuntimeScheduling(),
    )
    return read, ()


def _scheduling(fields: Fields) -> RuntimeScheduling:
    read = RuntimeScheduling(
        node_selector=fields.text_map("nodeSelector"),
        tolerations=read_tolerations(fields, "tolerations"),
    )
    fields.reject_unknown()
    return read


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
