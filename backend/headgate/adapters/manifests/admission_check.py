"""The codecs of AdmissionCheck and of what a check's controller reads (queueing.md §1.6)."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec, Extras, ReadSpec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import (
    ConditionSchema,
    ManifestSchema,
    object_schema,
    rendered_condition,
)
from headgate.adapters.manifests.records import Record, field, listed, nested, read_required_text
from headgate.domain.kinds.admission_check import (
    ADMISSION_CHECK,
    PROVISIONING_REQUEST_CONFIG,
    AdmissionCheckSpec,
    CheckParameters,
    NodeSelectorUpdate,
    PodSetUpdates,
    ProvisioningRequestConfigSpec,
    ProvisioningRetryStrategy,
)
from headgate.domain.kinds.configured_object import Configured

ADMISSION_CHECK_RECORD = Record(
    AdmissionCheckSpec,
    field("controllerName"),
    nested(
        "parameters",
        Record(
            CheckParameters,
            field("apiGroup"),
            field("kind", read=read_required_text),
            field("name", read=read_required_text),
        ),
    ),
    without_effect=("retryDelayMinutes",),
)
"""The spec of an AdmissionCheck; whether it is active its controller says."""


def admission_check_body(check: Configured[AdmissionCheckSpec]) -> dict[str, Any]:
    """An AdmissionCheck with what its controller last said of itself."""
    spec = check.spec
    active = rendered_condition(
        "Active",
        status=spec.active,
        reason="Active" if spec.active else "Inactive",
        message="The admission check is active"
        if spec.active
        else "Its controller does not serve it",
        at=check.created_at,
        generation=check.generation,
    )
    return {"spec": ADMISSION_CHECK_RECORD.render(spec), "status": {"conditions": [active]}}


class CheckParametersSchema(ManifestSchema, kw_only=True, frozen=True):
    """What the controller reads its settings from."""

    api_group: str
    kind: str
    name: str


class AdmissionCheckSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """Which controller reports on the check."""

    controller_name: str
    parameters: CheckParametersSchema | None = None


class AdmissionCheckStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """Whether its controller serves it."""

    conditions: list[ConditionSchema] = []


AdmissionCheckObject = object_schema(
    "AdmissionCheck", "An AdmissionCheck.", AdmissionCheckSpecSchema, AdmissionCheckStatusSchema
)


ADMISSION_CHECK_CODEC = Codec(
    kind=ADMISSION_CHECK,
    versions=(*KUEUE, OURS),
    read=lambda spec: (ADMISSION_CHECK_RECORD.read(spec), ("active",)),
    render=lambda check, _: admission_check_body(check),
    schema=AdmissionCheckObject,
)


_PROVISIONING_RECORD = Record(
    ProvisioningRequestConfigSpec,
    field("provisioningClassName"),
    field("parameters", omits_usual=True),
    field("managedResources", omits_usual=True),
    nested(
        "retryStrategy",
        Record(
            ProvisioningRetryStrategy,
            field("backoffLimitCount"),
            field("backoffBaseSeconds"),
            field("backoffMaxSeconds"),
        ),
    ),
    field("podSetMergePolicy", omits_usual=True),
    nested(
        "podSetUpdates",
        Record(
            PodSetUpdates,
            listed(
                "nodeSelector",
                Record(
                    NodeSelectorUpdate,
                    field("key"),
                    field("valueFromProvisioningClassDetail"),
                ),
            ),
        ),
        omits_usual=True,
    ),
)


def _read_provisioning(spec: Fields) -> ReadSpec:
    """The settings, which are kept for the controller of the checks that name them."""
    spec.warn("", "SettingsOfController", kind=PROVISIONING_REQUEST_CONFIG.name)
    return _PROVISIONING_RECORD.read(spec), ()


def _render_provisioning(
    found: Configured[ProvisioningRequestConfigSpec], _: Extras
) -> dict[str, Any]:
    return {"spec": _PROVISIONING_RECORD.render(found.spec)}


class ProvisioningRetryStrategySchema(ManifestSchema, kw_only=True, frozen=True):
    """How often and when a refused request is made again."""

    backoff_limit_count: int = 3
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 1800


class NodeSelectorUpdateSchema(ManifestSchema, kw_only=True, frozen=True):
    """A label that pods get with the value of a detail of their provisioning."""

    key: str
    value_from_provisioning_class_detail: str


class PodSetUpdatesSchema(ManifestSchema, kw_only=True, frozen=True):
    """What pods get once their capacity is provisioned."""

    node_selector: list[NodeSelectorUpdateSchema] = []


class ProvisioningRequestConfigSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """What a controller of checks asks its cluster autoscaler for."""

    provisioning_class_name: str
    parameters: dict[str, str] = {}
    managed_resources: list[str] = []
    retry_strategy: ProvisioningRetryStrategySchema | None = None
    pod_set_merge_policy: (
        Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"] | None
    ) = None
    pod_set_updates: PodSetUpdatesSchema | None = None


PROVISIONING_REQUEST_CONFIG_CODEC = Codec(
    kind=PROVISIONING_REQUEST_CONFIG,
    versions=(*KUEUE, OURS),
    read=_read_provisioning,
    render=_render_provisioning,
    schema=object_schema(
        "ProvisioningRequestConfig",
        "Settings of the controller of an AdmissionCheck.",
        ProvisioningRequestConfigSpecSchema,
    ),
)
