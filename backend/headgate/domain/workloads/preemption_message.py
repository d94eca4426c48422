"""The message of Evicted and Preempted conditions, which Kueue's text is rendered from.

Kueue: preemption.preemptionMessage (preemption.md §1.12). The eviction itself carries the message
that people read.
"""

from headgate.domain.values.message import Message, message, workload_reference
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


def preemptor_reference(preemptor: Workload, path: str, victim_path: str) -> PreemptorReference:
    """The reference to the preemptor; paths lead from the root Cohort to both ClusterQueues."""
    return PreemptorReference(
        workload=preemptor.key,
        uid=preemptor.uid,
        job_uid=preemptor.labels.get(JOB_UID, ""),
        path=path,
        victim_path=victim_path,
    )


def preemption_message(found: PreemptorReference, rule: str) -> Message:
    """The message of Evicted and Preempted; unknown parts are UNKNOWN as in Kueue."""
    return message(
        "PreemptedToAccommodate",
        preemptor=workload_reference(found.workload),
        uid=found.uid,
        job_uid=found.job_uid,
        rule=RULES.get(rule, UNKNOWN),
        path=found.path or UNKNOWN,
        victim_path=found.victim_path or UNKNOWN,
    )
