"""Detectors, with evidence: starvation, thrashing, blocked queues, unschedulable work, executors.

A workload is unschedulable if it could not be admitted on the emptied cluster either. A flavor is
unserved if no executor is connected for it, so that admitted workloads do not start.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from headgate.application.cooperative import Cooperative, at_once
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.executor_nodes import (
    executor_of_flavors,
    is_connected,
    nodes_of_flavor,
)
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import round_stream, workload_stream
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.pending_reasons import recorded_reason, unschedulable
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
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
    """The same in steps, as every workload is read."""
    never = yield from _unschedulable(cluster_state)
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


def _unschedulable(cluster_state: ClusterState) -> Cooperative[list[DetectedProblem]]:
    found = []
    for _, workload in sorted(cluster_state.workloads.items()):
        why = unschedulable(cluster_state, workload)
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


SECONDS_WITHOUT_REPORT = 15
"""A program without an Executor is taken for absent where it reports nothing for so long."""

ENDS = ("Succeeded", "Failed", "Cancelled")


class UnservedFlavor(msgspec.Struct, frozen=True, kw_only=True):
    """A flavor with its nodes and Executors, none of which is connected; empty for none at all.

    `unfinished` counts the workloads of its ClusterQueues that have not ended.
    """

    flavor: str
    nodes: tuple[str, ...]
    executors: tuple[str, ...]
    unfinished: int


def unserved_flavors(cluster_state: ClusterState, at: Instant) -> Cooperative[list[UnservedFlavor]]:
    """The flavors of ClusterQueues without a connected executor, by name.

    Where no Executor selects a flavor, a program may report without one: the flavor is unserved
    once an admitted workload has waited for a report while no other one of its queues runs.
    """
    config, found = cluster_state.config, []
    is_any_lost = not all(map(is_connected, config.executors.values()))
    queues = _queues_by_flavor(config)
    silent = yield from _silent_flavors(cluster_state, queues, at)
    for name in sorted(queues.keys() & config.resource_flavors.keys()):
        yield
        if not is_any_lost and name not in silent:
            continue
        nodes = nodes_of_flavor(config, config.resource_flavors[name])
        executors = {node.spec.executor for node in nodes} or {executor_of_flavors(config, (name,))}
        known = [config.executors[each] for each in executors if each in config.executors]
        if any(map(is_connected, known)) or ("" in executors and name not in silent):
            continue
        found.append(
            UnservedFlavor(
                flavor=name,
                nodes=tuple(sorted(node.name for node in nodes)),
                executors=tuple(sorted(executor.name for executor in known)),
                unfinished=sum(_unfinished(cluster_state, queue) for queue in queues[name]),
            )
        )
    return found


def _queues_by_flavor(config: ObjectSet) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, queue in sorted(config.cluster_queues.items()):
        offered = (each.name for group in queue.spec.resource_groups for each in group.flavors)
        for flavor in dict.fromkeys(offered):
            found.setdefault(flavor, []).append(name)
    return found


def _phases(cluster_state: ClusterState, queue: str) -> Mapping[str, int]:
    return cluster_state.partition_index.counts.get(f"clusterqueue/{queue}", {})


def _unfinished(cluster_state: ClusterState, queue: str) -> int:
    phases = _phases(cluster_state, queue)
    return sum(phases.values()) - sum(phases.get(end, 0) for end in ENDS)


def _silent_flavors(
    cluster_state: ClusterState, queues: Mapping[str, Iterable[str]], at: Instant
) -> Cooperative[frozenset[str]]:
    """Flavors with an admitted workload of which nothing was reported, and no running one."""
    starting = {
        flavor
        for flavor, names in queues.items()
        if any("Starting" in _phases(cluster_state, name) for name in names)
        and not any("Running" in _phases(cluster_state, name) for name in names)
    }
    found: set[str] = set()
    if not starting:
        return frozenset()
    for workload in tuple(cluster_state.workloads.values()):
        yield
        is_starting = phase_of(workload) == "Starting"
        if is_starting and _seconds_admitted(workload, at) >= SECONDS_WITHOUT_REPORT:
            found |= _flavors_of(workload) & starting
    return frozenset(found)


def _flavors_of(workload: Workload) -> set[str]:
    assert workload.admission is not None, "a starting workload is admitted"
    given = workload.admission.pod_set_assignments
    return {flavor for assignment in given for flavor in assignment.flavors.values()}


def _seconds_admitted(workload: Workload, at: Instant) -> int:
    admitted = condition(workload, "Admitted")
    assert admitted is not None, "a starting workload is admitted"
    return (at - admitted.last_transition_at) // MICROSECONDS_PER_SECOND
