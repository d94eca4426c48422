"""The lifecycle of every workload, each step checked against the allowed transitions."""

from collections.abc import Iterator

import msgspec

from headgate.application.verify import Findings
from headgate.application.verify.quota_audit import ConfigurationAudit
from headgate.domain.values.index_ranges import intersection, text_of_ranges
from headgate.domain.values.instants import Instant
from headgate.domain.workloads import events as e
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
    WorkloadGrown,
    WorkloadPodsEvicted,
    WorkloadShrunk,
)
from headgate.domain.workloads.specs import WorkloadSpec

AFTER_THE_END = (
    e.WorkloadDeleted,
    e.WorkloadDeletionRequested,
    e.WorkloadSpecChanged,
    e.NominationWithdrawn,
    e.WorkloadReleased,
)
"""Events that may still follow for a finished workload."""

ENDS_OF_EVICTIONS = {"PodFailed": "Failed", "SuccessPolicyMet": "Succeeded"}
"""How a workload ends once its pods have stopped, by the reason of their eviction."""


class AuditedWorkload(msgspec.Struct, kw_only=True):
    """What matters of one workload for judging its next step."""

    namespace: str
    spec: WorkloadSpec
    created_at: Instant
    changed_at: Instant
    quota: Admission | None = None
    is_admitted: bool = False
    eviction: str = ""
    eviction_reason: str = ""
    end_after_stop: str = ""
    pod_eviction: dict[str, WorkloadPodsEvicted] = {}
    is_finished: bool = False
    is_active: bool = True
    is_held: bool = False
    backs_off_until: Instant | None = None
    is_leaving: bool = False
    is_explained: bool = False
    is_imported: bool = False


class LifecycleAudit:
    """All workloads by key; `read` answers with the quota that this very event gave back."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.workloads: dict[str, AuditedWorkload] = {}

    def read(self, key: str, event: e.WorkloadEvent, at: Instant) -> Admission | None:
        """Judge and follow one step; the admission that is over with it, if one is."""
        workload = self.workloads.get(key)
        if isinstance(event, e.WorkloadSubmitted):
            self._submitted(key, workload, event, at)
            return None
        if workload is None:
            self._wrong("EventsConcernExistingWorkloads", type(event).__name__)
            return None
        if workload.is_finished and not isinstance(event, AFTER_THE_END):
            self._wrong("NothingHappensAfterEnd", type(event).__name__)
        held = workload.quota
        self._step(key, workload, event, at)
        if not isinstance(event, e.WorkloadExplained):
            workload.changed_at = at
        return held if held is not None and workload.quota is None else None

    def _submitted(
        self, key: str, workload: AuditedWorkload | None, event: e.WorkloadSubmitted, at: Instant
    ) -> None:
        if workload is not None:
            self._wrong("NameIsFreeBeforeItIsUsedAgain", f"{key} still exists")
        self.workloads[key] = AuditedWorkload(
            namespace=event.namespace,
            spec=event.spec,
            created_at=at,
            changed_at=at,
            is_active=event.spec.active,
        )

    def _step(
        self, key: str, workload: AuditedWorkload, event: e.WorkloadEvent, at: Instant
    ) -> None:
        match event:
            case e.WorkloadImported():
                workload.is_imported = bool(event.cluster_queue)
                workload.backs_off_until = event.requeue_at
            case e.WorkloadQuotaReserved():
                self._reserved(workload, event, at)
            case e.WorkloadAdmitted():
                self._admitted(workload)
            case e.WorkloadEvicted():
                self._evicted(workload, event)
            case e.WorkloadStopped():
                self._stopped(workload, event)
            case e.ReservationDropped():
                self._dropped(workload)
            case e.WorkloadFinished():
                self._finished(workload, event)
            case e.WorkloadDeleted():
                self._deleted(key, workload)
            case _:
                self._small_step(workload, event)

    def _small_step(self, workload: AuditedWorkload, event: e.WorkloadEvent) -> None:
        match event:
            case e.WorkloadHostsFailed() | e.WorkloadHostsRecovered():
                if workload.quota is None:
                    self._wrong("HostsFailForPlacedWorkloads", type(event).__name__)
            case e.WorkloadPlaced():
                self._placed(workload, event)
            case e.WorkloadScaledDown():
                if workload.quota is None or workload.eviction:
                    self._wrong(
                        "OnlyRunningWorkloadsAreScaledDown",
                        workload.eviction or "it holds no quota",
                    )
            case e.WorkloadPodsReady() | e.WorkloadPodsNotReady():
                if not workload.is_admitted:
                    self._wrong("OnlyAdmittedPodsAreReadyOrNot", type(event).__name__)
            case e.WorkloadCheckReported() | e.WorkloadChecksRequired():
                if workload.quota is None:
                    self._wrong("ChecksConcernWorkloadsWithQuota", type(event).__name__)
            case EvictionCancelled():
                self._called_back(workload, event)
            case WorkloadPodsEvicted():
                self._pods_evicted(workload, event)
            case WorkloadShrunk():
                self._shrunk(workload, event)
            case WorkloadGrown():
                if not workload.is_admitted or workload.eviction or workload.pod_eviction:
                    self._wrong("OnlyRunningWorkloadsGrowBack", f"{event.pods}")
            case e.EvictionAcknowledged() | e.EvictionProgressed():
                if not is_leaving_for(workload, event.eviction):
                    self._wrong("HandlersReportOnOngoingEvictions", event.eviction)
            case e.WorkloadExplained():
                workload.is_explained = True
                if workload.quota is not None:
                    self._wrong("OnlyPendingWorkloadsHaveReasonsRecorded", "it holds quota")
            case e.WorkloadRequeued():
                workload.backs_off_until = None
                if workload.quota is not None:
                    self._wrong("OnlyWorkloadsWithoutQuotaAreRequeued", event.reason)
            case e.WorkloadSpecChanged():
                workload.spec, workload.is_explained = event.spec, False
                workload.is_active = event.spec.active
            case e.WorkloadHeld():
                workload.is_held = True
            case e.WorkloadReleased():
                workload.is_held = False
            case e.WorkloadDeactivated():
                workload.is_active, workload.backs_off_until = False, None
            case e.WorkloadActivated():
                workload.is_active, workload.backs_off_until = True, None
            case e.WorkloadDeletionRequested() | e.WorkloadCancellationRequested():
                workload.is_leaving = True
            case _:
                pass

    def _reserved(
        self, workload: AuditedWorkload, event: e.WorkloadQuotaReserved, at: Instant
    ) -> None:
        if workload.quota is not None:
            self._wrong("QuotaIsReservedOnce", f"it holds quota in {workload.quota.cluster_queue}")
        if not workload.is_active:
            self._wrong("NoQuotaIsReservedWhileInactive", "it is inactive")
        if workload.is_held:
            self._wrong("NoQuotaIsReservedOnHold", "it is held")
        if workload.is_leaving:
            self._wrong("NoQuotaIsReservedWhileEvicting", "it is to be cancelled or deleted")
        if (workload.backs_off_until or 0) > at and not workload.is_imported:
            self._wrong("NoQuotaIsReservedInBackoff", f"until {workload.backs_off_until}")
        workload.quota, workload.is_admitted, workload.eviction = event.admission, False, ""
        workload.backs_off_until, workload.is_explained = None, False

    def _admitted(self, workload: AuditedWorkload) -> None:
        if workload.quota is None:
            self._wrong("OnlyWorkloadsWithQuotaAreAdmitted", "it holds none")
        if workload.is_admitted:
            self._wrong("WorkloadIsAdmittedOnce", "it is admitted")
        if workload.eviction:
            self._wrong("NoEvictingWorkloadIsAdmitted", workload.eviction)
        workload.is_admitted = True

    def _placed(self, workload: AuditedWorkload, event: e.WorkloadPlaced) -> None:
        if workload.quota is None:
            self._wrong("OnlyWorkloadsWithQuotaArePlaced", "it holds none")
        elif event.admission.cluster_queue != workload.quota.cluster_queue:
            self._wrong("SecondPassKeepsQuota", event.admission.cluster_queue)
        if workload.eviction:
            self._wrong("NoEvictingWorkloadIsPlaced", workload.eviction)

    def _evicted(self, workload: AuditedWorkload, event: e.WorkloadEvicted) -> None:
        if workload.quota is None:
            self._wrong("OnlyWorkloadsWithQuotaAreEvicted", event.reason)
        if workload.eviction:
            self._wrong("WorkloadIsEvictedOnceAtTime", workload.eviction)
        workload.eviction, workload.eviction_reason = event.eviction, event.reason
        workload.backs_off_until = event.requeue_at

    def _pods_evicted(self, workload: AuditedWorkload, event: WorkloadPodsEvicted) -> None:
        if workload.quota is None:
            self._wrong("OnlyWorkloadsWithQuotaEvictPods", event.eviction)
        if workload.eviction:
            self._wrong("WorkloadIsEvictedOnceAtTime", event.eviction)
        for asked in workload.pod_eviction.values():
            for name, count in event.pods.items():
                if event.counts[name] + count > asked.counts.get(name, event.counts[name] + count):
                    self._wrong("NoPodIsPromisedTwice", f"{count} of {name}")
            for name, named in event.indices.items():
                if shared := intersection(named, asked.indices.get(name, ())):
                    self._wrong("NoPodIsPromisedTwice", f"{text_of_ranges(shared)} of {name}")
        sets = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
        for name, count in event.counts.items():
            least = sets[name].min_count
            if count < (1 if least is None else least):
                self._wrong("ShrunkWorkloadKeepsItsGuaranteedCount", f"{count} of {name}")
        workload.pod_eviction[event.eviction] = event

    def _shrunk(self, workload: AuditedWorkload, event: WorkloadShrunk) -> None:
        asked = workload.pod_eviction.pop(event.eviction, None)
        if asked is None or asked.pods != event.pods:
            self._wrong("OnlyPodsOfEvictionAreStopped", event.eviction)
            return
        for name, named in event.indices.items() if asked.indices else ():
            if intersection(named, asked.indices.get(name, ())) != named:
                self._wrong("OnlyPodsOfEvictionAreStopped", f"{text_of_ranges(named)} of {name}")

    def _called_back(self, workload: AuditedWorkload, event: EvictionCancelled) -> None:
        if not is_leaving_for(workload, event.eviction):
            self._wrong("OnlyOngoingEvictionIsCancelled", event.eviction)
        if workload.eviction == event.eviction:
            workload.eviction = ""
        else:
            workload.pod_eviction.pop(event.eviction, None)

    def _stopped(self, workload: AuditedWorkload, event: e.WorkloadStopped) -> None:
        if workload.quota is None:
            self._wrong("QuotaIsReleasedOnce", "it holds none")
        elif workload.eviction != event.eviction:
            self._wrong("WhatStopsWasEvicted", f"{event.eviction} is not {workload.eviction!r}")
        end = ENDS_OF_EVICTIONS.get(workload.eviction_reason, "") if workload.is_admitted else ""
        self._let_go(workload)
        workload.end_after_stop = end

    def _dropped(self, workload: AuditedWorkload) -> None:
        if workload.quota is None:
            self._wrong("QuotaIsReleasedOnce", "it holds none")
        if workload.is_admitted:
            self._wrong("OnlyReservationsAreDropped", "it is admitted")
        self._let_go(workload)

    def _finished(self, workload: AuditedWorkload, event: e.WorkloadFinished) -> None:
        is_run = event.reason in {"Succeeded", "Failed"}
        if is_run and not workload.is_admitted and event.reason != workload.end_after_stop:
            self._wrong("OnlyWhatRanSucceedsOrFails", event.reason)
        workload.is_finished = True
        self._let_go(workload)

    def _deleted(self, key: str, workload: AuditedWorkload) -> None:
        # A reservation has no pods to stop, and ends with the workload.
        if workload.is_admitted and workload.quota is not None:
            self._wrong("NoWorkloadIsDeletedWithQuota", workload.quota.cluster_queue)
        if workload.quota is not None:
            self._let_go(workload)
        del self.workloads[key]

    def _let_go(self, workload: AuditedWorkload) -> None:
        workload.quota, workload.is_admitted, workload.eviction = None, False, ""
        workload.is_explained, workload.pod_eviction = False, {}
        workload.eviction_reason = workload.end_after_stop = ""

    def _wrong(self, code: str, detail: str) -> None:
        self._findings.add(code, detail)


def is_leaving_for(workload: AuditedWorkload, eviction: str) -> bool:
    """Whether all of it, or some of its pods, are on their way out by that eviction."""
    return workload.eviction == eviction or eviction in workload.pod_eviction


STRICT = "StrictFIFO"


def unexplained(
    lives: dict[str, AuditedWorkload], settings: ConfigurationAudit, now: Instant, grace: int
) -> Iterator[str]:
    """Keys of pending workloads without any reason that a user could be shown.

    Recorded explanations count, and so do reasons that need no evaluation: a hold, a backoff, a
    stopped or missing queue, the place behind an explained head of a strict queue, an explained
    workload of the same queue and priority with equal requests.
    """
    waiting = {
        key: workload
        for key, workload in lives.items()
        if workload.quota is None and not workload.is_finished
    }
    explained_queues = {
        _cluster_queue(workload, settings) for workload in waiting.values() if workload.is_explained
    }
    explained_wishes = {
        _wish(workload, settings) for workload in waiting.values() if workload.is_explained
    }
    for key, workload in sorted(waiting.items()):
        if now - workload.changed_at <= grace or workload.is_explained:
            continue
        if _wish(workload, settings) in explained_wishes:
            continue
        if not _is_plain(workload, settings, explained_queues):
            yield key


def _is_plain(
    workload: AuditedWorkload, settings: ConfigurationAudit, explained_queues: set[str]
) -> bool:
    if (
        not workload.is_active
        or workload.is_held
        or workload.is_leaving
        or workload.backs_off_until is not None
    ):
        return True
    local_queue = settings.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")
    queue = settings.cluster_queues.get(_cluster_queue(workload, settings))
    if local_queue is None or queue is None:
        return True
    if local_queue.stop_policy != "None" or queue.stop_policy != "None":
        return True
    named = {flavor.name for group in queue.resource_groups for flavor in group.flavors}
    if not named <= set(settings.flavors):
        return True
    return queue.queueing_strategy == STRICT and local_queue.cluster_queue in explained_queues


def _wish(workload: AuditedWorkload, settings: ConfigurationAudit) -> bytes:
    """Where it waits, how important it is, and all that its pods ask for, as one comparable."""
    pods = [
        (each.count, each.min_count, each.scheduling, each.topology_request)
        for each in workload.spec.pod_sets
    ]
    place = (_cluster_queue(workload, settings), workload.spec.priority)
    return msgspec.json.encode((place, pods), order="deterministic")


def _cluster_queue(workload: AuditedWorkload, settings: ConfigurationAudit) -> str:
    local_queue = settings.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")
    return local_queue.cluster_queue if local_queue else ""
