"""Every test of Kueue's that we have the step of, and what answers its cases."""

from tests.conformance.cases import PLACEMENTS
from tests.conformance.families import (
    consumption,
    cycles,
    failed_nodes,
    flavors,
    host_usage,
    job_pod_sets,
    lifecycle,
    placement_steps,
    preemptions,
    priorities,
    queues,
    quota_tree,
    reconcile,
    replacements,
    requeue_reasons,
    requeueing,
    validation,
    visibility,
)
from tests.conformance.families.family import Family

_BY_FOLDER: tuple[tuple[str, dict[str, Family]], ...] = (
    ("pkg/cache/queue", queues.FAMILIES),
    ("pkg/cache/queue", requeue_reasons.FAMILIES),
    ("pkg/scheduler", requeue_reasons.CYCLE_FAMILIES),
    ("pkg/cache/scheduler", placement_steps.FAMILIES),
    ("pkg/cache/scheduler", replacements.FAMILIES),
    ("pkg/cache/scheduler", quota_tree.FAMILIES),
    ("pkg/cache/scheduler", host_usage.FAMILIES),
    ("pkg/controller/jobs/job", job_pod_sets.FAMILIES),
    ("pkg/controller/core", reconcile.FAMILIES),
    ("pkg/controller/tas", failed_nodes.FAMILIES),
    ("pkg/workload", failed_nodes.WORKLOAD_FAMILIES),
    ("pkg/scheduler", cycles.FAMILIES),
    ("pkg/scheduler/flavorassigner", flavors.FAMILIES),
    ("pkg/scheduler/preemption", preemptions.FAMILIES),
    ("pkg/scheduler/preemption/fairsharing", preemptions.FAIR_FAMILIES),
    ("pkg/scheduler/preemption/common", preemptions.POLICY_FAMILIES),
    ("pkg/util/admissionfairsharing", consumption.FAMILIES),
    ("pkg/visibility/storage", visibility.FAMILIES),
    ("pkg/util/priority", priorities.FAMILIES),
    ("pkg/webhooks", validation.FAMILIES),
    ("pkg/workload", lifecycle.FAMILIES),
    ("pkg/controller/core", requeueing.CHECK_FAMILIES),
    ("pkg/workload", requeueing.FAMILIES),
    ("pkg/workload/patching", lifecycle.PATCHING_FAMILIES),
    ("pkg/workload/evict", lifecycle.EVICTION_FAMILIES),
)

FAMILIES: dict[str, Family] = {
    f"{folder}:{test}": family
    for folder, families in _BY_FOLDER
    for test, family in families.items()
} | {PLACEMENTS: replacements.LINES}
