"""ClusterQueue, LocalQueue and Cohort manifests (reference queueing.md §1.1-1.3)."""

from typing import get_args

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.preemption import read_preemption, read_shield
from headgate.adapters.manifests.parsing.selectors import read_label_selector
from headgate.adapters.manifests.parsing.wait_for_pods_ready import read_wait
from headgate.domain.kinds.cluster_queue import (
    AdmissionCheckRule,
    ClusterQueueSpec,
    FlavorFungibility,
    FungibilityPolicy,
)
from headgate.domain.kinds.cohort import CohortSpec
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.queue_preemption import ClusterQueuePreemption
from headgate.domain.kinds.queue_stop import StopPolicy
from headgate.domain.kinds.resource_groups import FlavorQuotas, ResourceGroup, ResourceQuota

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


def read_local_queue(spec: Fields) -> tuple[LocalQueueSpec, tuple[str, ...]]:
    """The spec of a LocalQueue, and what a change leaves as it is."""
    read = LocalQueueSpec(
        cluster_queue=spec.required_text("clusterQueue"),
        stop_policy=spec.choice("stopPolicy", get_args(StopPolicy), "None"),
        fair_weight_milli=read_weight(spec),
    )
    return read, () if spec.has("stopPolicy") else ("stop_policy",)


def read_cohort(spec: Fields) -> tuple[CohortSpec, tuple[str, ...]]:
    """The spec of a Cohort."""
    read = CohortSpec(
        parent_name=spec.text("parentName") or spec.text("parent"),
        resource_groups=read_groups(spec),
        fair_weight_milli=read_weight(spec),
        min_runtime=read_shield(spec.child_or_empty("preemption")),
    )
    return read, ()


def read_groups(spec: Fields) -> tuple[ResourceGroup, ...]:
    """The resource groups of a ClusterQueue or Cohort."""
    return tuple(_group(group) for group in spec.children("resourceGroups"))


def read_weight(spec: Fields) -> int:
    """The weight in thousandths; what would vanish when rounded is refused, as in Kueue."""
    fields = spec.child("fairSharing")
    if fields is None:
        return 1000
    weight_milli = fields.milli("weight", 1000)
    if str(fields.raw("weight")) in {"1n", "1e-9", "0.000000001"}:
        fields.note("weight", "A weight is 0 or more than 1n.", "Give 0 or a larger weight.")
    fields.reject_unknown()
    return weight_milli


def _group(fields: Fields) -> ResourceGroup:
    read = ResourceGroup(
        covered_resources=fields.texts("coveredResources"),
        flavors=tuple(_flavor(flavor) for flavor in fields.children("flavors")),
    )
    fields.reject_unknown()
    return read


def _flavor(fields: Fields) -> FlavorQuotas:
    read = FlavorQuotas(
        name=fields.required_text("name"),
        resources=tuple(_quota(quota) for quota in fields.children("resources")),
    )
    fields.reject_unknown()
    return read


def _quota(fields: Fields) -> ResourceQuota:
    name = fields.required_text("name")
    if not fields.has("nominalQuota"):
        fields.note("nominalQuota", "nominalQuota is required.", "Give an amount, or 0.")
    read = ResourceQuota(
        name=name,
        nominal_quota=fields.quota("nominalQuota", name) or 0,
        borrowing_limit=fields.quota("borrowingLimit", name),
        lending_limit=fields.quota("lendingLimit", name),
    )
    fields.reject_unknown()
    return read


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
