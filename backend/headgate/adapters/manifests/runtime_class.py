"""The codec of RuntimeClass: its fields stand beside the metadata, as in Kubernetes."""

from typing import Literal

from headgate.adapters.manifests.codec import OURS, Codec
from headgate.adapters.manifests.fields import Fields, quantities
from headgate.adapters.manifests.metadata import ManifestSchema, ObjectMeta
from headgate.adapters.manifests.records import Record, field, listed, nested
from headgate.adapters.manifests.selectors import TOLERATION_RECORD, TolerationSchema
from headgate.domain.kinds.runtime_class import RUNTIME_CLASS, RuntimeClassSpec, RuntimeScheduling


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
    read=lambda root: (RUNTIME_CLASS_RECORD.read(root), ()),
    render=lambda found, _: RUNTIME_CLASS_RECORD.render(found.spec),
    schema=RuntimeClassObject,
    has_fields_at_root=True,
)
