"""The life of every workload, each step checked against what may follow what."""

import msgspec

from headgate.application.verify.findings import Findings
from headgate.domain.values.instants import Instant
from headgate.domain.workloads import events as e
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
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
"""Facts that may still be told of a workload that has finished."""


class AuditedWorkload(msgspec.Struct, kw_only=True):
    """What matters of one workload for judging its next step."""

    namespace: str
    spec: WorkloadSpec
    created_at: Instant
    changed_at: Instant
    quota: Admission | None = None
    is_admitted: bool = False
    eviction: str = ""
    pod_eviction: dict[str, WorkloadPodsEvicted] = {}
    is_finished: bool = False
    is_active: bool = True
    is_held: bool = False
    backs_off_until: Instant | None = None
    is_leaving: bool = False
    is_explained: bool = False


class LifecycleAudit:
    """All workloads by key; `read` answers with the quota that this very event gave back."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.lives: dict[str, AuditedWorkload] = {}

    def read(self, key: str, event: e.WorkloadEvent, at: Instant) -> Admission | None:
        """Judge and follow one step; the admission that is over with it, if one is."""
        life = self.lives.get(key)
        if isinstance(event, e.WorkloadSubmitted):
            self._submitted(key, life, event, at)
            return None
        if life is None:
            self._wrong("events concern existing workloads", type(event).__name__)
            return None
        if life.is_finished and not isinstance(event, AFTER_THE_END):
            self._wrong("nothing happens after the end", type(event).__name__)
        held = life.quota
        self._step(key, life, event, at)
        if not isinstance(event, e.WorkloadExplained):
            life.changed_at = at
        return held if held is not None and life.quota is None else None

    def _submitted(
        self, key: str, life: AuditedWorkload | None, event: e.WorkloadSubmitted, at: Instant
    ) -> None:
        if life is not None:
            self._wrong("a name is free before it is used again", f"{key} still exists")
        self.lives[key] = AuditedWorkload(
            namespace=event.namespace,
            spec=event.spec,
            created_at=at,
            changed_at=at,
            is_active=event.spec.active,
        )

    def _step(self, key: str, life: AuditedWorkload, event: e.WorkloadEvent, at: Instant) -> None:
        match event:
            case e.WorkloadQuotaReserved():
                self._reserved(life, event, at)
            case e.WorkloadAdmitted():
                self._admitted(life)
            case e.WorkloadEvicted():
                self._evicted(life, event)
            case e.WorkloadStopped():
                self._stopped(life, event)
            case e.ReservationDropped():
                self._dropped(life)
            case e.WorkloadFinished():
                self._finished(life, event)
            case e.WorkloadDeleted():
                self._deleted(key, life)
            case _:
                self._small_step(life, event)

    def _small_step(self, life: AuditedWorkload, event: e.WorkloadEvent) -> None:
        match event:
            case e.WorkloadHostsFailed() | e.WorkloadHostsRecovered():
                if life.quota is None:
                    self._wrong("hosts fail for placed workloads", type(event).__name__)
            case e.WorkloadPlaced():
                self._placed(life, event)
            case e.WorkloadScaledDown():
                if life.quota is None or life.eviction:
                    self._wrong(
                        "only running workloads are scaled down",
                        life.eviction or "it holds no quota",
                    )
            case e.WorkloadPodsReady() | e.WorkloadPodsNotReady():
                if not life.is_admitted:
                    self._wrong("only admitted pods are ready or not", type(event).__name__)
            case e.WorkloadCheckReported() | e.WorkloadChecksRequired():
                if life.quota is None:
                    self._wrong("checks concern workloads with quota", type(event).__name__)
            case EvictionCancelled():
                self._called_back(life, event)
            case WorkloadPodsEvicted():
                self._pods_evicted(life, event)
            case WorkloadShrunk():
                self._shrunk(life, event)
            case e.EvictionAcknowledged() | e.EvictionProgressed():
                if not is_leaving_for(life, event.eviction):
                    self._wrong("handlers report on ongoing evictions", event.eviction)
            case e.WorkloadExplained():
                life.is_explained = True
                if life.quota is not None:
                    self._wrong("only pending workloads have reasons recorded", "it holds quota")
            case e.WorkloadRequeued():
                life.backs_off_until = None
                if life.quota is not None:
                    self._wrong("only workloads without quota are requeued", event.reason)
            case e.WorkloadSpecChanged():
                life.spec, life.is_explained = event.spec, False
                life.is_active = event.spec.active
            case e.WorkloadHeld():
                life.is_held = True
            case e.WorkloadReleased():
                life.is_held = False
            case e.WorkloadDeactivated():
                life.is_active, life.backs_off_until = False, None
            case e.WorkloadActivated():
                life.is_active, life.backs_off_until = True, None
            case e.WorkloadDeletionRequested() | e.WorkloadCancellationRequested():
                life.is_leaving = True
            case _:
                pass

    def _reserved(self, life: AuditedWorkload, event: e.WorkloadQuotaReserved, at: Instant) -> None:
        if life.quota is not None:
            self._wrong("quota is reserved once", f"it holds quota in {life.quota.cluster_queue}")
        if not life.is_active:
            self._wrong("no quota is reserved while inactive", "it is inactive")
        if life.is_held:
            self._wrong("no quota is reserved on hold", "it is held")
        if life.is_leaving:
            self._wrong("no quota is reserved while evicting", "it is to be cancelled or deleted")
        if life.backs_off_until is not None and life.backs_off_until > at:
            self._wrong("no quota is reserved in backoff", f"until {life.backs_off_until}")
        life.quota, life.is_admitted, life.eviction = event.admission, False, ""
        life.backs_off_until, life.is_explained = None, False

    def _admitted(self, life: AuditedWorkload) -> None:
        if life.quota is None:
            self._wrong("only workloads with quota are admitted", "it holds none")
        if life.is_admitted:
            self._wrong("a workload is admitted once", "it is admitted")
        if life.eviction:
            self._wrong("no evicting workload is admitted", life.eviction)
        life.is_admitted = True

    def _placed(self, life: AuditedWorkload, event: e.WorkloadPlaced) -> None:
        if life.quota is None:
            self._wrong("only workloads with quota are placed", "it holds none")
        elif event.admission.cluster_queue != life.quota.cluster_queue:
            self._wrong("a second pass keeps the quota", event.admission.cluster_queue)
        if life.eviction:
            self._wrong("no evicting workload is placed", life.eviction)

    def _evicted(self, life: AuditedWorkload, event: e.WorkloadEvicted) -> None:
        if life.quota is None:
            self._wrong("only workloads with quota are evicted", event.reason)
        if life.eviction:
            self._wrong("a workload is evicted once at a time", life.eviction)
        life.eviction, life.backs_off_until = event.eviction, event.requeue_at

    def _pods_evicted(self, life: AuditedWorkload, event: WorkloadPodsEvicted) -> None:
        if life.quota is None:
            self._wrong("only workloads with quota evict pods", event.eviction)
        if life.eviction:
            self._wrong("a workload is evicted once at a time", event.eviction)
        for asked in life.pod_eviction.values():
            for name, count in event.pods.items():
                if event.counts[name] + count > asked.counts.get(name, event.counts[name] + count):
                    self._wrong("no pod is promised twice", f"{count} of {name}")
        sets = {pod_set.name: pod_set for pod_set in life.spec.pod_sets}
        for name, count in event.counts.items():
            if count < (sets[name].min_count or 1):
                self._wrong("a shrunk workload keeps its guaranteed count", f"{count} of {name}")
        life.pod_eviction[event.eviction] = event

    def _shrunk(self, life: AuditedWorkload, event: WorkloadShrunk) -> None:
        asked = life.pod_eviction.pop(event.eviction, None)
        if asked is None or asked.pods != event.pods:
            self._wrong("only pods of an eviction are stopped", event.eviction)

    def _called_back(self, life: AuditedWorkload, event: EvictionCancelled) -> None:
        if not is_leaving_for(life, event.eviction):
            self._wrong("only an ongoing eviction is cancelled", event.eviction)
        if life.eviction == event.eviction:
            life.eviction = ""
        else:
            life.pod_eviction.pop(event.eviction, None)

    def _stopped(self, life: AuditedWorkload, event: e.WorkloadStopped) -> None:
        if life.quota is None:
            self._wrong("quota is released once", "it holds none")
        elif life.eviction != event.eviction:
            self._wrong("what stops was evicted", f"{event.eviction} is not {life.eviction!r}")
        self._let_go(life)

    def _dropped(self, life: AuditedWorkload) -> None:
        if life.quota is None:
            self._wrong("quota is released once", "it holds none")
        if life.is_admitted:
            self._wrong("only reservations are dropped", "it is admitted")
        self._let_go(life)

    def _finished(self, life: AuditedWorkload, event: e.WorkloadFinished) -> None:
        if event.reason in {"Succeeded", "Failed"} and not life.is_admitted:
            self._wrong("only what ran succeeds or fails", event.reason)
        life.is_finished = True
        self._let_go(life)

    def _deleted(self, key: str, life: AuditedWorkload) -> None:
        if life.quota is not None:
            self._wrong("no workload is deleted with quota", life.quota.cluster_queue)
            self._let_go(life)
        del self.lives[key]

    def _let_go(self, life: AuditedWorkload) -> None:
        life.quota, life.is_admitted, life.eviction = None, False, ""
        life.is_explained, life.pod_eviction = False, {}

    def _wrong(self, rule: str, detail: str) -> None:
        self._findings.add(rule, detail)


def is_leaving_for(life: AuditedWorkload, eviction: str) -> bool:
    """Whether all of it, or some of its pods, are on their way out by that eviction."""
    return life.eviction == eviction or eviction in life.pod_eviction
