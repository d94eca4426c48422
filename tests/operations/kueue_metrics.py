"""`python -m tests.operations.kueue_metrics`: Kueue's metrics beside ours, by name and labels.

The list is that of Kueue 0.20.0. What has no equal figure here says why.
"""

import sys
from collections.abc import Iterator

from headgate.application.metrics_exposition import described_metrics

CQ, LQ = ("cluster_queue",), ("name", "namespace")
CLASS = "priority_class"
WHY = ("reason", "underlying_cause")
BY_FLAVOR = ("flavor", "resource")

KUEUE: dict[str, tuple[str, ...]] = {
    "admission_attempts_total": ("result",),
    "admission_attempt_duration_seconds": ("result",),
    "admission_cycle_preemption_skips": CQ,
    "preemption_target_recomputations_total": (*CQ, "result"),
    "build_info": (
        "git_version",
        "git_commit",
        "build_date",
        "go_version",
        "compiler",
        "platform",
    ),
    "pending_scheduling_hashes": (*CQ, "status"),
    "workload_creation_latency_seconds": ("job_kind",),
    "pod_scheduling_gate_removal_seconds": ("name", "cluster_queue", "is_group"),
    "pods_ready_to_evicted_time_seconds": (*CQ, *WHY),
    "evicted_workloads_once_total": (*CQ, *WHY, CLASS),
    "replaced_workload_slices_total": CQ,
    "preempted_workloads_total": ("preempting_cluster_queue", "reason"),
    "workload_eviction_latency_seconds": (*CQ, "reason"),
    "cluster_queue_status": (*CQ, "status"),
    "local_queue_status": (*LQ, "active"),
    "cluster_queue_resource_reservation": ("cohort", *CQ, *BY_FLAVOR),
    "cluster_queue_resource_usage": ("cohort", *CQ, *BY_FLAVOR),
    "cluster_queue_resource_pending": (*CQ, "resource"),
    "local_queue_resource_reservation": (*LQ, *BY_FLAVOR),
    "local_queue_resource_usage": (*LQ, *BY_FLAVOR),
    "local_queue_admission_fair_sharing_usage": (*LQ, *CQ),
    "cluster_queue_nominal_quota": ("cohort", *CQ, *BY_FLAVOR),
    "cluster_queue_borrowing_limit": ("cohort", *CQ, *BY_FLAVOR),
    "cluster_queue_lending_limit": ("cohort", *CQ, *BY_FLAVOR),
    "cluster_queue_weighted_share": (*CQ, "cohort"),
    "cohort_weighted_share": ("cohort",),
    "cohort_subtree_quota": ("cohort", *BY_FLAVOR),
    "cohort_subtree_resource_reservations": ("cohort", *BY_FLAVOR),
    "cohort_subtree_admitted_workloads_total": ("cohort", CLASS),
    "cohort_subtree_admitted_active_workloads": ("cohort",),
    "cohort_info": ("cohort", "parent_cohort", "root_cohort"),
    "cluster_queue_info": (*CQ, "parent_cohort", "root_cohort"),
    "unadmitted_workloads": (*CQ, *WHY),
    "local_queue_unadmitted_workloads": (*LQ, *CQ, *WHY),
    "multikueue_workloads_dispatched_total": (*CQ, "cluster"),
    "multikueue_workloads_admitted_total": (*CQ, "cluster"),
    "multikueue_workloads_evicted_total": (*CQ, "cluster", "reason"),
    "multikueue_cluster_status": ("cluster", "active"),
}
"""Names without the prefix, and labels, of what stands once."""

TWICE: dict[str, tuple[str, ...]] = {
    "pending_workloads": ("status",),
    "finished_workloads": (),
    "finished_workloads_total": (),
    "quota_reserved_workloads_total": (CLASS,),
    "admitted_workloads_total": (CLASS,),
    "execution_time_seconds": (CLASS,),
    "quota_reserved_wait_time_seconds": (CLASS,),
    "admission_wait_time_seconds": (CLASS,),
    "ready_wait_time_seconds": (CLASS,),
    "admitted_until_ready_wait_time_seconds": (CLASS,),
    "admission_checks_wait_time_seconds": (CLASS,),
    "workload_recovery_wait_time_seconds": (CLASS,),
    "evicted_workloads_total": (*WHY, CLASS),
    "reserving_active_workloads": (),
    "admitted_active_workloads": (),
}
"""The same of what stands by ClusterQueue, and by LocalQueue with `local_queue_` in its name."""

_NO_CLUSTERS = "MultiKueue is refused: there are no other clusters to dispatch to"
NOT_OURS = {
    "admission_cycle_preemption_skips": (
        "an entry that lost its victims to an earlier one is evaluated again in the same cycle"
    ),
    "preemption_target_recomputations_total": "same; the record of a cycle tells each evaluation",
    "build_info": "headgate_build_info tells the version of this process",
    "workload_creation_latency_seconds": "a job is its workload, from the same request on",
    "pod_scheduling_gate_removal_seconds": "pods start with their hosts and have no gates",
    "multikueue_workloads_dispatched_total": _NO_CLUSTERS,
    "multikueue_workloads_admitted_total": _NO_CLUSTERS,
    "multikueue_workloads_evicted_total": _NO_CLUSTERS,
    "multikueue_cluster_status": _NO_CLUSTERS,
}
EVERYWHERE = ("replica_role",)
"""The labels of every metric; those of `metrics.customLabels` are the Configuration's."""


def wanted() -> Iterator[tuple[str, frozenset[str]]]:
    """Every metric of Kueue with its labels, those without an equal here left out."""
    for name, labels in KUEUE.items():
        if name not in NOT_OURS:
            yield f"kueue_{name}", frozenset((*labels, *EVERYWHERE))
    for name, labels in TWICE.items():
        yield f"kueue_{name}", frozenset((*CQ, *labels, *EVERYWHERE))
        yield f"kueue_local_queue_{name}", frozenset((*LQ, *labels, *EVERYWHERE))


def missing() -> list[str]:
    """The metrics that are not there, or lack a label, with what is wrong."""
    ours = {found.name: frozenset(found.labels) for found in described_metrics()}
    return [
        f"{name}: {'labels ' + ', '.join(sorted(labels - ours[name])) if name in ours else 'none'}"
        for name, labels in wanted()
        if name not in ours or labels - ours[name]
    ]


def main() -> int:
    """0 if every metric of Kueue is here or has a reason."""
    found = missing()
    for line in found:
        print(f"missing: {line}")
    for name, reason in NOT_OURS.items():
        print(f"not ours: {name}: {reason}")
    print(f"missing {len(found)}, not ours {len(NOT_OURS)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
