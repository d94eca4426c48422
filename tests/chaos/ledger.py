"""What the log says after the faults: nothing lost, nothing admitted twice, no gap."""

from collections import Counter
from dataclasses import dataclass

from headgate.adapters.postgres.connections import open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadFinished,
    WorkloadQuotaReserved,
    WorkloadStopped,
    WorkloadSubmitted,
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Counts over the whole log; streams in `twice` were given a place they had already."""

    events: int
    submitted: int
    submitted_twice: tuple[str, ...]
    admissions: int
    admitted_twice: tuple[str, ...]
    finished: int


def read_ledger(database_url: str) -> Ledger:
    """Read every event; raises `GapInLog` where a position is missing."""
    pool = open_pool(database_url)
    try:
        return _counted(PostgresEventLog(pool))
    finally:
        pool.close()


def _counted(log: PostgresEventLog) -> Ledger:
    submissions: Counter[str] = Counter()
    holding: set[str] = set()
    admitted: set[str] = set()
    twice: set[str] = set()
    admissions = finished = events = 0
    for recorded in log.read_all():
        events += 1
        stream = recorded.stream
        match recorded.event:
            case WorkloadSubmitted():
                submissions[stream] += 1
            case WorkloadQuotaReserved():
                twice |= {stream} & holding
                holding.add(stream)
            case WorkloadAdmitted():
                twice |= {stream} & admitted
                admitted.add(stream)
                admissions += 1
            case WorkloadStopped() | WorkloadFinished() as event:
                holding.discard(stream)
                admitted.discard(stream)
                finished += isinstance(event, WorkloadFinished)
            case _:
                pass
    repeated = tuple(sorted(stream for stream, count in submissions.items() if count > 1))
    return Ledger(events, len(submissions), repeated, admissions, tuple(sorted(twice)), finished)
