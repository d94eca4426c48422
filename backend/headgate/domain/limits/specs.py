"""The specs of LimitRange and RuntimeClass, as Kubernetes has them (reference queueing.md §3.3)."""

from typing import Literal

import msgspec

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


class RuntimeScheduling(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes have the runtime, and which of their taints its pods tolerate."""

    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClassSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A way to run pods; `overhead` is what each pod takes besides what its containers ask for."""

    handler: str = ""
    overhead: Requests = {}
    scheduling: RuntimeScheduling = RuntimeScheduling()
