"""Steps that bring the stored shape of an old event to the next schema version, by event name.

A step takes the fields of one version as a dictionary and gives those of the next. It is total and
never changes once events of the newer version exist. Texts that users, executors and controllers
wrote stay as they are; where version 1 does not tell them from sentences of Headgate, a sentence
is known by what it says.
"""

import re
from collections.abc import Callable
from typing import Any

from headgate.domain.kinds.registry import KINDS

Fields = dict[str, Any]
Step = Callable[[Fields], Fields]


def as_recorded(text: str) -> Fields:
    """Returns the stored message of a sentence that was recorded as text."""
    return {"type": "message", "code": "AsRecorded", "arguments": {"text": text}}


TEXTS_OF_EXCLUSIONS = {
    "nodeSelector": "NodeSelector",
    "affinity": "Affinity",
    "topologyDomain": "TopologyDomain",
    "not ready or cordoned": "Unusable",
}


def explained_with_messages(fields: Fields) -> Fields:
    """`workload.explained` 1 to 2: the sentence, the blockers' messages and the remedies."""
    explanation = dict(fields["explanation"])
    sentence = explanation.pop("sentence")
    explanation["message"] = as_recorded(sentence)
    explanation["blockers"] = [_blocker(each) for each in explanation.get("blockers", ())]
    explanation["would_unblock"] = [as_recorded(t) for t in explanation.get("would_unblock", ())]
    return {**fields, "explanation": explanation}


def committed_with_messages(fields: Fields) -> Fields:
    """`round.committed` 1 to 2: the rules that protect refused candidates."""
    return {**fields, "refused": _refused(fields.get("refused", ()))}


def aborted_with_message(fields: Fields) -> Fields:
    """`round.aborted` 1 to 2: the cause."""
    return {**fields, "cause": as_recorded(fields["cause"])}


def cancelled_with_message(fields: Fields) -> Fields:
    """`workload.eviction_cancelled` 1 to 2: the cause."""
    return {**fields, "cause": as_recorded(fields["cause"])}


def _blocker(fields: Fields) -> Fields:
    hosts = fields.get("excluded_hosts", {})
    return {
        **fields,
        "message": as_recorded(fields["message"]),
        "refused": _refused(fields.get("refused", ())),
        "excluded_hosts": [_exclusion(text, count) for text, count in hosts.items()],
    }


def _refused(stored: list[Fields] | tuple[Fields, ...]) -> list[Fields]:
    return [{**each, "rule": as_recorded(each["rule"])} for each in stored]


def _exclusion(text: str, hosts: int) -> Fields:
    if text in TEXTS_OF_EXCLUSIONS:
        return {"cause": TEXTS_OF_EXCLUSIONS[text], "hosts": hosts}
    kind, _, quoted = text.partition(" ")
    cause = {"resource": "Resource", "taint": "Taint"}.get(kind)
    if cause is None:
        return {"cause": "Recorded", "detail": text, "hosts": hosts}
    return {"cause": cause, "detail": quoted.strip('"'), "hosts": hosts}


IGNORED = {
    "LabelNotUnderstood": re.compile(
        r"The label (?P<label>\S+) says (?P<value>.*), which means nothing here\.", re.DOTALL
    ),
    "LabelsOfPodsDiffer": re.compile(
        r"The pod templates do not agree on the label (?P<label>.*)\."
    ),
    "PreemptionPoliciesOfPodsDiffer": re.compile(
        r"The pod templates do not agree on their preemptionPolicy\."
    ),
    "SettingIgnored": re.compile(r"(?P<key>\S+) means nothing here\."),
    "SettingMisspelled": re.compile(
        r"(?P<key>\S+) means nothing here; did you mean (?P<meant>\S+)\?"
    ),
}
"""The sentences of version 1 on labels and annotations that were ignored."""

REASONS_OF_USERS = ("Requeued", "Cancelled", "Deactivated")
"""Reasons of evictions that users ask for."""


def evicted_with_message(fields: Fields) -> Fields:
    """`workload.evicted` 1 to 2: the message, where no user gave it."""
    is_of_user = fields["reason"] in REASONS_OF_USERS and not fields.get("underlying_cause")
    return fields if is_of_user else _with_message(fields)


def pods_evicted_with_message(fields: Fields) -> Fields:
    """`workload.pods_evicted` 1 to 2: the message."""
    return _with_message(fields)


def dropped_with_message(fields: Fields) -> Fields:
    """`workload.reservation_dropped` 1 to 2: the reason, which was a word or a sentence."""
    codes = {
        "Requeued": "RequeueRequested",
        "Deleted": "DeletionRequested",
        "Cancelled": "CancellationRequested",
    }
    reason = fields["reason"]
    if reason not in codes:
        return {**fields, "reason": as_recorded(reason)}
    return {**fields, "reason": {"type": "message", "code": codes[reason], "arguments": {}}}


def deactivated_with_message(fields: Fields) -> Fields:
    """`workload.deactivated` 1 to 2: the message, where no user gave it."""
    return fields if fields["cause"] == "Requested" else _with_message(fields)


def finished_with_message(fields: Fields) -> Fields:
    """`workload.finished` 1 to 2: the message, where neither an executor nor a user gave it."""
    is_own = fields["reason"] in {"WorkloadSliceReplaced", "FailedToStart"}
    return _with_message(fields) if is_own else fields


def spec_with_messages(fields: Fields) -> Fields:
    """`workload.submitted` and `workload.spec_changed` 1 to 2: which labels were ignored."""
    spec = fields["spec"]
    if not spec.get("ignored"):
        return fields
    return {**fields, "spec": {**spec, "ignored": [_ignored(text) for text in spec["ignored"]]}}


def _ignored(text: str) -> Fields:
    """The message of a sentence of version 1, equal to what a manifest is read to since then."""
    for code, sentence in IGNORED.items():
        found = sentence.fullmatch(text)
        if found is not None:
            return {"type": "message", "code": code, "arguments": found.groupdict()}
    return as_recorded(text)


def forced_with_message(fields: Fields) -> Fields:
    """`workload.eviction_forced` 1 to 2: the cause."""
    return {**fields, "cause": as_recorded(fields["cause"])}


def _with_message(fields: Fields) -> Fields:
    return {**fields, "message": as_recorded(fields.get("message", ""))}


def _without_written(fields: Fields) -> Fields:
    """Configured objects of version 1: what their authors wrote was not kept."""
    return {**fields, "written": ""}


def _without_submission_rules(fields: Fields) -> Fields:
    """Configurations up to version 3: no rule bounded what tenants submit, the defaults do now."""
    return {**fields, "spec": {**fields["spec"], "submission": {"rules": []}}}


def _without_node_feasibility(fields: Fields) -> Fields:
    """Configurations up to version 4: nodes below topologies are checked, as by default."""
    return fields


def _before_partial_slices(fields: Fields) -> Fields:
    """Configurations up to version 6: counts that slices do not divide are taken, as by default."""
    return fields


def _before_pod_set_protections(fields: Fields) -> Fields:
    """Specs of before pod sets were protected by their class, or left by replicas: none is."""
    return fields


def _before_invalid_requests(fields: Fields) -> Fields:
    """Of before the policies on invalid topology requests: none was deactivated, as by default."""
    return fields


def _before_next_runs(fields: Fields) -> Fields:
    """Scale-downs of version 1: an index that came again had its run of before."""
    return fields


def _without_owner(fields: Fields) -> Fields:
    """Workloads submitted up to version 2: their owner is the actor of the event."""
    return {**fields, "owner": None}


def _without_limits(fields: Fields) -> Fields:
    """Configurations of version 2: the default limits hold."""
    return fields


def _with_whole_templates(fields: Fields) -> Fields:
    """Workloads up to here: the event has their pod templates whole, and nothing is beside it."""
    return fields


def _before_executors(fields: Fields) -> Fields:
    """Specs of before executors: what they say of nodes and workloads is absent, as by default."""
    return fields


def _before_retries(fields: Fields) -> Fields:
    """Specs of before retry policies and completions, both absent as by default."""
    return fields


def _before_needs(fields: Fields) -> Fields:
    """Specs of before the needs of pods were recorded: they restrict no flavor, as by default."""
    return fields


def _before_readings_of_limits(fields: Fields) -> Fields:
    """Rules of before the readings of retry limits and the mode of all evictions: by default."""
    return fields


def _with_usage_from_admission(fields: Fields) -> Fields:
    """Configurations up to version 7: usage counted from the admission on, and still does."""
    shares = fields["spec"].get("admission_fair_sharing")
    if not shares:
        return fields
    counted = {**shares, "usage_anchor": "Admitted"}
    return {**fields, "spec": {**fields["spec"], "admission_fair_sharing": counted}}


def _before_partial_admission(fields: Fields) -> Fields:
    """Queues of before the timeouts and sizes that may be chosen: as by default."""
    return fields


def _before_pod_constraints(fields: Fields) -> Fields:
    """Specs of before pods could require anything of those around them: they do not."""
    return fields


def _before_orphans(fields: Fields) -> Fields:
    """Executors of before their orphaned pods were recorded: they have none, as by default."""
    return fields


def _before_device_errors(fields: Fields) -> Fields:
    """Of devices that were recorded before no errors are known."""
    return fields


def _before_counted_losses(fields: Fields) -> Fields:
    """Reports of before losses of the log were counted: they know of none, as by default."""
    return fields


def _before_adoption(fields: Fields) -> Fields:
    """Orphaned pods of before workloads adopted them: without a uid, and without attempts."""
    return fields


def _before_unschedulable(fields: Fields) -> Fields:
    """Pending reasons of before workloads were told that they can never start: as recorded."""
    return fields


def _before_metric_labels(fields: Fields) -> Fields:
    """Configurations of before labels of metrics were chosen: there are none, as by default."""
    return fields


def _before_named_pods(fields: Fields) -> Fields:
    """Single-pod preemption of before it named pods: it took the last ones, as without names."""
    return fields


def _before_told_ends(fields: Fields) -> Fields:
    """Deletions of version 1: they do not tell how the workload had ended."""
    return fields


ALWAYS_WRITTEN = frozenset(
    (
        "CronJob",
        "TrainingRuntime",
        "ClusterTrainingRuntime",
        "ProvisioningRequestConfig",
        "Webhook",
        "Acknowledgment",
    )
)
"""Kinds whose objects always had the digest of what their authors wrote."""


UPCASTERS: dict[tuple[str, int], Step] = {
    ("round.aborted", 1): aborted_with_message,
    ("round.committed", 1): committed_with_messages,
    ("round.committed", 2): _before_named_pods,
    ("workload.pods_evicted", 2): _before_named_pods,
    ("workload.shrunk", 1): _before_named_pods,
    ("workload.eviction_cancelled", 1): cancelled_with_message,
    ("workload.explained", 1): explained_with_messages,
    ("workload.explained", 2): _before_unschedulable,
    ("workload.submitted", 1): spec_with_messages,
    ("workload.submitted", 2): _without_owner,
    ("workload.spec_changed", 1): spec_with_messages,
    ("workload.submitted", 3): _with_whole_templates,
    ("workload.spec_changed", 2): _with_whole_templates,
    ("workload.submitted", 4): _before_executors,
    ("workload.spec_changed", 3): _before_executors,
    ("workload.submitted", 5): _before_retries,
    ("workload.spec_changed", 4): _before_retries,
    ("workload.submitted", 6): _before_needs,
    ("workload.spec_changed", 5): _before_needs,
    ("workload.submitted", 7): _before_pod_constraints,
    ("workload.spec_changed", 6): _before_pod_constraints,
    ("configuration.created", 9): _before_pod_set_protections,
    ("configuration.changed", 9): _before_pod_set_protections,
    ("configuration.created", 10): _before_metric_labels,
    ("configuration.changed", 10): _before_metric_labels,
    ("workload.submitted", 8): _before_pod_set_protections,
    ("workload.spec_changed", 7): _before_pod_set_protections,
    ("node.created", 2): _before_executors,
    ("node.changed", 2): _before_executors,
    ("node.created", 3): _before_device_errors,
    ("node.changed", 3): _before_device_errors,
    ("executor.created", 2): _before_executors,
    ("executor.changed", 2): _before_executors,
    ("executor.created", 3): _before_orphans,
    ("executor.changed", 3): _before_orphans,
    ("executor.created", 4): _before_adoption,
    ("executor.changed", 4): _before_adoption,
    ("executor.orphans_reported", 1): _before_adoption,
    ("executor.created", 5): _before_counted_losses,
    ("executor.changed", 5): _before_counted_losses,
    ("executor.orphans_reported", 2): _before_counted_losses,
    ("workload.imported", 1): _before_adoption,
    ("configuration.created", 2): _without_limits,
    ("configuration.changed", 2): _without_limits,
    ("workload.evicted", 1): evicted_with_message,
    ("workload.pods_evicted", 1): pods_evicted_with_message,
    ("workload.reservation_dropped", 1): dropped_with_message,
    ("workload.deactivated", 1): deactivated_with_message,
    ("workload.finished", 1): finished_with_message,
    ("workload.eviction_forced", 1): forced_with_message,
    ("configuration.created", 3): _without_submission_rules,
    ("configuration.changed", 3): _without_submission_rules,
    ("configuration.created", 4): _without_node_feasibility,
    ("configuration.changed", 4): _without_node_feasibility,
    ("configuration.created", 5): _before_readings_of_limits,
    ("configuration.changed", 5): _before_readings_of_limits,
    ("configuration.created", 6): _before_partial_slices,
    ("configuration.changed", 6): _before_partial_slices,
    ("cluster_queue.created", 2): _before_readings_of_limits,
    ("cluster_queue.changed", 2): _before_readings_of_limits,
    ("configuration.created", 7): _with_usage_from_admission,
    ("configuration.changed", 7): _with_usage_from_admission,
    ("configuration.created", 8): _before_invalid_requests,
    ("configuration.changed", 8): _before_invalid_requests,
    ("workload.deactivated", 2): _before_invalid_requests,
    ("workload.scaled_down", 1): _before_next_runs,
    ("workload.deleted", 1): _before_told_ends,
    ("cluster_queue.created", 3): _before_partial_admission,
    ("cluster_queue.changed", 3): _before_partial_admission,
    **{
        (str(event.__struct_config__.tag), 1): _without_written
        for kind in KINDS
        if kind.name not in ALWAYS_WRITTEN
        for event in (kind.created, kind.changed)
    },
}
"""By stored name and the schema version a step starts from."""
