"""Exact texts of what happened to a workload, of alerts and of lint warnings."""

import pytest

from headgate.domain.values.message import (
    Amount,
    Argument,
    Message,
    ObjectReference,
    workload_reference,
)
from headgate.messages import findings, workload_events
from headgate.messages.catalogue import remedy_of, text_of

TRAIN = workload_reference("team-a/train")
SWEEP = workload_reference("team-b/sweep")
GPUS = Amount("nvidia.com/gpu", 8)
CHECK: dict[str, Argument] = {"check": "safety-review", "report": "wait for approval"}
POD_SETS = (
    Message("PodsOfSet", {"count": 2, "pod_set": "main"}),
    Message("PodsOfSet", {"count": 1, "pod_set": "driver"}),
)
KUEUE: dict[str, Argument] = {
    "preemptor": TRAIN,
    "uid": "u",
    "job_uid": "j",
    "rule": "reclamation within the cohort",
    "path": "/campus/a",
    "victim_path": "/campus/b",
}
KUEUE_REST = (
    "due to reclamation within the cohort; preemptor path: /campus/a; preemptee path: /campus/b"
)

TABLE: list[tuple[str, dict[str, Argument], str]] = [
    ("PreemptedBy", {"preemptor": TRAIN, "priority": 9}, "Preempted by team-a/train (priority 9)"),
    (
        "PreemptedToAccommodate",
        {**KUEUE},
        f"Preempted to accommodate a workload (UID: u, JobUID: j) {KUEUE_REST}",
    ),
    (
        "PreemptedToAccommodate",
        {**KUEUE, "job_uid": ""},
        f"Preempted to accommodate a workload (UID: u, JobUID: UNKNOWN) {KUEUE_REST}",
    ),
    ("ClusterQueueUnavailable", {"queue": "q"}, "ClusterQueue q is terminating or missing"),
    ("PodsNotReadyInTime", {"limit": 300}, "Pods not ready within 5 min"),
    ("PodsNotReadyAfterAttempts", {"attempts": 1}, "Pods not ready in time after 1 attempt"),
    ("PodsNotReadyAfterAttempts", {"attempts": 3}, "Pods not ready in time after 3 attempts"),
    (
        "PodsNotReadyOverAllAttempts",
        {"limit": 7_800},
        "Pods not ready within 2 h 10 min over all attempts",
    ),
    ("ExecutionTimeReached", {"limit": 3_600}, "Maximum execution time of 1 h reached"),
    (
        "FailedHostsNotReplaced",
        {
            "hosts": (Message("HostFailure", {"host": "n1", "reason": "NotReady"}),),
            "shortfall": "Its flavor has no topology",
        },
        "No replacement found for failed hosts n1 (NotReady): its flavor has no topology",
    ),
    (
        "AdmissionCheckRequestedRetry",
        {**CHECK},
        "Admission check safety-review requested retry: wait for approval",
    ),
    ("RejectedByAdmissionCheck", {"check": "c", "report": ""}, "Rejected by admission check c"),
    ("ReplacedBySlice", {"slice": TRAIN}, "Replaced by workload slice team-a/train"),
    (
        "Previously",
        {"message": Message("PreemptedBy", {"preemptor": SWEEP, "priority": 1})},
        "Previously: Preempted by team-b/sweep (priority 1)",
    ),
    ("QuotaReservedInClusterQueue", {"queue": "q"}, "Quota reserved in ClusterQueue q"),
    (
        "BlockedOnPreemptionGates",
        {"gates": ("a", "b")},
        "Preemption is blocked until these gates open: a, b",
    ),
    ("TitlePending", {"reason": "WaitingForQuota"}, "Pending: WaitingForQuota"),
    ("TitleRequeued", {"reason": "BackoffFinished"}, "Requeued: BackoffFinished"),
    ("TitleContinues", {"pods": POD_SETS}, "Continues with 2 pods of main, 1 pod of driver"),
    ("DetailWaited", {"waited": 0}, "Waited 0 s"),
    ("DetailHandler", {"handler": "saver", "until": None}, "By saver"),
    ("DetailAdmission", {"queue": "q", "flavors": ("spot",)}, "In q on spot"),
    ("DetailOnHosts", {"hosts": ("a", "b"), "more": 7}, "On a, b and 7 more"),
    ("QueueInactive", {"queue": "q"}, "ClusterQueue q is inactive"),
    (
        "HeadOfLineBlocking",
        {"queue": "q", "head": TRAIN},
        "StrictFIFO queue q is blocked by team-a/train",
    ),
    (
        "DeactivatedAfterAttempts",
        {"attempts": 3},
        "Deactivated after 3 failed attempts. Activate to retry.",
    ),
    (
        "AdmittedNotStarted",
        {"workload": TRAIN, "since": 600},
        "team-a/train: admitted 10 min ago, pods not ready",
    ),
    ("EvictionIsStalled", {"workload": TRAIN}, "team-a/train: eviction stalled"),
    (
        "ScaleDownPending",
        {"pods": POD_SETS[:1]},
        "Scale-down pending; still holding quota for 2 pods of main.",
    ),
    ("Starving", {"workload": TRAIN}, "team-a/train is starving (repeatedly overtaken)"),
    (
        "PreemptionThrash",
        {"workload": TRAIN, "other": SWEEP},
        "Preemption loop: team-a/train and team-b/sweep",
    ),
    ("ReadModelLagging", {"name": "usage"}, "Read model usage is lagging"),
    (
        "UnlimitedBorrowing",
        {
            "amounts": (
                Message(
                    "AmountOfFlavor", {"amount": Amount("nvidia.com/gpu", 8), "flavor": "a100"}
                ),
            )
        },
        "No borrowingLimit: can borrow up to 8 GPU of a100 from the cohort.",
    ),
    (
        "Oversubscribed",
        {"quota": Amount("nvidia.com/gpu", 64), "have": Amount("nvidia.com/gpu", 32)},
        "Overcommitted: nominal quotas total 64 GPU, nodes provide 32.",
    ),
    (
        "CohortsFormCycle",
        {"path": "a → b → a"},
        "Cohort cycle: a → b → a. No queue of the cycle admits workloads.",
    ),
    ("QueueWithoutLocalQueue", {}, "No LocalQueue points to this ClusterQueue."),
]


@pytest.mark.parametrize(("code", "arguments", "text"), TABLE)
def test_a_message_reads_as_the_table_says(
    code: str, arguments: dict[str, Argument], text: str
) -> None:
    assert text_of(Message(code, arguments)) == text


def test_a_preemptor_of_another_namespace_is_neither_named_nor_known_by_uid() -> None:
    def is_visible(found: ObjectReference) -> bool:
        return found.key.startswith("team-b/")

    assert text_of(Message("PreemptedBy", {"preemptor": TRAIN, "priority": 9}), is_visible) == (
        "Preempted by a workload of another team (priority 9)"
    )
    assert text_of(Message("PreemptedToAccommodate", KUEUE), is_visible) == (
        f"Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) {KUEUE_REST}"
    )


def test_a_lint_warning_has_a_remedy() -> None:
    slip = Message("QuotaOfManyCores", {"cores": 8_000, "meant": Amount("cpu", 8_000)})
    assert text_of(slip) == "8000 of cpu are 8000 whole cores."
    assert remedy_of(slip) == "Did you mean 8000m, which is 8 CPU?"


def test_titles_are_labels_without_a_full_stop() -> None:
    texts = {**workload_events.TEXTS, **findings.TEXTS}
    wrong = [code for code, text in texts.items() if code.startswith("Title") and "." in text.text]
    assert wrong == []
