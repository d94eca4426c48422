"""The codec of AdmissionCheck (queueing.md §1.6)."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import rendered_condition
from headgate.adapters.manifests.schemas import ConditionSchema, ManifestSchema, ObjectMeta
from headgate.domain.kinds.admission_check import (
    ADMISSION_CHECK,
    AdmissionCheckSpec,
    CheckParameters,
)
from headgate.domain.kinds.configured_object import Configured


def read_admission_check(spec: Fields) -> tuple[AdmissionCheckSpec, tuple[str, ...]]:
    """The spec of an AdmissionCheck; whether it is active its controller says."""
    spec.ignore("retryDelayMinutes")
    parameters = spec.child("parameters")
    read = AdmissionCheckSpec(
        controller_name=spec.required_text("controllerName"),
        parameters=_parameters(parameters) if parameters else None,
    )
    return read, ("active",)


def _parameters(fields: Fields) -> CheckParameters:
    read = CheckParameters(
        api_group=fields.text("apiGroup"),
        kind=fields.required_text("kind"),
        name=fields.required_text("name"),
    )
    fields.reject_unknown()
    return read


def admission_check_body(check: Configured[AdmissionCheckSpec]) -> dict[str, Any]:
    """An AdmissionCheck with what its controller last said of itself."""
    spec = check.spec
    rendered: dict[str, Any] = {"controllerName": spec.controller_name}
    if spec.parameters is not None:
        rendered["parameters"] = {
            "apiGroup": spec.parameters.api_group,
            "kind": spec.parameters.kind,
            "name": spec.parameters.name,
        }
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
    return {"spec": rendered, "status": {"conditions": [active]}}


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


class AdmissionCheckObject(ManifestSchema, kw_only=True, frozen=True):
    """An AdmissionCheck."""

    api_version: str
    kind: Literal["AdmissionCheck"]
    metadata: ObjectMeta
    spec: AdmissionCheckSpecSchema
    status: AdmissionCheckStatusSchema | None = None


ADMISSION_CHECK_CODEC = Codec(
    kind=ADMISSION_CHECK,
    versions=(*KUEUE, OURS),
    read=read_admission_check,
    render=lambda check, _: admission_check_body(check),
    schema=AdmissionCheckObject,
)
