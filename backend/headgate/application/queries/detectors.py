"""Detectors, with evidence: starvation, thrashing, blocked queues, missed predictions, executors.

A workload is unschedulable if it could not be admitted on the emptied cluster either. A flavor is
unserved if no executor is connected for it, so that admitted workloads do not start.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headgate.application.access.redaction import NamespaceScope
from headgate.application.cooperative import Cooperative, at_once
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import round_stream, stream_of, workload_stream
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.fair_sharing_orders import local_queue_ranks
from headgate.domain.scheduling.pending_reasons import SharedReasons, unschedulable
from headgate.domain.scheduling.queueing.queue_checks import check_queues, cluster_queue_of
from headgate.domain.starts import MAX_RECENT_STARTS, RecentStart, verdict_on
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message, message, workload_reference
from headgate.domain.workload_index import (
    Affected,
    GroupKey,
    Unlisted,
    affected_of,
    oldest,
    unlisted,
)
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.state import Workload
from headgate.messages.catalogue import remedy_messages

ProblemKind = Literal["Starvation", "NeverStarts", "Thrash", "PredictionMissed", "FollowerDrift"]
LONG_WAIT_SECONDS = 3_600
OVERTAKERS = 5
"""So many younger ones of no higher priority must have started while it waited."""
LONG_HEAD_SECONDS = 3_600
"""A strict line that has not moved for so long is told, whatever its head waits for."""
THRASH_SECONDS = 3_600
THRASH_ROUNDS = 3
"""So many rounds between the same two in an hour are no coincidence."""
MISSED_SHOWN_SECONDS = 3 * 86_400
"""So long after its check a prediction that did not hold is told, over a weekend too."""
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


@dataclass(frozen=True, slots=True)
class DetectedProblems:
    """What the detectors found: of each kind the oldest workloads, and the sums of all others."""

    listed: list[DetectedProblem]
    unlisted: Mapping[str, Unlisted]


def detected_problems(cluster_state: ClusterState, at: Instant) -> list[DetectedProblem]:
    """What the state shows, the oldest workloads of each kind."""
    return at_once(detect_problems(cluster_state, at, None)).listed


def detect_problems(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> Cooperative[DetectedProblems]:
    """What concerns workloads in a scope, in steps: one for each group of workloads that are alike.

    Workloads of a group wait for the same reasons, so that only the first of each group is read,
    and those that are listed.
    """
    never = yield from _unschedulable(cluster_state, scope)
    starving = yield from _starving(
        cluster_state, at, {each.key for each in never if each.key is not None}, scope
    )
    reasons = {key: each.why for each in never for _, key in each.ages}
    sums = {
        "Starvation": unlisted(starving, at, cluster_state.workloads),
        "NeverStarts": unlisted(never, at, cluster_state.workloads),
    }
    return DetectedProblems(
        [
            *(_starvation(cluster_state, cluster_state.workloads[key]) for key in oldest(starving)),
            *(
                _unschedulable_problem(cluster_state.workloads[key], reason)
                for key in oldest(never)
                if (reason := reasons[key]) is not None
            ),
            *_thrashing(cluster_state, at, scope),
            *(_missed_predictions(cluster_state, at) if scope is None else ()),
        ],
        {kind: found for kind, found in sums.items() if found is not None},
    )


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


def _unschedulable(
    cluster_state: ClusterState, scope: NamespaceScope
) -> Cooperative[list[Affected]]:
    found = []
    shared = SharedReasons()
    for key in tuple(cluster_state.reads.index.groups):
        yield
        # Another read may have tried something in an overlay since, and undone it.
        group = cluster_state.reads.index.groups[key]
        if scope is None or key.namespace in scope:
            first = cluster_state.workloads[next(group.by_age())]
            why = unschedulable(cluster_state, first, shared)
            if why is not None:
                found.append(affected_of(group, len(group.ages), key, why))
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
    cluster_state: ClusterState, at: Instant, hopeless: Container[GroupKey], scope: NamespaceScope
) -> Cooperative[list[Affected]]:
    """The workloads that so many younger ones of no higher priority overtook.

    Of two workloads of a group the older one has all overtakers of the younger one, so that those
    that starve are the oldest of each group.
    """
    latest = at - LONG_WAIT_SECONDS * MICROSECONDS_PER_SECOND
    found = []
    for key in tuple(cluster_state.reads.index.groups):
        yield
        group = cluster_state.reads.index.groups[key]
        if (
            key in hopeless
            or not key.competes
            or (scope is not None and key.namespace not in scope)
        ):
            continue
        first = cluster_state.workloads[next(group.by_age())]
        starts = _starts_beside(cluster_state, first)
        if len(starts) < OVERTAKERS or check_queues(cluster_state.config, first) is not None:
            continue
        number = group.ages.rank((min(starts[-OVERTAKERS].created_at, latest + 1),))
        if number:
            found.append(affected_of(group, number, key))
    return found


def _starts_beside(cluster_state: ClusterState, workload: Workload) -> list[RecentStart]:
    """The starts of no higher priority in its ClusterQueue, the latest created last."""
    queue = cluster_queue_of(cluster_state.config, workload)
    return cluster_state.recent_starts.up_to(queue, workload.spec.priority)


def _starvation(cluster_state: ClusterState, workload: Workload) -> DetectedProblem:
    starts = _starts_beside(cluster_state, workload)
    overtakers = [start for start in starts if start.created_at > workload.created_at]
    last = max(overtakers, key=lambda start: (start.reserved_at, start.key))
    code = "StarvingDetail" if len(overtakers) < MAX_RECENT_STARTS else "StarvingDetailAtLeast"
    return DetectedProblem(
        "Starvation",
        workload.key,
        message("Starving", workload=workload_reference(workload.key)),
        message(
            code,
            overtakers=len(overtakers),
            queue=cluster_queue_of(cluster_state.config, workload),
            last=workload_reference(last.key),
        ),
        workload_stream(last.key),
        workload.namespace,
    )


@dataclass(frozen=True, slots=True)
class BlockedHead:
    """The head of a StrictFIFO queue with so many workloads behind it, and why it cannot start.

    `never` is None where others must end first.
    """

    cluster_queue: str
    workload: Workload
    behind: int
    never: Explanation | None


def blocked_heads(cluster_state: ClusterState, at: Instant) -> Iterator[BlockedHead | None]:
    """Heads that can never start, or that have waited for very long with others behind them.

    By ClusterQueue, with None for each that has no such head (trap Q21).
    """
    for name, key in sorted(cluster_state.partition_index.of_cluster_queue.items()):
        line = cluster_state.partition(key).pending[name]
        ranks = local_queue_ranks(cluster_state, name, cluster_state.changed_at)
        first = line.first(ranks) if line.strict else None
        head = cluster_state.workloads.get(first or "")
        if head is None or head.explanation is None:
            yield None
            continue
        behind, never = len(line.in_heap) - 1, unschedulable(cluster_state, head)
        waited = (at - head.created_at) // MICROSECONDS_PER_SECOND
        is_blocked = never is not None or (behind and waited >= LONG_HEAD_SECONDS)
        yield BlockedHead(name, head, behind, never) if is_blocked else None


def _thrashing(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> Iterator[DetectedProblem]:
    since = at - THRASH_SECONDS * MICROSECONDS_PER_SECOND
    pairs: dict[tuple[str, str], list[Round]] = {}
    for _, found in sorted(cluster_state.rounds.items()):
        if found.committed_at >= since:
            for victim in found.victims:
                one, other = sorted((found.preemptor, victim.workload))
                pairs.setdefault((one, other), []).append(found)
    for (one, other), rounds in sorted(pairs.items()):
        is_seen = scope is None or one.partition("/")[0] in scope
        if is_seen and len(rounds) >= THRASH_ROUNDS:
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


def _missed_predictions(cluster_state: ClusterState, at: Instant) -> Iterator[DetectedProblem]:
    """Queues in which waits exceed what a backtest predicted, by the checks of the last days."""
    since = at - MISSED_SHOWN_SECONDS * MICROSECONDS_PER_SECOND
    for key, found in sorted(cluster_state.recent_starts.predictions.items()):
        if found.checked_at is None or found.checked_at < since:
            continue
        for wait, observed in zip(found.waits, found.observed, strict=True):
            if verdict_on(observed) == "Missed":
                yield DetectedProblem(
                    "PredictionMissed",
                    wait.cluster_queue,
                    message("PredictionMissed", queue=wait.cluster_queue),
                    message(
                        "PredictionMissedBy",
                        longer=observed.started_later + observed.pending_longer,
                        workloads=observed.started + observed.pending_longer,
                        limit=wait.limit_seconds,
                        p95=wait.p95_seconds,
                    ),
                    stream_of("prediction", key),
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
