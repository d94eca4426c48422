"""Detectors of starvation, thrashing, blocked queues and unschedulable work, with evidence.

Starvation (others of no better claim start before it, again and again) and thrash (the same two
evict each other) are asked about by users of every queue manager (kueue#3779, volcano#3729,
kueue#6947). Unschedulable workloads do not starve: no other workload is served in their place.
Blocked queues, admitted work that does not start and unusable configuration are reported beside
them.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headgate.application.cooperative import Cooperative, at_once
from headgate.application.queries.overview.unschedulable import UnschedulableProofs
from headgate.domain.cluster_state import ClusterState
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.streams import round_stream, workload_stream
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message, message, workload_reference
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.state import Workload, condition, phase_of
from headgate.messages.catalogue import remedy_messages

ProblemKind = Literal["Starvation", "NeverStarts", "Thrash", "FollowerDrift"]
LONG_WAIT_SECONDS = 3_600
OVERTAKERS = 5
"""So many younger ones of no higher priority must have started while it waited."""
THRASH_SECONDS = 3_600
THRASH_ROUNDS = 3
"""So many rounds between the same two in an hour are no coincidence."""
KEPT_OUT = ("Hold", "Queue", "Backoff")
"""Blockers that others neither cause nor profit from."""
DRIFT_EVENTS = 10_000
"""A read model that is so far behind is not just catching up."""


@dataclass(frozen=True, slots=True)
class DetectedProblem:
    """One finding of a detector; the last event of the stream `evidence` shows it."""

    kind: ProblemKind
    about: str
    title: Message
    detail: Message
    evidence: str = ""
    namespace: str = ""


def detected_problems(cluster_state: ClusterState, at: Instant) -> list[DetectedProblem]:
    """Everything that the state shows, in a fixed order."""
    return at_once(detect_problems(cluster_state, at))


def detect_problems(cluster_state: ClusterState, at: Instant) -> Cooperative[list[DetectedProblem]]:
    """The same in steps, as every workload is looked at."""
    never = yield from _unschedulable(cluster_state, at)
    hopeless = {found.about for found in never}
    starving = yield from _starving(cluster_state, at, hopeless)
    return [*starving, *never, *_thrashing(cluster_state, at)]


def drifted_followers(positions: Mapping[str, int], head: int) -> list[DetectedProblem]:
    """Read models that are too far behind the log."""
    return [
        DetectedProblem(
            "FollowerDrift",
            name,
            message("ReadModelLagging", name=name),
            message("ReadModelLag", events=head - position),
        )
        for name, position in sorted(positions.items())
        if head - position > DRIFT_EVENTS
    ]


def _unschedulable(cluster_state: ClusterState, at: Instant) -> Cooperative[list[DetectedProblem]]:
    found, proofs = [], UnschedulableProofs(cluster_state, at)
    for _, workload in sorted(cluster_state.workloads.items()):
        why = proofs.of(workload)
        if why is not None:
            found.append(_unschedulable_problem(workload, why))
        yield
    return found


def _unschedulable_problem(workload: Workload, why: Explanation) -> DetectedProblem:
    return DetectedProblem(
        "NeverStarts",
        workload.key,
        message("IsUnschedulable", workload=workload_reference(workload.key)),
        message("UnschedulableDetail", reason=why.reason_message, remedies=remedy_messages(why)),
        workload_stream(workload.key),
        workload.namespace,
    )


def _starving(
    cluster_state: ClusterState, at: Instant, hopeless: Container[str]
) -> Cooperative[list[DetectedProblem]]:
    started = _started_by_queue(cluster_state)
    latest = at - LONG_WAIT_SECONDS * MICROSECONDS_PER_SECOND
    old = [item for item in cluster_state.workloads.items() if item[1].created_at <= latest]
    found = []
    for key, workload in sorted(old):
        yield
        if phase_of(workload) != "Pending" or key in hopeless:
            continue
        queue = cluster_queue_of(cluster_state.config, workload)
        overtakers = [other for other in started.get(queue, ()) if _overtook(other, workload)]
        if len(overtakers) >= OVERTAKERS and _takes_part(cluster_state, workload, at):
            last = max(overtakers, key=lambda one: (_reserved_at(one), one.key))
            told = DetectedProblem(
                "Starvation",
                key,
                message("Starving", workload=workload_reference(key)),
                message(
                    "StarvingDetail",
                    overtakers=len(overtakers),
                    queue=queue,
                    last=workload_reference(last.key),
                ),
                workload_stream(last.key),
                workload.namespace,
            )
            found.append(told)
    return found


def _takes_part(cluster_state: ClusterState, workload: Workload, at: Instant) -> bool:
    """Whether nothing but its competitors keeps it out: no hold, no gate, no queue of its own."""
    why = recorded_reason(cluster_state, workload, at)
    return why is not None and all(b.type not in KEPT_OUT for b in why.blockers)


def _started_by_queue(cluster_state: ClusterState) -> dict[str, list[Workload]]:
    found: dict[str, list[Workload]] = {}
    for workload in cluster_state.workloads.values():
        if workload.admission is not None:
            found.setdefault(workload.admission.cluster_queue, []).append(workload)
    return found


def _overtook(other: Workload, waiting: Workload) -> bool:
    return other.created_at > waiting.created_at and other.spec.priority <= waiting.spec.priority


def _reserved_at(workload: Workload) -> Instant:
    found = condition(workload, "QuotaReserved")
    return found.last_transition_at if found else 0


def _thrashing(cluster_state: ClusterState, at: Instant) -> Iterator[DetectedProblem]:
    since = at - THRASH_SECONDS * MICROSECONDS_PER_SECOND
    pairs: dict[tuple[str, str], list[Round]] = {}
    for _, found in sorted(cluster_state.rounds.items()):
        if found.committed_at >= since:
            for victim in found.victims:
                one, other = sorted((found.preemptor, victim.workload))
                pairs.setdefault((one, other), []).append(found)
    for (one, other), rounds in sorted(pairs.items()):
        if len(rounds) >= THRASH_ROUNDS:
            last = max(rounds, key=lambda found: (found.committed_at, found.id))
            yield DetectedProblem(
                "Thrash",
                one,
                message(
                    "PreemptionThrash",
                    workload=workload_reference(one),
                    other=workload_reference(other),
                ),
                _loop_detail((one, other), rounds, _rule_of(last, (one, other))),
                round_stream(last.id),
                one.partition("/")[0],
            )


def _loop_detail(pair: tuple[str, str], rounds: Sequence[Round], rule: str) -> Message:
    one, other = map(workload_reference, pair)
    first, *more = sorted({found.preemptor for found in rounds})
    count = len(rounds)
    if more:
        return message("MutualPreemption", one=one, other=other, rounds=count, rule=rule)
    preemptor, victim = (one, other) if first == one.key else (other, one)
    return message(
        "RepeatedPreemption", preemptor=preemptor, victim=victim, rounds=count, rule=rule
    )


def _rule_of(found: Round, pair: Iterable[str]) -> str:
    names = tuple(pair)
    return next(victim.reason for victim in found.victims if victim.workload in names)
