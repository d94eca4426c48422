"""Following read models brought up to date, what queues did by minute, what preemptions cost.

A read model that fails never holds up the others.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
import structlog

from headgate.application.ports import EventFilter, EventLog, Unavailable
from headgate.application.projections import Count, Projection, ProjectionState, Put, RowChange
from headgate.application.projections.workload_pods import PodFilter, PodRows, WorkloadPods
from headgate.domain.kinds.local_queue import LocalQueueCreated
from headgate.domain.recorded_event import DomainEvent, RecordedEvent, stream_of
from headgate.domain.rounds.state import RoundCommitted
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import is_gpu
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadQuotaReserved,
    WorkloadSpecChanged,
    WorkloadSubmitted,
)
from headgate.event_log.chain import PastLost

MINUTE = 60 * MICROSECONDS_PER_SECOND


FOLDED: frozenset[type[DomainEvent]] = frozenset(
    (
        LocalQueueCreated,
        WorkloadSubmitted,
        WorkloadSpecChanged,
        WorkloadQuotaReserved,
        WorkloadAdmitted,
        WorkloadEvicted,
        WorkloadFinished,
        WorkloadDeleted,
    )
)


class QueueHistoryByMinute:
    """Fills `Projection`; remembers where LocalQueues lead and which queue a workload is in."""

    name = "queue_history"

    def folds(self, event_class: type[DomainEvent]) -> bool:
        """Whether events of this class are counted, or tell where a workload is."""
        return event_class in FOLDED

    def state_keys(self, recorded: RecordedEvent) -> tuple[str, ...]:
        """The workload, and the LocalQueue it names."""
        if not recorded.stream.startswith("workload/"):
            return ()
        match recorded.event:
            case WorkloadSubmitted(spec=spec) | WorkloadSpecChanged(spec=spec):
                return (recorded.stream, _door(recorded.stream, spec.queue_name))
            case _:
                return (recorded.stream,)

    def changes(self, recorded: RecordedEvent, memory: ProjectionState) -> list[RowChange]:
        """One more of what happened, in the queue the workload was in."""
        stream = recorded.stream
        match recorded.event:
            case LocalQueueCreated(spec=local_queue):
                memory[stream] = local_queue.cluster_queue
            case WorkloadSubmitted(spec=spec):
                memory[stream] = memory.get(_door(stream, spec.queue_name), "")
                return [_one_more("submitted", recorded, memory)]
            case WorkloadSpecChanged(spec=spec):
                memory[stream] = memory.get(_door(stream, spec.queue_name), memory.get(stream, ""))
            case WorkloadQuotaReserved(admission=admission):
                memory[stream] = admission.cluster_queue
            case WorkloadAdmitted():
                return [_one_more("admitted", recorded, memory)]
            case WorkloadEvicted():
                return [_one_more("evicted", recorded, memory)]
            case WorkloadFinished():
                finished = _one_more("finished", recorded, memory)
                # Nothing that is counted follows, and ended workloads are the most.
                memory.pop(stream, None)
                return [finished]
            case WorkloadDeleted():
                memory.pop(stream, None)
            case _:
                pass
        return []


def _door(stream: str, queue_name: str) -> str:
    """The stream of the LocalQueue that a workload of this stream names."""
    namespace = stream.split("/")[1]
    return stream_of("localqueue", queue_name, namespace)


def _one_more(counter: str, recorded: RecordedEvent, memory: ProjectionState) -> Count:
    minute = recorded.at - recorded.at % MINUTE
    queue = memory.get(recorded.stream, "")
    return Count({"cluster_queue": queue, "minute": minute}, counter)


class QueueMinute(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in one ClusterQueue in the minute that begins at `minute`.

    `cluster_queue` is "" for workloads of an absent LocalQueue.
    """

    cluster_queue: str
    minute: Instant
    submitted: int = 0
    admitted: int = 0
    evicted: int = 0
    finished: int = 0


class QueueHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Minutes as of a position; those in which nothing happened are left out."""

    position: int
    minutes: list[QueueMinute]


class Admissions(msgspec.Struct, frozen=True, kw_only=True):
    """Admissions in all ClusterQueues as of a position, by the beginning of their minute."""

    position: int
    by_minute: dict[Instant, int]


def admissions_in_log(
    log: EventLog, since: Instant, *, streams: tuple[str, ...] = (), after: int = 0
) -> dict[Instant, int]:
    """The admissions since an instant and after a position by the beginning of their minute."""
    where = EventFilter(types=("workload.admitted",), streams=streams, since=since, after=after)
    return {each.at: each.count for each in log.histogram(where, width=MINUTE)}


class PreemptionVictims:
    """Fills `Projection`: a row for each victim of each preemption round, as it was committed."""

    name = "preemption_victim"

    def folds(self, event_class: type[DomainEvent]) -> bool:
        """Whether events of this class begin a round."""
        return event_class is RoundCommitted

    def state_keys(self, recorded: RecordedEvent) -> tuple[str, ...]:
        """None: a round is told whole by its first event."""
        del recorded
        return ()

    def changes(self, recorded: RecordedEvent, memory: ProjectionState) -> list[RowChange]:
        """The victims, of which one stands for the round in each count of rounds."""
        del memory
        begun, found, counted = recorded.event, list[RowChange](), set[tuple[str, str]]()
        if not isinstance(begun, RoundCommitted):
            return found
        for victim in begun.victims:
            groups = {
                "is_first": ("", ""),
                "is_first_of_queue": ("queue", victim.cluster_queue),
                "is_first_of_rule": ("rule", victim.reason),
            }
            values = {
                "position": recorded.position,
                "committed_at": recorded.at,
                "preemptor": begun.preemptor,
                "preemptor_priority": begun.preemptor_priority,
                "preemptor_queue": begun.cluster_queue,
                "preemptor_cohort": begun.cohort,
                "victim_queue": victim.cluster_queue,
                "victim_cohort": victim.cohort,
                "rule": victim.reason,
                "gpu_seconds": victim.running_seconds
                * sum(amount for name, amount in victim.freed.items() if is_gpu(name)),
                **{flag: group not in counted for flag, group in groups.items()},
            }
            counted.update(groups.values())
            key = {"round": begun.round_id, "victim": victim.workload}
            found.append(Put(key=key, values=values))
        return found


class RoundFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Rounds: every condition that is given holds for the round or one of its victims.

    `since` and `until` bound when rounds were committed.
    """

    workload: str = ""
    cluster_queue: str = ""
    preemptor_queue: str = ""
    victim_queue: str = ""
    cohort: str = ""
    rule: str = ""
    since: Instant | None = None
    until: Instant | None = None


class PreemptionQuery(RoundFilter, frozen=True, kw_only=True):
    """The rounds to sum: `up_to` a position, and with preemptor or a victim of `namespaces`."""

    namespaces: frozenset[str] | None = None
    up_to: int | None = None


class PreemptionSum(msgspec.Struct, frozen=True, kw_only=True):
    """Rounds with one thing in common, which `names` names, and what their victims lost.

    `priority` and `cluster_queue` are the highest of the preemptors; `gpu_seconds` are the GPUs of
    each victim times the seconds it had run.
    """

    names: tuple[str, ...] = ()
    rounds: int = 0
    victims: int = 0
    gpu_seconds: int = 0
    cluster_queue: str = ""
    priority: int = 0
    rules: tuple[str, ...] = ()
    first_at: Instant = 0
    last_at: Instant = 0


class PreemptionSums(msgspec.Struct, frozen=True, kw_only=True):
    """Sums as of a position, most GPU-seconds first; the most frequent of `repeated` first.

    `pairs` are ClusterQueues of preemptors and of their victims, `repeated` two workloads of which
    one preempted the other `MIN_REPEATS` times or more.
    """

    position: int
    total: PreemptionSum = PreemptionSum()
    preemptors: list[PreemptionSum] = []
    pairs: list[PreemptionSum] = []
    queues: list[PreemptionSum] = []
    rules: list[PreemptionSum] = []
    repeated: list[PreemptionSum] = []


MAX_SUMS = 500
MIN_REPEATS = 3


PROJECTIONS: tuple[Projection, ...] = (
    QueueHistoryByMinute(),
    WorkloadPods(),
    PreemptionVictims(),
)
"""Every followed read model there is."""

RETRY_SECONDS = 30.0
BATCH = 5_000


class Followers(Protocol):
    """Read models that follow the log by checkpoint, rows and checkpoint in one transaction."""

    def names(self) -> tuple[str, ...]:
        """The read models there are."""

    def positions(self) -> dict[str, int]:
        """Returns the position of each projection."""

    def advance(self, *names: str, limit: int = 5_000) -> int:
        """Folds the next events into those of these read models that stand farthest behind.

        Returns how many events there were; raises `PastLost` by a checkpoint. All fold, or none.
        """

    def rebuild(self, name: str) -> None:
        """Rebuilds a projection from position 0 beside the live one, then swaps them."""

    def queue_history(
        self, *, since: Instant, until: Instant, cluster_queue: str = ""
    ) -> QueueHistory:
        """What happened in one or all ClusterQueues, minute by minute, oldest first."""

    def admissions(self, since: Instant) -> Admissions:
        """The admissions of each minute from the one that begins then."""

    def pods(self, query: PodFilter) -> PodRows:
        """A page of the pods of one attempt of a workload, and the counts of all attempts."""

    def preemption_sums(self, query: PreemptionQuery) -> PreemptionSums:
        """What preemptions cost; of preemptors, pairs and repeats the first `MAX_SUMS`."""


@dataclass(slots=True)
class FollowerRunner:
    """Keeps followers up to date, wherever it runs; several at a time do no harm.

    `elapsed` counts seconds; `report` is told of each follower that failed; it
    then rests a while.
    """

    followers: Followers
    event_log: EventLog
    elapsed: Callable[[], float]
    report: Callable[[str, Exception], None]
    _resting_until: dict[str, float] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)

    def advance_all(self, is_stopping: Callable[[], bool]) -> int:
        """Fold everything new into every read model; how many events there were."""
        return self._advance(self.followers.names(), is_stopping)

    def advance_abandoned(self, is_stopping: Callable[[], bool]) -> int:
        """Fold only where a read model has stood still behind the log since the last call.

        So a process with other work takes over where no upkeep worker runs.
        """
        head = self.event_log.head()
        positions = self.followers.positions()
        abandoned = tuple(
            n for n, at in sorted(positions.items()) if at != head and self._seen.get(n) == at
        )
        folded = self._advance(abandoned, is_stopping)
        self._seen = self.followers.positions() if abandoned else positions
        return folded

    def _advance(self, names: Sequence[str], is_stopping: Callable[[], bool]) -> int:
        """Advances read models together, so that each event is read and decoded once for all."""
        now = self.elapsed()
        awake = tuple(name for name in names if now >= self._resting_until.get(name, 0.0))
        if not awake:
            return 0
        try:
            return self._fold(awake, is_stopping)
        except Unavailable:
            raise
        except Exception:  # noqa: BLE001 - which of them failed shows when each is advanced alone
            return sum(self._advance_alone(name, is_stopping) for name in awake)

    def _advance_alone(self, name: str, is_stopping: Callable[[], bool]) -> int:
        try:
            return self._fold((name,), is_stopping)
        except Unavailable:
            raise
        except PastLost:
            # Its rows show events that the log has lost.
            self.followers.rebuild(name)
        except Exception as failure:  # noqa: BLE001 - a read model that cannot fold is stale, the rest is not
            self._resting_until[name] = self.elapsed() + RETRY_SECONDS
            self.report(name, failure)
        return 0

    def _fold(self, names: tuple[str, ...], is_stopping: Callable[[], bool]) -> int:
        folded = 0
        while not is_stopping() and (count := self.followers.advance(*names, limit=BATCH)):
            folded += count
        return folded


LOG = structlog.get_logger()


class Rebuilds:
    """Runs rebuilds; asking again for one that runs changes nothing."""

    def __init__(self, followers: Followers) -> None:
        self._followers = followers
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str) -> None:
        """Begin to rebuild a read model, unless it is being rebuilt."""
        if name not in self._running:
            task = asyncio.create_task(asyncio.to_thread(self._followers.rebuild, name))
            self._running[name] = task
            task.add_done_callback(lambda ended: self._ended(name, ended))

    def running(self) -> tuple[str, ...]:
        """The read models that are being rebuilt."""
        return tuple(sorted(self._running))

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        del self._running[name]
        if not task.cancelled() and (failure := task.exception()) is not None:
            LOG.error("rebuilding failed", read_model=name, exc_info=failure)
