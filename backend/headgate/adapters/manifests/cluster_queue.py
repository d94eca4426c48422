"""The codec of ClusterQueue: Kueue's fields, defaults spelled out (queueing.md §1.1)."""

from typing import Any, Literal, get_args

from headgate.adapters.manifests.codec import KUEUE, OURS, Codec, Extras
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.queue_preemption import (
    PreemptionSchema,
    read_preemption,
    rendered_preemption,
)
from headgate.adapters.manifests.queue_status import (
    FlavorUsageSchema,
    QueueStatus,
    rendered_conditions_and_counts,
    rendered_stop,
    rendered_usage,
)
from headgate.adapters.manifests.resource_groups import (
    FairSharingSchema,
    FairSharingStatusSchema,
    ResourceGroupSchema,
    read_groups,
    read_weight,
    rendered_groups,
    rendered_share,
    rendered_weight,
)
from headgate.adapters.manifests.schemas import (
    ConditionSchema,
    LabelSelectorSchema,
    ManifestSchema,
    ObjectMeta,
)
from headgate.adapters.manifests.selectors import read_label_selector, rendered_selector
from headgate.adapters.manifests.wait_for_pods_ready import read_wait, rendered_wait
from headgate.domain.kinds.cluster_queue import (
    CLUSTER_QUEUE,
    AdmissionCheckRule,
    ClusterQueueSpec,
    FlavorFungibility,
    FungibilityPolicy,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.queue_preemption import ClusterQueuePreemption
from headgate.domain.kinds.queue_stop import StopPolicy

_ADMISSION_MODES = ("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")
_FUNGIBILITY = get_args(FungibilityPolicy)
_OLD_FUNGIBILITY = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}


def read_cluster_queue(spec: Fields) -> tuple[ClusterQueueSpec, tuple[str, ...]]:
    """The spec of a ClusterQueue, and what a change leaves as it is."""
    selector = spec.child("namespaceSelector")
    fungibility = spec.child("flavorFungibility")
    preemption = spec.child("preemption")
    wait = spec.child("waitForPodsReady")
    scope = spec.child_or_empty("admissionScope")
    if wait:
        wait.reject_unsupported(
            "blockAdmission",
            "Admission is blocked for the whole installation or not at all.",
            "Set it in the Configuration named default.",
        )
    read = ClusterQueueSpec(
        resource_groups=read_groups(spec),
        cohort_name=spec.text("cohortName") or spec.text("cohort"),
        queueing_strategy=spec.choice(
            "queueingStrategy", ("StrictFIFO", "BestEffortFIFO"), "BestEffortFIFO"
        ),
        namespace_selector=read_label_selector(selector) if selector else None,
        flavor_fungibility=_fungibility(fungibility) if fungibility else FlavorFungibility(),
        preemption=read_preemption(preemption) if preemption else ClusterQueuePreemption(),
        admission_checks=_checks(spec),
        stop_policy=spec.choice("stopPolicy", get_args(StopPolicy), "None"),
        fair_weight_milli=read_weight(spec),
        admission_mode=scope.choice("admissionMode", _ADMISSION_MODES, None),
        wait_for_pods_ready=read_wait(wait) if wait else None,
    )
    scope.reject_unknown()
    spec.reject_unsupported(
        "concurrentAdmissionPolicy",
        "Concurrent admission of variants is not served.",
        "Remove it: one variant is chosen by flavorFungibility.",
    )
    return read, () if spec.has("stopPolicy") else ("stop_policy",)


def _fungibility(fields: Fields) -> FlavorFungibility:
    for name in ("whenCanBorrow", "whenCanPreempt"):
        if isinstance(fields.raw(name), str):
            value = fields.values[name]
            fields.values = {**fields.values, name: _OLD_FUNGIBILITY.get(value, value)}
    read = FlavorFungibility(
        when_can_borrow=fields.choice("whenCanBorrow", _FUNGIBILITY, "MayStopSearch"),
        when_can_preempt=fields.choice("whenCanPreempt", _FUNGIBILITY, "TryNextFlavor"),
        preference=fields.choice(
            "preference", ("BorrowingOverPreemption", "PreemptionOverBorrowing"), None
        ),
    )
    fields.reject_unknown()
    return read


def _checks(spec: Fields) -> tuple[AdmissionCheckRule, ...]:
    strategy = spec.child_or_empty("admissionChecksStrategy")
    read = tuple(_check(check) for check in strategy.children("admissionChecks"))
    strategy.reject_unknown()
    if strategy.values and not read and not strategy.problems:
        strategy.note("admissionChecks", "There is at least one check.", "Name one, or none here.")
    listed = spec.texts("admissionChecks")
    return read or tuple(AdmissionCheckRule(name=name) for name in listed)


def _check(fields: Fields) -> AdmissionCheckRule:
    read = AdmissionCheckRule(
        name=fields.required_text("name"), on_flavors=fields.texts("onFlavors")
    )
    fields.reject_unknown()
    return read


def cluster_queue_spec(spec: ClusterQueueSpec) -> dict[str, Any]:
    """The spec of a ClusterQueue."""
    rendered: dict[str, Any] = {"resourceGroups": rendered_groups(spec.resource_groups)}
    if spec.cohort_name:
        rendered["cohortName"] = spec.cohort_name
    rendered["queueingStrategy"] = spec.queueing_strategy
    if spec.namespace_selector is not None:
        rendered["namespaceSelector"] = rendered_selector(spec.namespace_selector)
    rendered["flavorFungibility"] = _rendered_fungibility(spec)
    rendered["preemption"] = rendered_preemption(spec.preemption)
    if spec.admission_checks:
        rendered["admissionChecksStrategy"] = {
            "admissionChecks": [
                {"name": check.name}
                | ({"onFlavors": list(check.on_flavors)} if check.on_flavors else {})
                for check in spec.admission_checks
            ]
        }
    rendered["stopPolicy"] = spec.stop_policy
    rendered |= rendered_weight(spec.fair_weight_milli)
    if spec.admission_mode is not None:
        rendered["admissionScope"] = {"admissionMode": spec.admission_mode}
    if spec.wait_for_pods_ready is not None:
        rendered["waitForPodsReady"] = rendered_wait(spec.wait_for_pods_ready)
    return rendered


def cluster_queue_status(
    queue: Configured[ClusterQueueSpec], status: QueueStatus | None
) -> dict[str, Any]:
    """Conditions, counts, amounts and the stop of a ClusterQueue."""
    rendered = rendered_stop(queue.spec.stop)
    if status is None:
        return rendered
    spec = queue.spec
    return {
        **rendered_conditions_and_counts(queue, status),
        "flavorsReservation": rendered_usage(spec, status.reservation, shows_borrowed=True),
        "flavorsUsage": rendered_usage(spec, status.usage, shows_borrowed=True),
        **rendered_share(status.weighted_share),
        **rendered,
    }


def _rendered_fungibility(spec: ClusterQueueSpec) -> dict[str, Any]:
    fungibility = spec.flavor_fungibility
    preference = {"preference": fungibility.preference} if fungibility.preference else {}
    return {
        "whenCanBorrow": fungibility.when_can_borrow,
        "whenCanPreempt": fungibility.when_can_preempt,
        **preference,
    }


class FlavorFungibilitySchema(ManifestSchema, kw_only=True, frozen=True):
    """Whether to look at the next flavor before borrowing or preempting."""

    when_can_borrow: str | None = None
    when_can_preempt: str | None = None
    preference: str | None = None


class AdmissionCheckRuleSchema(ManifestSchema, kw_only=True, frozen=True):
    """A check that workloads must pass, on some flavors or on all."""

    name: str
    on_flavors: list[str] = []


class AdmissionChecksStrategySchema(ManifestSchema, kw_only=True, frozen=True):
    """The checks of a ClusterQueue."""

    admission_checks: list[AdmissionCheckRuleSchema] = []


class ClusterQueueSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """Quota, order and policies."""

    cohort_name: str | None = None
    resource_groups: list[ResourceGroupSchema] = []
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    namespace_selector: LabelSelectorSchema | None = None
    flavor_fungibility: FlavorFungibilitySchema | None = None
    preemption: PreemptionSchema | None = None
    admission_checks_strategy: AdmissionChecksStrategySchema | None = None
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharingSchema | None = None


class ClusterQueueStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """Counts and usage, derived from the log."""

    conditions: list[ConditionSchema] = []
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: list[FlavorUsageSchema] = []
    flavors_usage: list[FlavorUsageSchema] = []
    fair_sharing: FairSharingStatusSchema | None = None


class ClusterQueueObject(ManifestSchema, kw_only=True, frozen=True):
    """A ClusterQueue."""

    api_version: str
    kind: Literal["ClusterQueue"]
    metadata: ObjectMeta
    spec: ClusterQueueSpecSchema
    status: ClusterQueueStatusSchema | None = None


_OLD_NAMES = (
    ("/spec/cohortName", "cohort"),
    ("/spec/admissionChecksStrategy/admissionChecks", "admissionChecks"),
)


def _render(queue: Configured[ClusterQueueSpec], extras: Extras) -> dict[str, Any]:
    return {
        "spec": cluster_queue_spec(queue.spec),
        "status": cluster_queue_status(queue, extras.queue_status),
    }


CLUSTER_QUEUE_CODEC = Codec(
    kind=CLUSTER_QUEUE,
    versions=(*KUEUE, OURS),
    read=read_cluster_queue,
    render=_render,
    schema=ClusterQueueObject,
    old_names=_OLD_NAMES,
    is_status_derived=True,
)
