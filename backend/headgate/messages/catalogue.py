"""The catalogue of texts by code; texts of messages and explanations (language.md §1.7)."""

from collections.abc import Mapping
from functools import partial

from headgate.domain.values.message import Message, MessageOrText
from headgate.domain.workloads.explanation import Explanation
from headgate.messages import (
    findings,
    object_rules,
    pending_reasons,
    rejections,
    workload_events,
    workload_rules,
)
from headgate.messages.rendering import Absent, IsVisible, Text, everything_visible, fill

SUMMARIES: Mapping[str, str] = {
    "InsufficientQuota": "{missing} short in {cluster_queue}",
    "InsufficientNonPreemptibleQuota": "{missing} short in {cluster_queue}",
    "QuotaWithheld": "{missing} withheld in {cluster_queue}",
    "QuotaOfQueueWithheld": "{missing} withheld in {cluster_queue}",
    "RequestExceedsMaximum": "{have} max, needs {need:number}",
    "RequestExceedsBorrowing": "{have} max, needs {need:number}",
    "RequestExceedsNominalQuota": "{nominal} max, needs {need:number}",
    "PodsExceedDomain": "{short_by:pod} short in one {level:label}",
    "SlicesExceedDomain": "{short_by:slice} short in one {level:label}",
    "PodsExceedHosts": "{short_by:pod} short on hosts of {flavor}",
    "SlicesExceedHosts": "{short_by:slice} short on hosts of {flavor}",
    "NoHostFitsPod": "No host of {flavor} fits a pod",
    "NoHostFitsSlice": "No hosts of {flavor} fit a slice",
    "NoHostInDomainFitsLeader": "No {level:label} fits leader and workers",
    "NoHostFitsLeader": "No host of {flavor} fits the leader",
    "PodsExceedLargestDomain": "{have:pod} max in one {level:label}, needs {need}",
    "SlicesExceedLargestDomain": "{have:slice} max in one {level:label}, needs {need}",
    "PodsExceedAllHosts": "{have:pod} max on {flavor}, needs {need}",
    "SlicesExceedAllHosts": "{have:slice} max on {flavor}, needs {need}",
    "PodExceedsLargestHost": "{have} max per host, a pod needs {need:number}",
    "NoHostHoldsPod": "No host of {flavor} can fit a pod",
    "NoHostHoldsSlice": "No hosts of {flavor} can fit a slice",
    "NoDomainHoldsLeader": "No {level:label} can fit leader and workers",
    "NoHostHoldsLeader": "No host of {flavor} can fit the leader",
    "NoLowerPriorityCandidates": "No preemptible lower priority",
    "TooFewCandidates": "Not enough preemptible workloads",
    "PreemptionLoop": "Preemption would cause a loop",
    "PreemptionDisabled": "Preemption is disabled (Never)",
    "PreemptionGatesClosed": "Gates closed: {gates:all}",
    "PreemptionRateLimited": "Preemption rate limit reached",
    "PreemptionBlockedByCycleGuard": "Preemption would cause a loop",
    "WaitingForEvictions": "Waiting for {evictions:eviction}",
    "RoundDraining": "Preemption in progress",
    "OnHold": "On hold by {owner:user}[: {why}]",
    "NoQueue": "No queue named",
    "QueueStopped": "{kind} {name} is stopped",
    "QueueMissing": "{kind} {name} does not exist",
    "NamespaceNotSelected": "Namespace not selected by the queue",
    "Unschedulable": "{found}",
    "WaitingForAssignment": "Waiting for hosts",
    "ChecksPassed": "Checks passed; admitting",
    "WaitingForChecks": "Waiting for {checks:all}",
    "CheckReport": "{check}",
    "SkippedAfterError": "Scheduler error",
    "WaitingForAdmissionGates": "Waiting for {gates:all}",
    "CheckRetry": "Check retries in {wait:duration}",
    "RetryAfterBackoff": "Retry {attempt}[ of {limit}] in {wait:duration}",
    "BehindHead": "Behind {head}",
    "SameRequest": "{found}",
    "AdmissionBlocked": "Blocked by waitForPodsReady",
    "RunsAsOrphans": "{pods:pod} already running",
    "WaitingForExecutors": "Waiting for executors to report",
    "PhaseRunning": "Running",
    "PhaseEvicting": "Waiting for pods to stop",
    "PhaseFailed": "[{why}]",
    "PhaseCancelled": "[{why}]",
    "ReplacingFailedHosts": "Replacing failed hosts",
    "EvictingSomePods": "Some pods are being evicted",
    "PodHasFailed": "[Exit {exit_code}: ]{reason} in {pod_set}-{index}",
    "RetryLimitReached": "{failure}",
    "TooManyIndexesFailed": "{failure}",
}
"""Templates for a line of a list, of codes with longer texts: resource and amount first."""

MAX_SUMMARY_LENGTH = 40
"""Of a text for a line of a list (page.md §2.2)."""

AS_RECORDED = "AsRecorded"
"""The code of a sentence that the log holds from before messages had codes, as `text`."""

REMEDY_OF = "RemedyOf"
"""The code of the remedy of another message, as its argument `found`."""

FAMILIES: tuple[Mapping[str, Text], ...] = (
    pending_reasons.TEXTS,
    workload_events.TEXTS,
    workload_events.RULE_TEXTS,
    rejections.TEXTS,
    object_rules.FIELD_TEXTS,
    object_rules.TEXTS,
    object_rules.MANIFEST_TEXTS,
    workload_rules.TEXTS,
    findings.TEXTS,
)
TEXTS: Mapping[str, Text] = {code: text for each in FAMILIES for code, text in each.items()}
WITHHELD = "Recorded as a sentence by an earlier version; shown to administrators only"


def text_of(found: Message, is_visible: IsVisible = everything_visible) -> str:
    """Returns the text of a message for a reader; references that are not visible are not named.

    A message that this version has no text for is shown as its code.
    """
    if found.code == AS_RECORDED:
        is_for_all = is_visible is everything_visible
        return str(found.arguments.get("text", "")) if is_for_all else WITHHELD
    about = found.arguments.get("found")
    if found.code == REMEDY_OF and isinstance(about, Message):
        return remedy_of(about, is_visible)
    known = TEXTS.get(found.code)
    return found.code if known is None else _filled(known.text, found, is_visible)


def summary_of(found: Message, is_visible: IsVisible = everything_visible) -> str:
    """Returns the text of a message for a line of a list, cut to MAX_SUMMARY_LENGTH characters."""
    told = _summary_of(found, is_visible)
    is_short = len(told) <= MAX_SUMMARY_LENGTH
    return told if is_short else f"{told[: MAX_SUMMARY_LENGTH - 1].rstrip()}…"


def _summary_of(found: Message, is_visible: IsVisible) -> str:
    nested = partial(_summary_of, is_visible=is_visible)
    try:
        told = fill(SUMMARIES.get(found.code, ""), found.arguments, nested, is_visible)
    except Absent:
        told = ""
    return told or text_of(found, is_visible)


def worded(found: MessageOrText, is_visible: IsVisible = everything_visible) -> str:
    """Returns the text of a message; a text that a user wrote is shown to all as it is."""
    return found if isinstance(found, str) else text_of(found, is_visible)


def remedy_of(found: Message, is_visible: IsVisible = everything_visible) -> str:
    """Returns what to do about a message; empty where its text has no remedy."""
    known = TEXTS.get(found.code)
    return "" if known is None else _filled(known.remedy, found, is_visible)


def _filled(template: str, found: Message, is_visible: IsVisible) -> str:
    try:
        return fill(template, found.arguments, lambda each: text_of(each, is_visible), is_visible)
    except Absent:
        return found.code


def sentence_of(found: Explanation, is_visible: IsVisible = everything_visible) -> str:
    """Returns the text of the dominant reason."""
    return text_of(found.reason_message, is_visible)


def remedy_messages(found: Explanation) -> tuple[Message, ...]:
    """Returns what would admit the workload: what ends the dominant reason first, then the rest."""
    own = () if found.message is None else (found.message,)
    blockers = sorted(enumerate(found.blockers), key=lambda each: each[0] != found.deciding)
    messages = (*own, *(blocker.full_message for _, blocker in blockers))
    remedies = (Message(REMEDY_OF, {"found": each}) for each in messages if remedy_of(each))
    by_text = {text_of(each): each for each in (*remedies, *found.would_unblock)}
    return tuple(by_text.values())


def remedies_of(found: Explanation, is_visible: IsVisible = everything_visible) -> list[str]:
    """Returns the texts of what would admit the workload."""
    return list(dict.fromkeys(text_of(each, is_visible) for each in remedy_messages(found)))
