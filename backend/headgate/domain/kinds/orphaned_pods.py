"""Orphaned pods: those that run on the nodes of an executor and that the event log does not know.

They are left by a restored backup that is older than they are. An executor reports all that it has
and what they use of its nodes; they run until an administrator decides otherwise.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.field_rules import count_violations, duplicate_violations, length_violations
from headgate.domain.rejection import IllegalNow, NotFound, Violation, child
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import WorkloadKey, WorkloadUid

MAX_ORPHANS = 1_000
MAX_ORPHAN_FIELD_LENGTH = 512

OrphanDecision = Literal["Kill", "Keep"]
"""`Kill` stops a pod within its grace period; `Keep` lets it run to its end."""


class OrphanedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A run of another log, and what an administrator decided on it.

    `id` is its executor's: opaque, as it stands in events without the workload beside it. `uid` is
    that of the workload in the other log; empty where the executor does not tell it.
    """

    id: str
    workload: WorkloadKey
    uid: WorkloadUid = ""
    pod_set: str
    index: int
    attempt: int = 1
    run: int = 1
    node: str = ""
    started_at: Instant | None = None
    decision: OrphanDecision | None = None


class ReportOrphans(msgspec.Struct, frozen=True, kw_only=True):
    """Record that these are all orphaned pods of the executor's newest process.

    `losses` is how often the log had lost events when they were found.
    """

    epoch: int
    orphans: tuple[OrphanedPod, ...]
    losses: int = 0


class DecideOrphans(msgspec.Struct, frozen=True, kw_only=True):
    """Decide on orphaned pods, by id."""

    pods: tuple[str, ...]
    decision: OrphanDecision


def orphan_violations(command: ReportOrphans) -> Iterator[Violation]:
    """Broken rules of a report."""
    yield from count_violations("/orphans", len(command.orphans), MAX_ORPHANS)
    ids = []
    for number, orphan in enumerate(command.orphans):
        place = f"/orphans/{number}"
        ids.append((child(place, "id"), orphan.id))
        for field in ("id", "workload", "uid", "pod_set", "node"):
            shown = "podSet" if field == "pod_set" else field
            least = 0 if field in {"uid", "node"} else 1
            value = getattr(orphan, field)
            yield from length_violations(
                child(place, shown), value, MAX_ORPHAN_FIELD_LENGTH, minimum=least
            )
    yield from duplicate_violations(ids)


def orphan_changes(
    known: tuple[OrphanedPod, ...], reported: tuple[OrphanedPod, ...]
) -> tuple[tuple[OrphanedPod, ...], tuple[str, ...]]:
    """The pods that were not known, and the ids of those that are gone."""
    ids, present = {each.id for each in known}, {each.id for each in reported}
    appeared = tuple(each for each in reported if each.id not in ids)
    return appeared, tuple(each.id for each in known if each.id not in present)


def changed_by(known: tuple[OrphanedPod, ...], command: DecideOrphans) -> tuple[str, ...]:
    """The pods that the decision changes.

    Raises `NotFound` for an id that is no orphan's, and `IllegalNow` for one that is being killed.
    """
    decisions = {each.id: each.decision for each in known}
    for pod in command.pods:
        if pod not in decisions:
            raise NotFound("ObjectNotFound", kind="Orphaned pod", name=pod)
        if decisions[pod] == "Kill" != command.decision:
            raise IllegalNow("OrphanIsBeingKilled", name=pod)
    return tuple(n for n in dict.fromkeys(command.pods) if decisions[n] != command.decision)


def with_decision(
    known: tuple[OrphanedPod, ...], pods: tuple[str, ...], decision: OrphanDecision
) -> tuple[OrphanedPod, ...]:
    """The orphans after a decision."""
    return tuple(
        msgspec.structs.replace(each, decision=decision) if each.id in pods else each
        for each in known
    )
