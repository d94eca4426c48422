"""LimitRanges and RuntimeClasses as they are written."""

from typing import Literal

from headgate.api.objects.place_shapes import Toleration
from headgate.api.schemas import ListMeta, ObjectMeta, Schema


class LimitRangeItem(Schema, kw_only=True, frozen=True):
    """Bounds of every container or pod; the defaults count for containers."""

    type: Literal["Container", "Pod", "PersistentVolumeClaim"]
    max: dict[str, str] = {}
    min: dict[str, str] = {}
    default: dict[str, str] = {}
    default_request: dict[str, str] = {}
    max_limit_request_ratio: dict[str, str] = {}


class LimitRangeSpec(Schema, kw_only=True, frozen=True):
    """What is bounded."""

    limits: list[LimitRangeItem] = []


class LimitRangeObject(Schema, kw_only=True, frozen=True):
    """A LimitRange; it holds for workloads submitted after it."""

    api_version: str
    kind: Literal["LimitRange"]
    metadata: ObjectMeta
    spec: LimitRangeSpec


class LimitRangeList(Schema, kw_only=True, frozen=True):
    """One page of LimitRanges."""

    api_version: str
    kind: Literal["LimitRangeList"]
    metadata: ListMeta
    items: list[LimitRangeObject]


class RuntimeOverhead(Schema, kw_only=True, frozen=True):
    """What each pod takes besides what its containers ask for."""

    pod_fixed: dict[str, str] = {}


class RuntimeScheduling(Schema, kw_only=True, frozen=True):
    """Which nodes have the runtime; pods get it merged when they are submitted."""

    node_selector: dict[str, str] = {}
    tolerations: list[Toleration] = []


class RuntimeClassObject(Schema, kw_only=True, frozen=True):
    """A RuntimeClass; its fields stand beside the metadata, as in Kubernetes."""

    api_version: str
    kind: Literal["RuntimeClass"]
    metadata: ObjectMeta
    handler: str
    overhead: RuntimeOverhead | None = None
    scheduling: RuntimeScheduling | None = None


class RuntimeClassList(Schema, kw_only=True, frozen=True):
    """One page of RuntimeClasses."""

    api_version: str
    kind: Literal["RuntimeClassList"]
    metadata: ListMeta
    items: list[RuntimeClassObject]
