"""Everything the use cases of an API process work with, as one value."""

from dataclasses import dataclass, field
from pathlib import Path

from headgate.application.access.identity import TokenCache, Tokens
from headgate.application.access.request_limits import RequestLimits
from headgate.application.backtest_jobs import BacktestStore
from headgate.application.cooperative import BoundedExecutor
from headgate.application.database_clock import DatabaseClock
from headgate.application.event_hub import EventHub
from headgate.application.executor_stores import ExecutorLeases, Lease, PodSessions, RendezvousPorts
from headgate.application.group_commit import GroupCommit
from headgate.application.historical_ports import FixedClock, FixedReader
from headgate.application.historical_states import HistoricalReads
from headgate.application.live_state import LiveReader
from headgate.application.metrics_counters import EventCounters
from headgate.application.metrics_cycles import CycleDurations
from headgate.application.pod_log_store import LogStore
from headgate.application.ports import EventLog, Ids, Partitions, ReadModels
from headgate.application.projections.followers import Followers, Rebuilds
from headgate.application.readiness import ReadinessWatch
from headgate.application.scheduling_cycles import CycleStore
from headgate.application.uploads import UploadStore

BUSY_READING = "ReadsOverloaded"
BUSY_WRITING = "WritesOverloaded"
MAX_WRITES_WAITING = 20_000


@dataclass(frozen=True, slots=True)
class ApplicationServices:
    """The ports and the live state above them, at the present or at a past position.

    Commands use `write_log`, `write_models` and the threads of `writing`: neither slow reads nor
    many of them keep a command from a connection or a thread. `known_leases` are the leases of
    executors as this process saw them last, for readers.
    """

    log: EventLog
    models: ReadModels
    write_log: EventLog
    write_models: ReadModels
    partitions: Partitions
    followers: Followers
    tokens: Tokens
    leases: ExecutorLeases
    sessions: PodSessions
    rendezvous_ports: RendezvousPorts
    cycles: CycleStore
    backtests: BacktestStore
    ids: Ids
    clock: DatabaseClock | FixedClock
    token_cache: TokenCache
    commits: GroupCommit
    reader: LiveReader | FixedReader
    hub: EventHub
    rebuilds: Rebuilds
    event_counters: EventCounters
    cycle_durations: CycleDurations
    history: HistoricalReads
    ui_directory: Path
    version: str
    started_at: float
    pod_logs: LogStore
    uploads: UploadStore
    max_upload_bytes: int
    readiness: ReadinessWatch
    request_limits: RequestLimits
    known_leases: dict[str, Lease] = field(default_factory=dict)
    reading: BoundedExecutor = field(
        default_factory=lambda: BoundedExecutor("reading", BUSY_READING)
    )
    writing: BoundedExecutor = field(
        default_factory=lambda: BoundedExecutor(
            "writing", BUSY_WRITING, threads=4, max_waiting=MAX_WRITES_WAITING
        )
    )
