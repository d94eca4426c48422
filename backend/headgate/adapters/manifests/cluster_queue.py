"""The codecs of ClusterQueue and of Cohort (queueing.md §1.1 and §1.3)."""

from typing import Any, Literal, get_args

from headgate.adapters.manifests.codec import KUEUE, KUEUE_ALPHA, OURS, Codec, Extras, ReadSpec
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import (
    ConditionSchema,
    LabelSelectorSchema,
    ManifestSchema,
    object_schema,
)
from headgate.adapters.manifests.queue_settings import (
    GROUP_RECORD,
    MINIMUM_RUNTIME_RECORD,
    PREEMPTION_RECORD,
    WAIT_RECORD,
    WEIGHT_FIELD,
    CohortPreemptionSchema,
    FairSharingSchema,
    FairSharingStatusSchema,
    PreemptionSchema,
    ResourceGroupSchema,
    rendered_share,
)
from headgate.adapters.manifests.queue_status import (
    FlavorUsageSchema,
    QueueStatus,
    rendered_conditions_and_counts,
    rendered_stop,
    rendered_usage,
)
from headgate.adapters.manifests.records import Record, field, listed, nested
from headgate.adapters.manifests.selectors import LABEL_SELECTOR_RECORD
from headgate.domain.kinds.cluster_queue import (
    CLUSTER_QUEUE,
    COHORT,
    AdmissionCheckRule,
    ClusterQueueSpec,
    CohortSpec,
    FlavorFungibility,
    FungibilityPolicy,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.queue_settings import MinimumRuntime
from headgate.domain.kinds.queue_stop import StopPolicy
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady

CONCURRENT_ADMISSION = "concurrentAdmissionPolicy"
MIGRATION_MODES = ("TryPreferredFlavors", "RetainFirstAdmission")
_ADMISSION_MODES = ("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")
_OLD_FUNGIBILITY = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}


def _read_fungibility(fields: Fields, name: str, usual: object) -> Any:
    value = fields.raw(name)
    if isinstance(value, str):
        fields.values = {**fields.values, name: _OLD_FUNGIBILITY.get(value, value)}
    return fields.choice(name, get_args(FungibilityPolicy), usual)


_CHECK_RECORD = Record(AdmissionCheckRule, field("name"), field("onFlavors", omits_usual=True))


def _read_checks(spec: Fields, name: str, _: object) -> tuple[AdmissionCheckRule, ...]:
    strategy = spec.child_or_empty(name)
    read = tuple(_CHECK_RECORD.read_nested(check) for check in strategy.children("admissionChecks"))
    strategy.reject_unknown()
    if strategy.values and not read and not strategy.problems:
        strategy.note("admissionChecks", "TooFew", field="admissionChecks", minimum=1)
    listed = spec.texts("admissionChecks")
    return read or tuple(AdmissionCheckRule(name=name) for name in listed)


def _rendered_checks(checks: tuple[AdmissionCheckRule, ...]) -> dict[str, Any]:
    return {"admissionChecks": [_CHECK_RECORD.render(check) for check in checks]}


def _read_mode(spec: Fields, name: str, _: object) -> Any:
    scope = spec.child_or_empty(name)
    mode = scope.choice("admissionMode", _ADMISSION_MODES, None)
    scope.reject_unknown()
    return mode


def _read_wait(spec: Fields, name: str, _: object) -> WaitForPodsReady | None:
    wait = spec.child(name)
    if wait is None:
        return None
    wait.reject_unsupported("blockAdmission", "BlockAdmissionOfQueue")
    return WAIT_RECORD.read_nested(wait)


def _read_cohort_name(spec: Fields, name: str, _: object) -> str:
    return spec.text(name) or spec.text("cohort")


CLUSTER_QUEUE_RECORD = Record(
    ClusterQueueSpec,
    listed("resourceGroups", GROUP_RECORD),
    field("cohortName", read=_read_cohort_name, omits_usual=True),
    field("queueingStrategy"),
    nested("namespaceSelector", LABEL_SELECTOR_RECORD),
    nested(
        "flavorFungibility",
        Record(
            FlavorFungibility,
            field("whenCanBorrow", read=_read_fungibility),
            field("whenCanPreempt", read=_read_fungibility),
            field("preference"),
        ),
    ),
    nested("preemption", PREEMPTION_RECORD),
    field(
        "admissionChecksStrategy",
        "admission_checks",
        read=_read_checks,
        render=_rendered_checks,
        omits_usual=True,
    ),
    field("stopPolicy"),
    WEIGHT_FIELD,
    field(
        "admissionScope",
        "admission_mode",
        read=_read_mode,
        render=lambda mode: {"admissionMode": mode},
        omits_usual=True,
    ),
    field("waitForPodsReady", read=_read_wait, render=WAIT_RECORD.render, omits_usual=True),
)


def _pass_over_concurrent_admission(spec: Fields) -> None:
    """The policy has no effect, as in Kueue with the gate ConcurrentAdmission off, its default."""
    policy = spec.child(CONCURRENT_ADMISSION)
    if policy is None:
        return
    migration = policy.child_or_empty("migration")
    migration.choice("mode", MIGRATION_MODES, None)
    constraints = migration.child_or_empty("constraints")
    constraints.text("lastAcceptableFlavorName")
    for fields in (constraints, migration, policy):
        fields.reject_unknown()
    spec.warn(CONCURRENT_ADMISSION, "ConcurrentAdmissionOff")


def _read(spec: Fields) -> ReadSpec:
    """The spec of a ClusterQueue, and what a change leaves as it is."""
    _pass_over_concurrent_admission(spec)
    return CLUSTER_QUEUE_RECORD.read(spec), () if spec.has("stopPolicy") else ("stop_policy",)


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


ClusterQueueObject = object_schema(
    "ClusterQueue", "A ClusterQueue.", ClusterQueueSpecSchema, ClusterQueueStatusSchema
)


_OLD_NAMES = (
    ("/spec/cohortName", "cohort"),
    ("/spec/admissionChecksStrategy/admissionChecks", "admissionChecks"),
)


def _render(queue: Configured[ClusterQueueSpec], extras: Extras) -> dict[str, Any]:
    return {
        "spec": CLUSTER_QUEUE_RECORD.render(queue.spec),
        "status": cluster_queue_status(queue, extras.queue_status),
    }


CLUSTER_QUEUE_CODEC = Codec(
    kind=CLUSTER_QUEUE,
    versions=(*KUEUE, OURS),
    read=_read,
    render=_render,
    schema=ClusterQueueObject,
    old_names=_OLD_NAMES,
    is_status_derived=True,
)


def _read_parent(spec: Fields, name: str, _: object) -> str:
    return spec.text(name) or spec.text("parent")


def _read_preemption(spec: Fields, name: str, _: object) -> MinimumRuntime:
    fields = spec.child_or_empty(name)
    read = MINIMUM_RUNTIME_RECORD.read_nested(fields.child_or_empty("minRuntime"))
    fields.reject_unknown()
    return read


COHORT_RECORD = Record(
    CohortSpec,
    field("parentName", read=_read_parent, omits_usual=True),
    listed("resourceGroups", GROUP_RECORD, omits_usual=True),
    field(
        "preemption",
        "min_runtime",
        read=_read_preemption,
        render=lambda runtime: {"minRuntime": MINIMUM_RUNTIME_RECORD.render(runtime)},
        omits_usual=True,
    ),
    WEIGHT_FIELD,
)


class CohortSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """A group of ClusterQueues that lend to each other."""

    parent_name: str | None = None
    resource_groups: list[ResourceGroupSchema] = []
    fair_sharing: FairSharingSchema | None = None
    preemption: CohortPreemptionSchema | None = None


class CohortStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """Derived from the log."""

    fair_sharing: FairSharingStatusSchema | None = None


CohortObject = object_schema("Cohort", "A Cohort.", CohortSpecSchema, CohortStatusSchema)


def _render_cohort(cohort: Configured[CohortSpec], extras: Extras) -> dict[str, Any]:
    status = rendered_share(extras.weighted_share)
    return {"spec": COHORT_RECORD.render(cohort.spec), **({"status": status} if status else {})}


COHORT_CODEC = Codec(
    kind=COHORT,
    versions=(*KUEUE, KUEUE_ALPHA, OURS),
    read=lambda spec: (COHORT_RECORD.read(spec), ()),
    render=_render_cohort,
    schema=CohortObject,
    old_names=(("/spec/parentName", "parent"),),
)
