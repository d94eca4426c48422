"""The message of Evicted and Preempted conditions in Kueue's exact words, which tools parse.

Kueue: preemption.preemptionMessage (preemption.md §1.12). The eviction itself carries the sentence
that people read.
"""

from headgate.domain.workloads.preemption_events import PreemptorReference
from headgate.domain.workloads.state import Workload

JOB_UID = "kueue.x-k8s.io/job-uid"
"""The label with the uid of the job that a workload stands for."""

UNKNOWN = "UNKNOWN"
RULES = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}
_BEFORE_UIDS, _AFTER_UIDS = "accommodate a workload (UID: ", ") due to "


def preemptor_reference(preemptor: Workload, path: str, victim_path: str) -> PreemptorReference:
    """The reference to the preemptor; paths lead from the root Cohort to both ClusterQueues."""
    return PreemptorReference(
        workload=preemptor.key,
        uid=preemptor.uid,
        job_uid=preemptor.labels.get(JOB_UID, ""),
        path=path,
        victim_path=victim_path,
    )


def preemption_message(found: PreemptorReference, rule: str) -> str:
    """The message of Evicted and Preempted; unknown parts are UNKNOWN as in Kueue."""
    uids = f"{found.uid or UNKNOWN}, JobUID: {found.job_uid or UNKNOWN}"
    return (
        f"Preempted to {_BEFORE_UIDS}{uids}{_AFTER_UIDS}{RULES.get(rule, UNKNOWN)}; "
        f"preemptor path: {found.path or UNKNOWN}; preemptee path: {found.victim_path or UNKNOWN}"
    )


def without_uids(message: str) -> str:
    """The message with the preemptor's uids replaced by UNKNOWN, for other namespaces."""
    before, found, rest = message.partition(_BEFORE_UIDS)
    _, ended, after = rest.partition(_AFTER_UIDS)
    if not (found and ended):
        return message
    return f"{before}{found}{UNKNOWN}, JobUID: {UNKNOWN}{ended}{after}"
