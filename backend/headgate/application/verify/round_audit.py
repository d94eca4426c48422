"""Preemption rounds: every victim accounted for, every end the only one."""

import msgspec

from headgate.application.verify import Findings
from headgate.application.verify.lifecycle_audit import AuditedWorkload, is_leaving_for
from headgate.domain.rounds import state as r
from headgate.domain.values.instants import Instant


class AuditedRound(msgspec.Struct, kw_only=True):
    """One round so far."""

    id: str
    preemptor: str
    victims: frozenset[str]
    released: set[str]
    changed_at: Instant
    is_satisfied: bool = False
    lost_its_place: bool = False
    is_over: bool = False


class RoundAudit:
    """All rounds by stream, judged against the lives of preemptor and victims."""

    def __init__(self, workloads: dict[str, AuditedWorkload], findings: Findings) -> None:
        self._workloads = workloads
        self._findings = findings
        self.courses: dict[str, AuditedRound] = {}

    def read(self, stream: str, event: r.RoundEvent, at: Instant) -> None:
        """Judge and follow one step of a round."""
        if isinstance(event, r.RoundCommitted):
            self._committed(stream, event, at)
            return
        course = self.courses.get(stream)
        if course is None:
            self._findings.add("RoundBeginsByBeingCommitted", type(event).__name__)
            return
        if course.is_over:
            self._findings.add("RoundEndsOnce", type(event).__name__)
        course.changed_at = at
        match event:
            case r.VictimReleased():
                self._released(course, event)
            case r.PlacementInvalidated():
                course.lost_its_place = True
            case r.RoundSatisfied():
                self._all_released(course)
                course.is_satisfied = True
            case r.RoundCompleted():
                self._completed(course)
                course.is_over = True
            case r.RoundSuperseded() | r.RoundAborted() | r.RoundExpired():
                course.is_over = True

    def check_end(self, now: Instant, grace: int) -> None:
        """Every round is over, or open for a reason: a victim that has not stopped, or a wait."""
        for stream, course in self.courses.items():
            if course.is_over or now - course.changed_at <= grace:
                continue
            waits_for = [
                key for key in course.victims - course.released if self._still(key, course)
            ]
            changed = [
                workload.changed_at
                for key in course.victims
                if (workload := self._workloads.get(key))
            ]
            settled = all(now - at > grace for at in changed)
            if not course.is_satisfied and not waits_for and settled:
                self._findings.add(
                    "OpenRoundWaitsForVictim", "AllVictimsAreReleased", stream=stream
                )
            preemptor = self._workloads.get(course.preemptor)
            if (preemptor is None or preemptor.is_finished) and settled:
                self._findings.add("OpenRoundHasPreemptor", course.preemptor, stream=stream)

    def _committed(self, stream: str, event: r.RoundCommitted, at: Instant) -> None:
        if stream in self.courses:
            self._findings.add("RoundIsCommittedOnce", event.round_id)
        victims = frozenset(victim.workload for victim in event.victims)
        if event.preemptor in victims:
            self._findings.add("NoWorkloadPreemptsItself", event.preemptor)
        for key in sorted(victims):
            workload = self._workloads.get(key)
            if workload is None or workload.quota is None:
                self._findings.add("VictimsHoldQuota", key)
        preemptor = self._workloads.get(event.preemptor)
        if preemptor is None or preemptor.quota is not None:
            self._findings.add("EveryPreemptorIsPending", event.preemptor)
        self.courses[stream] = AuditedRound(
            id=event.round_id,
            preemptor=event.preemptor,
            victims=victims,
            released=set(),
            changed_at=at,
        )

    def _released(self, course: AuditedRound, event: r.VictimReleased) -> None:
        key = event.workload
        if key not in course.victims:
            self._findings.add("RoundReleasesItsOwnVictims", key)
        if key in course.released:
            self._findings.add("VictimIsReleasedOnce", key)
        if self._still(key, course):
            self._findings.add("ReleasedVictimHasNoQuota", key)
        course.released.add(key)

    def _all_released(self, course: AuditedRound) -> None:
        missing = sorted(course.victims - course.released)
        if missing:
            self._findings.add("RoundIsSatisfiedOnceAllVictimsAreReleased", ", ".join(missing))

    def _completed(self, course: AuditedRound) -> None:
        """Victims may still be evicting where others freed capacity (preemption.md §6.10)."""
        if course.lost_its_place:
            self._findings.add("LostNominationIsNotFinalPlacement", course.preemptor)
        preemptor = self._workloads.get(course.preemptor)
        if preemptor is None or preemptor.quota is None:
            self._findings.add("SatisfiedRoundHasNominatedCapacity", course.preemptor)

    def _still(self, key: str, course: AuditedRound) -> bool:
        """Whether the victim still holds what this round takes from it."""
        workload = self._workloads.get(key)
        return (
            workload is not None
            and workload.quota is not None
            and is_leaving_for(workload, course.id)
        )
