"""The codec of AdmissionCheck (queueing.md §1.6)."""

from typing import Any

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec
from headgate.adapters.manifests.metadata import (
    ConditionSchema,
    ManifestSchema,
    object_schema,
    rendered_condition,
)
from headgate.adapters.manifests.records import Record, field, nested, read_required_text
from headgate.domain.kinds.admission_check import (
    ADMISSION_CHECK,
    AdmissionCheckSpec,
    CheckParameters,
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
