"""The codec of RuntimeClass: its fields stand beside the metadata, as in Kubernetes."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import OURS, Codec
from headgate.adapters.manifests.fields import Fields, quantities
from headgate.adapters.manifests.schemas import ManifestSchema, ObjectMeta
from headgate.adapters.manifests.selectors import TolerationSchema, read_tolerations
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.runtime_class import RUNTIME_CLASS, RuntimeClassSpec, RuntimeScheduling
from headgate.domain.values.selectors import toleration_fields


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


def runtime_class_body(found: Configured[RuntimeClassSpec]) -> dict[str, Any]:
    """The fields of a RuntimeClass, which stand beside its metadata."""
    overhead = quantities(found.spec.overhead)
    scheduling = _rendered_scheduling(found.spec.scheduling)
    return {
        "handler": found.spec.handler,
        **({"overhead": {"podFixed": overhead}} if overhead else {}),
        **({"scheduling": scheduling} if scheduling else {}),
    }


def _rendered_scheduling(scheduling: RuntimeScheduling) -> dict[str, Any]:
    fields = {
        "nodeSelector": scheduling.node_selector,
        "tolerations": [toleration_fields(toleration) for toleration in scheduling.tolerations],
    }
    return {name: value for name, value in fields.items() if value}


class RuntimeOverheadSchema(ManifestSchema, kw_only=True, frozen=True):
    """What each pod takes besides what its containers ask for."""

    pod_fixed: dict[str, str] = {}


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
    read=read_runtime_class,
    render=lambda found, _: runtime_class_body(found),
    schema=RuntimeClassObject,
    has_fields_at_root=True,
)
