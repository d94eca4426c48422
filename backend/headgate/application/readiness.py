"""Whether a process can serve: the database answers and takes writes, and workers decide.

And how it goes on where the log has lost events.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol

import msgspec
import structlog

from headgate.application.commands.append_unit import GroupCommit, rows_of
from headgate.application.failures import OutageCause
from headgate.application.live_state import LiveState
from headgate.application.ports import AppendUnit, EventLog, NewEvent, PartitionRow, Unavailable
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import LOG_STREAM, EventMetadata, LogRewound, evolve
from headgate.domain.scheduling.partition.wakes import ALL_PARTITIONS
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message

ANSWER_SECONDS = 1.5
"""A database that takes longer counts as hung; less than the timeout of a health check, 2 s."""
SECONDS_BETWEEN_LOOKS = 5.0
SECONDS_BETWEEN_PROBES = 30.0
"""While nothing else is appended."""
STALLED_SECONDS = 30.0
"""A partition with work counts as stalled once no worker has committed a plan for so long."""

WRITE_FAULTS: dict[OutageCause, Message] = {
    "DiskFull": message("DatabaseDiskFull"),
    "ReadOnly": message("DatabaseReadOnly"),
    "Unreachable": message("DatabaseUnreachable"),
}

log = structlog.get_logger()

ReadyStatus = Literal["ok", "degraded", "unavailable"]
Progress = tuple[int, int]
"""The idle position of a partition and its epoch; each plan that is committed moves the epoch."""


class DatabaseProbe(Protocol):
    """Looks at the database on connections that nothing else uses."""

    def partitions(self) -> list[PartitionRow]:
        """Every partition, by key; raises `Unavailable`."""

    def write(self) -> OutageCause | None:
        """Writes a little where no event is; returns why that failed, None if it did not."""


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the process can serve, and the reasons against it; none if it is ready."""

    status: ReadyStatus
    reasons: tuple[Message, ...] = ()


class StalledPartitions:
    """Finds the partitions that have work and on which no worker commits plans."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[Progress, float]] = {}

    def look(self, rows: list[PartitionRow], now: Instant, elapsed: float) -> dict[str, float]:
        """Returns for each partition with work the seconds without a committed plan.

        `now` is an instant of the database, `elapsed` is monotonic, in seconds.
        """
        since = {}
        for row in rows:
            if _has_work(row, now):
                progress = (row.idle_position, row.epoch)
                known = self._since.get(row.key)
                began = known[1] if known and known[0] == progress else elapsed
                since[row.key] = (progress, began)
        self._since = since
        return {key: elapsed - began for key, (_, began) in since.items()}


def _has_work(row: PartitionRow, now: Instant) -> bool:
    return row.last_position > row.idle_position or (
        row.next_due is not None and row.next_due <= now
    )


class ReadinessWatch:
    """Looks at the database every few seconds, and when it is asked."""

    def __init__(
        self,
        event_log: EventLog,
        probe: DatabaseProbe,
        commits: GroupCommit,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = event_log
        self._probe = probe
        self._commits = commits
        self._elapsed = elapsed
        self._stalled = StalledPartitions()
        self._probed_at = float("-inf")
        self._fault: OutageCause | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headgate-readiness")
        self._looking: asyncio.Future[Readiness] | None = None
        self._has_begun = True
        self.latest = Readiness(status="ok")

    async def look(self) -> Readiness:
        """Returns what is so now; a look that takes too long goes on and counts as a hang.

        Calls share a look that has not begun: what was so before the call is no answer.
        """
        if self._looking is None or self._has_begun:
            loop, self._has_begun = asyncio.get_running_loop(), False
            self._looking = loop.run_in_executor(self._thread, self._judge)
        try:
            self._set(await asyncio.wait_for(asyncio.shield(self._looking), ANSWER_SECONDS))
        except TimeoutError:
            self._set(_unavailable(message("DatabaseHangs")))
        return self.latest

    async def watch(self) -> None:
        """Looks again and again, for ever."""
        while True:
            await self.look()
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    def close(self) -> None:
        """Looks no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _set(self, found: Readiness) -> None:
        if found.status != self.latest.status:
            codes = [reason.code for reason in found.reasons]
            log.warning("readiness changed", status=found.status, reasons=codes)
        self.latest = found

    def _judge(self) -> Readiness:
        self._has_begun = True
        try:
            self._log.head()
            rows, now = self._probe.partitions(), self._log.now()
        except Unavailable:
            return _unavailable(message("DatabaseUnreachable"))
        except Exception:  # whatever it is, the process is not ready
            log.exception("the database cannot be read")
            return _unavailable(message("DatabaseUnreachable"))
        found = self._stalled.look(rows, now, self._elapsed())
        if (fault := self._write_fault()) is not None:
            return _unavailable(message("WritesFail", cause=WRITE_FAULTS[fault]))
        longest = max(found.values(), default=0.0)
        if longest < STALLED_SECONDS:
            return Readiness(status="ok")
        stalled = sum(seconds >= STALLED_SECONDS for seconds in found.values())
        reason = message(
            "SchedulingStalled", stalled=stalled, partitions=len(rows), since=int(longest)
        )
        return Readiness(status="degraded", reasons=(reason,))

    def _write_fault(self) -> OutageCause | None:
        """Why writes fail, by the last append, or by a small write where that is not enough."""
        if not self._commits.has_failed and self._fault is None:
            last = max(self._probed_at, self._commits.succeeded_at)
            if self._elapsed() - last < SECONDS_BETWEEN_PROBES:
                return None
        self._probed_at = self._elapsed()
        self._commits.has_failed = False
        self._fault = self._probe.write()
        return self._fault


def _unavailable(reason: Message) -> Readiness:
    return Readiness(status="unavailable", reasons=(reason,))


ACTOR = "system"


def recover_from_rewind(live: LiveState) -> ClusterState:
    """Folds the log as it is now, and records that it lost events, unless that is recorded.

    What is kept of the lost positions beside the log is deleted first. May be called again after
    it raised `Unavailable` or `PastLost`.
    """
    lost = live.lost
    assert lost is not None, "there is nothing to recover from"
    live.event_log.forget_lost_past()
    cluster_state = live.cluster_state
    history = cluster_state.log_history
    log.error("log rewound", read_up_to=lost.position, head=cluster_state.position)
    if history is None or history.count <= lost.known_rewinds:
        _record(live, lost.position)
    live.lost = None
    return cluster_state


def _record(live: LiveState, read_up_to: int) -> None:
    """Appends the event; a conflict says that another process was first."""
    cluster_state, at = live.cluster_state, live.event_log.now()
    event = LogRewound(read_up_to=read_up_to, head=cluster_state.position, observer=live.observer)
    state = evolve(cluster_state.state_of(LOG_STREAM), event, at)
    unit = AppendUnit(
        at=at,
        metadata=EventMetadata(actor=ACTOR),
        expected={LOG_STREAM: cluster_state.version_of(LOG_STREAM)},
        events=(NewEvent(stream=LOG_STREAM, event=event, wakes=ALL_PARTITIONS, guards=True),),
        rows=rows_of(LOG_STREAM, state),
        past=live.point,
    )
    live.event_log.append([unit])
