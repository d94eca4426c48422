"""Events of workloads from before messages had codes: sentences become messages.

Texts that users, executors and controllers wrote stay as they are. Where an event of version 1 does
not tell them from sentences, a sentence is known by what it says.
"""

import re

from headgate.event_log.upcasters.recorded_text import Fields, as_recorded

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
