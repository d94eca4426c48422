"""AdmissionCheck: something outside that must agree before a workload is admitted.

And ProvisioningRequestConfig: settings of the controller that provisions capacity for a check.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from headgate.domain.field_rules import (
    count_violations,
    duplicate_violations,
    length_violations,
    name_violations,
    range_violations,
)
from headgate.domain.kinds.configured_object import (
    Absent,
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    ObjectEvent,
    evolve_object,
    with_status,
)
from headgate.domain.kinds.object_commands import (
    Change,
    Kind,
    ObjectState,
    decide_object,
    existing_object,
)
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.instants import Instant


class CheckParameters(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller reads its settings from."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which controller reports on it; `active` is what that controller last said of itself."""

    controller_name: str
    parameters: CheckParameters | None = None
    active: bool = True


class AdmissionCheckCreated(
    ObjectCreated[AdmissionCheckSpec], frozen=True, kw_only=True, tag="admission_check.created"
):
    """The AdmissionCheck exists, as generation 1."""


class AdmissionCheckChanged(
    ObjectChanged[AdmissionCheckSpec], frozen=True, kw_only=True, tag="admission_check.changed"
):
    """Labels, annotations or spec of the AdmissionCheck are replaced."""


class AdmissionCheckDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="admission_check.deletion_requested"
):
    """Deletion of the AdmissionCheck was requested while others referenced it."""


class AdmissionCheckDeleted(ObjectDeleted, frozen=True, tag="admission_check.deleted"):
    """The AdmissionCheck is gone; its name is free."""


class AdmissionCheckReported(
    ObjectEvent, frozen=True, kw_only=True, tag="admission_check.reported"
):
    """Its controller says that it serves the check, or no longer does."""

    active: bool


MAX_CONTROLLER_NAME_LENGTH = 253
_CONTROLLER = "/spec/controllerName"


def check_violations(spec: AdmissionCheckSpec) -> tuple[Violation, ...]:
    """Returns broken rules of an AdmissionCheck."""
    name = spec.controller_name
    return tuple(length_violations(_CONTROLLER, name, MAX_CONTROLLER_NAME_LENGTH, minimum=1))


def check_change_violations(
    before: AdmissionCheckSpec, after: AdmissionCheckSpec
) -> tuple[Violation, ...]:
    """Returns the violation by a change of the controller."""
    if before.controller_name == after.controller_name:
        return ()
    return (violation(_CONTROLLER, "FieldImmutable", value=before.controller_name),)


class ReportCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The controller of a check says that it serves it, or no longer does."""

    active: bool


def _decide(
    state: ObjectState[AdmissionCheckSpec],
    command: object,
    at: Instant,  # noqa: ARG001
) -> tuple[ObjectEvent, ...]:
    """Reports change `active`; a change by a user never does."""
    match command:
        case ReportCheck(active=active):
            is_known = existing_object("AdmissionCheck", state).spec.active == active
            return () if is_known else (AdmissionCheckReported(active=active),)
        case Change():
            active = existing_object("AdmissionCheck", state).spec.active
            served = replace(command, spec=replace(command.spec, active=active))
            return decide_object(ADMISSION_CHECK, state, served)
        case _:
            return decide_object(ADMISSION_CHECK, state, command)


def _evolve(
    state: ObjectState[AdmissionCheckSpec], event: ObjectEvent, at: Instant
) -> ObjectState[AdmissionCheckSpec]:
    if isinstance(event, AdmissionCheckReported) and not isinstance(state, Absent):
        return with_status(state, replace(state.spec, active=event.active))
    return evolve_object(state, event, at)


ADMISSION_CHECK: Kind[AdmissionCheckSpec] = Kind(
    name="AdmissionCheck",
    plural="AdmissionChecks",
    short_names=("ac",),
    spec=AdmissionCheckSpec,
    created=AdmissionCheckCreated,
    changed=AdmissionCheckChanged,
    deletion_requested=AdmissionCheckDeletionRequested,
    deleted=AdmissionCheckDeleted,
    rules=check_violations,
    rules_of_change=check_change_violations,
    when_in_use="Waits",
    status_events=(AdmissionCheckReported,),
    own_decide=_decide,
    own_evolve=_evolve,
)


MergePolicy = Literal["", "IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"]
MAX_PROVISIONING_ENTRIES = 100
MAX_PARAMETER_LENGTH = 255
MAX_NODE_SELECTOR_UPDATES = 8


class ProvisioningRetryStrategy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and when a refused request is made again."""

    backoff_limit_count: int = 3
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 1800


class NodeSelectorUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A label that pods get with the value of a detail of their provisioning."""

    key: str
    value_from_provisioning_class_detail: str


class PodSetUpdates(msgspec.Struct, frozen=True, kw_only=True):
    """What pods get once their capacity is provisioned."""

    node_selector: tuple[NodeSelectorUpdate, ...] = ()


class ProvisioningRequestConfigSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller of a check asks its cluster autoscaler for."""

    provisioning_class_name: str
    parameters: dict[str, str] = {}
    managed_resources: tuple[str, ...] = ()
    retry_strategy: ProvisioningRetryStrategy = ProvisioningRetryStrategy()
    pod_set_merge_policy: MergePolicy = ""
    pod_set_updates: PodSetUpdates = PodSetUpdates()


class ProvisioningRequestConfigCreated(
    ObjectCreated[ProvisioningRequestConfigSpec],
    frozen=True,
    kw_only=True,
    tag="provisioning_request_config.created",
):
    """The ProvisioningRequestConfig exists, as generation 1."""


class ProvisioningRequestConfigChanged(
    ObjectChanged[ProvisioningRequestConfigSpec],
    frozen=True,
    kw_only=True,
    tag="provisioning_request_config.changed",
):
    """Labels, annotations or spec of the ProvisioningRequestConfig are replaced."""


class ProvisioningRequestConfigDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="provisioning_request_config.deletion_requested"
):
    """Deletion of the ProvisioningRequestConfig was requested while others referenced it."""


class ProvisioningRequestConfigDeleted(
    ObjectDeleted, frozen=True, tag="provisioning_request_config.deleted"
):
    """The ProvisioningRequestConfig is gone; its name is free."""


def provisioning_violations(spec: ProvisioningRequestConfigSpec) -> tuple[Violation, ...]:
    """Broken rules of a ProvisioningRequestConfig (Kueue: its schema and webhook)."""
    return tuple(_provisioning_violations(spec))


def _provisioning_violations(spec: ProvisioningRequestConfigSpec) -> Iterator[Violation]:
    yield from name_violations("/spec/provisioningClassName", spec.provisioning_class_name)
    maximum = MAX_PROVISIONING_ENTRIES
    yield from count_violations("/spec/parameters", len(spec.parameters), maximum)
    for key, value in spec.parameters.items():
        at = child("/spec/parameters", key)
        yield from length_violations(at, value, MAX_PARAMETER_LENGTH)
    managed = [
        (child("/spec/managedResources", index), resource)
        for index, resource in enumerate(spec.managed_resources)
    ]
    yield from count_violations("/spec/managedResources", len(managed), maximum)
    yield from duplicate_violations(managed)
    retry, at = spec.retry_strategy, "/spec/retryStrategy"
    yield from range_violations(f"{at}/backoffLimitCount", retry.backoff_limit_count, 0)
    yield from range_violations(f"{at}/backoffBaseSeconds", retry.backoff_base_seconds, 0)
    yield from range_violations(f"{at}/backoffMaxSeconds", retry.backoff_max_seconds, 0)
    at, updates = "/spec/podSetUpdates/nodeSelector", spec.pod_set_updates.node_selector
    yield from count_violations(at, len(updates), MAX_NODE_SELECTOR_UPDATES)
    keys = [(child(child(at, number), "key"), each.key) for number, each in enumerate(updates)]
    yield from duplicate_violations(keys)


PROVISIONING_REQUEST_CONFIG: Kind[ProvisioningRequestConfigSpec] = Kind(
    name="ProvisioningRequestConfig",
    plural="ProvisioningRequestConfigs",
    spec=ProvisioningRequestConfigSpec,
    created=ProvisioningRequestConfigCreated,
    changed=ProvisioningRequestConfigChanged,
    deletion_requested=ProvisioningRequestConfigDeletionRequested,
    deleted=ProvisioningRequestConfigDeleted,
    rules=provisioning_violations,
)
