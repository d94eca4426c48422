"""Detectors, with evidence: starvation, thrashing, blocked queues, unschedulable work, executors.

A workload is unschedulable if its requests exceed the capacity even of an empty installation. A
flavor is unserved if no executor is connected for it, so that admitted workloads do not start.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec.structs import replace

from headgate.application.cooperative import Cooperative, at_once
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.executor_nodes import (
    executor_of_flavors,
    is_connected,
    nodes_of_flavor,
)
from headgate.domain.object_set import ObjectSet
from headgate.domain.rounds.state import Round
from headgate.domain.scheduling.flavors.eligibility import HOSTS_OF_OTHER_FLAVOR
from headgate.domain.scheduling.ordering.pending_queue import EquivalenceClass
from headgate.domain.scheduling.pending_reasons import evaluated_reason, recorded_reason
from headgate.domain.scheduling.queueing.pending_entry import equivalence_class
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.streams import round_stream, workload_stream
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message, message, workload_reference
from headgate.domain.workloads.explanation import Blocker, Explanation
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


UNSCHEDULABLE = ("ExceedsMaxQuota", "NoMatchingFlavor", "TopologyPlacementFailed")
"""Why a workload waits that no other workload's end can help."""


class UnschedulableProofs:
    """The unschedulable workloads of one moment; equal requests are evaluated once."""

    def __init__(self, cluster_state: ClusterState, at: Instant) -> None:
        self._state, self._at = cluster_state, at
        self._found: dict[tuple[str, EquivalenceClass], Explanation | None] = {}

    def of(self, workload: Workload) -> Explanation | None:
        """What proves that a workload waits for ever as it is; None where it may start some day.

        Recorded reasons only select what to evaluate: quotas and hosts may have changed since.
        """
        if phase_of(workload) != "Pending" or not _is_told_so(self._state, workload):
            return None
        known = recorded_reason(self._state, workload, self._at)
        if known is None or known.dominant not in UNSCHEDULABLE:
            return None
        fewest = _with_fewest_pods(workload)
        kind = (cluster_queue_of(self._state.config, workload), equivalence_class(fewest))
        if kind not in self._found:
            self._found[kind] = evaluated_reason(self._state, fewest)
        found = self._found[kind]
        return found if found is not None and _is_proof(found) else None


def unschedulable_workloads(
    cluster_state: ClusterState, at: Instant
) -> Iterator[tuple[Workload, Explanation]]:
    """Every pending workload that is unschedulable, with its proof, by key."""
    proofs = UnschedulableProofs(cluster_state, at)
    for _, workload in sorted(cluster_state.workloads.items()):
        found = proofs.of(workload)
        if found is not None:
            yield workload, found


def _is_told_so(cluster_state: ClusterState, workload: Workload) -> bool:
    """By its recorded reason, or that of a workload with an equal request: cheap enough for all."""
    found = workload.explanation
    if found is None:
        partition = cluster_state.partition(cluster_state.partition_index.key_of(workload))
        line = partition.pending.get(cluster_queue_of(cluster_state.config, workload))
        other = line.explained_equivalent(workload.key) if line is not None else None
        found = cluster_state.workloads[other].explanation if other else None
    return found is not None and found.dominant in UNSCHEDULABLE


def _is_proof(found: Explanation) -> bool:
    is_hopeless = found.dominant in UNSCHEDULABLE and all(map(_is_for_good, found.blockers))
    return is_hopeless and not _has_a_way(found)


def _with_fewest_pods(workload: Workload) -> Workload:
    pod_sets = workload.spec.pod_sets
    fewest = tuple(
        p if p.min_count is None else replace(p, count=p.min_count, min_count=None)
        for p in pod_sets
    )
    return (
        workload
        if fewest == pod_sets
        else replace(workload, spec=replace(workload.spec, pod_sets=fewest))
    )


def _is_for_good(blocker: Blocker) -> bool:
    """Hosts that are out may come back, and other choices may leave other hosts to its pods."""
    is_unusable = any(each.cause == "Unusable" for each in blocker.excluded_hosts)
    return not is_unusable and blocker.message.code != HOSTS_OF_OTHER_FLAVOR


def _has_a_way(found: Explanation) -> bool:
    """Whether some pod set could have a flavor in which only others stand in its way."""
    for_good = {(b.pod_set, b.flavor) for b in found.blockers if b.reason in UNSCHEDULABLE}
    return any(
        b.flavor and b.reason not in UNSCHEDULABLE and (b.pod_set, b.flavor) not in for_good
        for b in found.blockers
    )


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
