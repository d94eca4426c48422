"""Everything the use cases of an API process work with, as one value, its clock among them."""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from headgate.application.access.identity import SavedViewStore, TokenCache, Tokens
from headgate.application.access.redaction import NamespaceScope
from headgate.application.access.request_limits import RequestLimits
from headgate.application.commands.append_unit import GroupCommit
from headgate.application.cooperative import BoundedExecutor
from headgate.application.event_hub import EventHub
from headgate.application.executor_stores import ExecutorLeases, Lease, PodSessions, RendezvousPorts
from headgate.application.file_stores import ContentStore, LogStore, LogStoreSize
from headgate.application.historical_ports import FixedClock, FixedReader
from headgate.application.historical_states import CapacitySamples, HistoricalReads
from headgate.application.live_state import LiveReader
from headgate.application.maintenance import ArchiveStatus
from headgate.application.metrics_counters import EventCounters
from headgate.application.metrics_durations import (
    CycleDurations,
    RequestDurations,
    StartCalibrations,
)
from headgate.application.ports import EventLog, Ids, Partitions, ReadModels, WorkloadQuery
from headgate.application.projections.followers import Followers, Rebuilds
from headgate.application.readiness import ReadinessWatch
from headgate.application.scheduling_cycles import CycleStore
from headgate.application.simulation_records import SimulationStore
from headgate.application.workload_filter import WorkloadFilter
from headgate.domain.kinds.acknowledgment import CauseSeverity
from headgate.domain.recorded_event import RecordedEvent, workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message
from headgate.domain.workloads.ended import ENDED_PHASES
from headgate.domain.workloads.state import Workload, WorkloadsByKey

SYNCHRONIZE_SECONDS = 1.0
"""A step of the database's clock stands in the times of events after at most that long."""
MAX_CLOCK_READS = 4
SHORT_ROUND_TRIP = 5_000
"""Microseconds in which the database answers unless it, or this process, has no time for it."""


class DatabaseClock:
    """Keeps in step with the log's clock by comparing it with a monotonic one now and then."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._offset: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether `now` answers without asking the database."""
        return self._offset is not None

    def now(self) -> Instant:
        """The instant it is in the database, to within a round trip."""
        if self._offset is None:
            self.read_database()
        return _monotonic() + (self._offset or 0)

    def read_database(self) -> None:
        """Read the database's clock; blocks for one round trip, or some where they take long.

        Of some the shortest counts: it is the instant known best, to within half of what it took.
        Until then the clock goes on as before.
        """
        took, offset = self._round_trip()
        for _ in range(MAX_CLOCK_READS - 1):
            if took <= SHORT_ROUND_TRIP:
                break
            took, offset = min((took, offset), self._round_trip())
        self._offset = offset

    def _round_trip(self) -> tuple[int, int]:
        """The microseconds that an answer took, and what the database's clock is ahead by."""
        before = _monotonic()
        there = self._log.now()
        after = _monotonic()
        return after - before, there - (before + after) // 2

    async def synchronize(self) -> None:
        """Look again and again, for ever; an outage leaves the clock running as it is."""
        while True:
            await asyncio.sleep(SYNCHRONIZE_SECONDS)
            try:
                await asyncio.to_thread(self.read_database)
            except Exception:  # noqa: BLE001, S112 - the next use of the database reports the outage
                continue


def _monotonic() -> int:
    return time.monotonic_ns() // 1_000


class RequestSpan(Protocol):
    """The time of one request in a trace; `traceparent` is what its events refer to."""

    traceparent: str

    def note_status(self, status: int) -> None:
        """Note the status of the answer."""


class Traces(Protocol):
    """Where an API process sends what it did and when, if it does."""

    def request(
        self, name: str, header: str, attributes: Mapping[str, str]
    ) -> AbstractContextManager[RequestSpan]:
        """The span of a request, below the caller's where its header names one."""

    def follow(self, batch: Sequence[RecordedEvent]) -> None:
        """Take in new events of the log."""


class DeliveryResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one delivery; without a `failure` the receiver has confirmed it."""

    status_code: int | None = None
    failure: Message | None = None
    milliseconds: int = 0


class WebhookSender(Protocol):
    """Posts notifications to receivers."""

    def forbidden_address(self, url: str) -> str:
        """The host of a URL where it is an address that no delivery may reach, else empty."""

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> DeliveryResult:
        """Posts a body; a failure is part of the result."""


class WebhookSecrets(Protocol):
    """The secrets that notifications are signed with, by the uid of their webhook. Blocking."""

    def valid(self, webhook: str) -> list[str]:
        """The secrets of a webhook, the newest first; none where it has none yet."""

    def replace(self, webhook: str, secret: str, *, previous_seconds: int) -> None:
        """Keep a new secret; the one before is valid for so long, all older ones no more."""

    def forget(self, webhooks: Sequence[str]) -> None:
        """Delete all secrets of webhooks."""


class CauseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A cause from when it opened to when it closed; it is open without `closed_at`.

    `severity`, `count` and `gpu_seconds` are the highest while it was open, `title` that of then.
    """

    key: str
    opened_at: Instant
    closed_at: Instant | None = None
    kind: str
    severity: CauseSeverity
    title: str
    unit: str
    count: int
    gpu_seconds: int
    link: str


class CauseHistory(Protocol):
    """When causes opened and closed, beside the log. Blocking.

    One process at a time holds the right to write, so that none is recorded twice, and what only
    one process sees does not open and close in turn.
    """

    def claim(self, holder: str, seconds: int) -> bool:
        """Whether a holder may write for so long from now: as the one before, or after its end."""

    def open_causes(self) -> list[CauseRecord]:
        """The causes that have not closed, by key."""

    def keep(self, holder: str, records: Sequence[CauseRecord]) -> bool:
        """Keeps records in place of those with their key and opening; False without the right."""

    def closed_causes(self, *, since: Instant, limit: int) -> list[CauseRecord]:
        """The causes that closed at or after an instant, the last closed first."""

    def forget_closed(self, *, before: Instant) -> int:
        """Deletes the causes that closed before an instant; returns how many."""


@dataclass(frozen=True, slots=True)
class AlertPorts:
    """What sends notifications, what signs them, what records causes; the address of the page."""

    sender: WebhookSender
    secrets: WebhookSecrets
    causes: CauseHistory
    url: str = ""


class MapRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A domain or host on the map of a topology; amounts stand in the order of its resources.

    `ready` and `cordoned` count hosts, `faulty` those with a device that has uncorrected errors. A
    host has `flavors`, the ClusterQueue that takes most of it, empty where that is withheld, and
    the highest priority there; None without workloads.
    """

    ready: int
    cordoned: int
    faulty: int
    flavors: tuple[str, ...] = ()
    queue: str | None = None
    priority: int | None = None
    allocatable: tuple[int, ...]
    used: tuple[int, ...]
    others: tuple[int, ...]
    free: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KnownMap:
    """A map at a position, and at which position each row was first seen as it is.

    Changes are known since the positions in `seen`, at which maps with these domains and resources
    were made: of what was between two of them nothing is known.
    """

    position: int
    seen: tuple[int, ...]
    levels: tuple[str, ...]
    resources: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    rows: tuple[MapRow, ...]
    changed: tuple[int, ...]


BUSY_READING = "ReadsOverloaded"
BUSY_WRITING = "WritesOverloaded"
MAX_WRITES_WAITING = 20_000


@dataclass(frozen=True, slots=True)
class ApplicationServices:
    """The ports and the live state above them, at the present or at a past position.

    Commands use `write_log`, `write_models` and the threads of `writing`: neither slow reads nor
    many of them keep a command from a connection or a thread. `known_leases` are the leases of
    executors as this process saw them last, for readers, and `known_maps` the latest maps by
    topology and reader.
    """

    log: EventLog
    models: ReadModels
    write_log: EventLog
    write_models: ReadModels
    partitions: Partitions
    followers: Followers
    tokens: Tokens
    saved_views: SavedViewStore
    leases: ExecutorLeases
    sessions: PodSessions
    rendezvous_ports: RendezvousPorts
    cycles: CycleStore
    simulations: SimulationStore
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
    pod_log_size: LogStoreSize
    uploads: ContentStore
    archive_status: ArchiveStatus
    max_upload_bytes: int
    readiness: ReadinessWatch
    request_limits: RequestLimits
    alerts: AlertPorts
    traces: Traces | None = None
    request_durations: RequestDurations = field(default_factory=RequestDurations)
    start_calibrations: StartCalibrations = field(default_factory=StartCalibrations)
    known_leases: dict[str, Lease] = field(default_factory=dict)
    known_maps: dict[tuple[str, NamespaceScope], KnownMap] = field(default_factory=dict)
    capacity_samples: CapacitySamples = field(default_factory=CapacitySamples)
    reading: BoundedExecutor = field(
        default_factory=lambda: BoundedExecutor("reading", BUSY_READING)
    )
    writing: BoundedExecutor = field(
        default_factory=lambda: BoundedExecutor(
            "writing", BUSY_WRITING, threads=4, max_waiting=MAX_WRITES_WAITING
        )
    )


MAX_LOADED = 500
"""So many rows are read at once."""


async def whole_workloads(services: ApplicationServices, keys: Collection[str]) -> WorkloadsByKey:
    """The workloads of these keys that there are: of the live state, or of their rows.

    The live state has none of those that ended before the latest.
    """
    known = services.reader.cluster_state.workloads
    found = {key: known[key] for key in keys if key in known}
    streams = [workload_stream(key) for key in keys if key not in known]
    for start in range(0, len(streams), MAX_LOADED):
        rows = await asyncio.to_thread(services.models.load, streams[start : start + MAX_LOADED])
        states = (row.state for row in rows)
        found |= {state.key: state for state in states if isinstance(state, Workload)}
    return found


async def ended_workloads(
    services: ApplicationServices, where: WorkloadFilter
) -> AsyncIterator[list[Workload]]:
    """The ended workloads that match a filter by rows, the newest first, some at a time."""
    query = WorkloadQuery(
        where=msgspec.structs.replace(where, phases=ENDED_PHASES), limit=MAX_LOADED
    )
    while True:
        page = await asyncio.to_thread(services.models.workloads, query)
        if page:
            yield [row.state for row in page]
        if len(page) < query.limit:
            return
        last = page[-1].state
        query = msgspec.structs.replace(query, after=(last.created_at, last.key))
