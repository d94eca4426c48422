"""The wiring: which adapter fills which port."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from celery import Celery

from headgate.adapters.celery import (
    ADMISSION_QUEUE,
    UPKEEP_QUEUE,
    CeleryNudges,
    broker_failure,
    make_celery,
)
from headgate.adapters.postgres.archive import LogArchive, LogArchiveFiles
from headgate.adapters.postgres.archived_events import ArchivedEvents
from headgate.adapters.postgres.connections import Pool, open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.adapters.postgres.executor_stores import (
    PostgresCauseHistory,
    PostgresLeases,
    PostgresRendezvousPorts,
    PostgresSessions,
    PostgresWebhookSecrets,
)
from headgate.adapters.postgres.followers import PostgresFollowers
from headgate.adapters.postgres.log_archiver import PostgresLogArchiver
from headgate.adapters.postgres.maintenance import (
    PostgresInspection,
    PostgresMaintenance,
    PostgresProbe,
    migrate,
)
from headgate.adapters.postgres.partitions import PostgresPartitions
from headgate.adapters.postgres.read_models import PostgresCycleStore, PostgresReadModels
from headgate.adapters.postgres.stores import (
    PostgresSavedViews,
    PostgresSimulationStore,
    PostgresStateCache,
    PostgresTokens,
)
from headgate.adapters.postgres.tail import AppendListener, PastComparison, PostgresTail
from headgate.adapters.shared_directory import UPLOADS, DirectoryContentStore, DirectoryLogStore
from headgate.adapters.system.clocks_and_randomness import TimeOrderedIds, unique_key
from headgate.adapters.system.process_start import check_traces, configure_log_lines
from headgate.adapters.webhooks import HttpWebhookSender, read_networks
from headgate.application.application_services import AlertPorts
from headgate.application.backtest_runs import BacktestRunner
from headgate.application.cause_history import forget_old_causes
from headgate.application.file_stores import (
    GIBIBYTE,
    ContentStore,
    LogStore,
    remove_old_logs,
    remove_old_uploads,
)
from headgate.application.historical_states import HistoricalReads, HistoricalStates
from headgate.application.live_state import LiveState
from headgate.application.maintenance import (
    ArchiveRule,
    AutomaticArchive,
    Maintenance,
    MaintenanceSchedule,
    MaintenanceTask,
    SnapshotComparison,
)
from headgate.application.projections.followers import FollowerRunner
from headgate.application.run_partition import Budget, Scheduler
from headgate.application.scheduling_cycles import SHARE_PREFIX, CycleRecord, Shares
from headgate.application.snapshot_store import (
    CACHE_NAME,
    Snapshot,
    SnapshotOptions,
    SnapshotRule,
    SnapshotStore,
)
from headgate.domain.object_set import ObjectSet
from headgate.domain.workloads.state import Workload
from headgate.event_log.folds import STATE_VERSIONS
from headgate.settings import AnswerLimits, Settings

if TYPE_CHECKING:
    from headgate.adapters.traces import OtlpTraces

__all__ = [
    "ADMISSION_QUEUE",
    "UPKEEP_QUEUE",
    "WORKER_PREFIX",
    "AnswerLimits",
    "AppendListener",
    "Platform",
    "broker_failure",
    "celery_application",
    "migrate",
    "open_platform",
    "unique_key",
]

OBJECT_STORAGE = "s3://"
LOG_ARCHIVE = ".log-archive"
"""The folder of archived events; pod logs and uploads may be beside it."""
WORKER_PREFIX = "headgate-worker"
"""The prefix of the names of workers' database connections."""
PROBE_ANSWER_SECONDS = 2.0
"""A database that takes longer to answer a probe hangs."""

Report = Callable[[str, Exception], None]


@dataclass(frozen=True, slots=True)
class Platform:
    """Every port of a process with its adapter; `name` identifies its database connections."""

    name: str
    settings: Settings
    pool: Pool
    pools: tuple[Pool, ...]
    past_comparison: PastComparison
    event_log: PostgresEventLog
    read_models: PostgresReadModels
    write_log: PostgresEventLog
    write_models: PostgresReadModels
    partitions: PostgresPartitions
    followers: PostgresFollowers
    state_cache: PostgresStateCache
    cycles: PostgresCycleStore
    simulations: PostgresSimulationStore
    maintenance: PostgresMaintenance
    inspection: PostgresInspection
    tokens: PostgresTokens
    leases: PostgresLeases
    sessions: PostgresSessions
    rendezvous_ports: PostgresRendezvousPorts
    webhook_secrets: PostgresWebhookSecrets
    saved_views: PostgresSavedViews
    tail: PostgresTail
    pod_logs: LogStore
    uploads: ContentStore
    log_archiver: PostgresLogArchiver
    probe: PostgresProbe
    event_log_for_probes: PostgresEventLog
    nudges: CeleryNudges
    ids: TimeOrderedIds
    traces: "OtlpTraces | None"

    def alert_ports(self) -> AlertPorts:
        """Returns what tells webhooks; raises `InvalidNetworks`."""
        return AlertPorts(
            sender=HttpWebhookSender(read_networks(self.settings.webhook_networks)),
            secrets=self.webhook_secrets,
            causes=PostgresCauseHistory(self.pool),
            url=self.settings.url,
        )

    def live_state(self) -> LiveState:
        """Returns a live fold of the log for one thread, read at its first use."""
        return LiveState(self.event_log, self.state_cache, time.monotonic, observer=self.name)

    def historical_reads(self) -> HistoricalReads:
        """Returns the reads of past states, read at their first use."""
        return HistoricalReads(HistoricalStates(self.event_log, self.state_cache), time.monotonic)

    def scheduler(self, report: Report) -> Scheduler:
        """Returns the scheduler of a worker; it calls `report` for quarantined partitions."""
        live = self.live_state()
        self.past_comparison.begin(live.compared_point, live.mark_stale)
        return Scheduler(
            partitions=self.partitions,
            live=live,
            ids=self.ids,
            owner=self.name,
            elapsed=time.monotonic,
            report=report,
            budget=Budget(
                plan_seconds=self.settings.cycle_budget_milliseconds / 1_000,
                sweep_seconds=self.settings.sweep_seconds,
            ),
            note=self._note_cycles,
            shares=Shares(lambda: self.inspection.sessions(SHARE_PREFIX)),
        )

    def _note_cycles(self, record: CycleRecord) -> None:
        self.cycles.put(record)
        if self.traces is not None:
            self.traces.cycles(record)

    def follower_runner(self, report: Report) -> FollowerRunner:
        """Returns the runner of read models; it calls `report` for those that fail."""
        return FollowerRunner(self.followers, self.event_log, time.monotonic, report)

    def backtest_runner(self, report: Report) -> BacktestRunner:
        """Returns the runner of backtests; it calls `report` for those that fail."""
        return BacktestRunner(
            store=self.simulations,
            event_log=self.event_log,
            states=self.historical_reads().states,
            owner=self.name,
            elapsed=time.monotonic,
            report=report,
        )

    def automatic_archive(self) -> AutomaticArchive | None:
        """Returns what archives partitions of the log; None where the settings name no store."""
        if not self.log_archiver.has_store:
            return None
        rule = ArchiveRule.of(self.settings.log_archive_days, self.settings.log_archive_gibibytes)
        return AutomaticArchive(
            self.log_archiver, self.event_log, self.state_cache, rule, time.monotonic
        )

    def archive(self) -> LogArchive:
        """Returns the archive of log partitions."""
        return LogArchive(self.pool)

    def archive_files(self) -> LogArchiveFiles:
        """Returns the files of archived partitions."""
        return LogArchiveFiles(self.pool)

    def cached_up_to(self) -> int:
        """Returns the position of the newest snapshot that this version reads; 0 without one."""
        found = self.state_cache.newest(CACHE_NAME, STATE_VERSIONS.readable)
        return found.position if found else 0

    def build_snapshot(self) -> int:
        """Folds the log and keeps a snapshot of this version, unless there is one near its end.

        Returns the position of the one that is there, 0 for an empty log. Raises `GapInLog` where
        the log lacks its beginning and no snapshot that this version reads stands in for it.
        """
        head = self.event_log.head()
        found = self.state_cache.newest(CACHE_NAME, STATE_VERSIONS.readable[:1], at_most=head)
        if found is not None and head - found.position < SnapshotRule().events:
            return found.position
        if head == 0:
            return 0
        live, store = self.live_state(), SnapshotStore(self.state_cache, self.event_log)
        store.put(Snapshot(live.cluster_state, live.point))
        return live.point.position

    def maintenance_schedule(self, tasks: tuple[MaintenanceTask, ...]) -> MaintenanceSchedule:
        """Returns the schedule of maintenance tasks, with those that need ports of a process."""
        causes = PostgresCauseHistory(self.pool)
        removals: dict[str, Callable[[Maintenance], int]] = {
            "remove old pod logs": lambda _: self.remove_old_pod_logs(),
            "remove old uploads": lambda _: self.remove_old_uploads(),
            "forget closed causes": lambda _: forget_old_causes(causes, self.event_log.now()),
        }
        names = removals.items()
        retention = [MaintenanceTask(name=n, every_seconds=900.0, run=run) for n, run in names]
        options, archive = SnapshotOptions(observer=self.name), self.automatic_archive()
        comparison = SnapshotComparison(self.state_cache, self.event_log, time.monotonic, options)
        every = (*tasks, *retention, comparison.task(), *([archive.task()] if archive else []))
        return MaintenanceSchedule(every, self.maintenance, time.monotonic)

    def remove_old_uploads(self) -> int:
        """Deletes the uploads that retention does not keep; returns how many."""

        def load() -> tuple[ObjectSet, list[Workload]]:
            live = self.live_state()
            live.catch_up_with_log()
            return live.cluster_state.config, list(live.cluster_state.workloads.values())

        return remove_old_uploads(self.uploads, load, self.event_log.now())

    def remove_old_pod_logs(self) -> int:
        """Deletes the pod logs that retention does not keep; returns of how many runs."""
        max_bytes = self.settings.pod_logs_gibibytes * GIBIBYTE
        return remove_old_logs(
            self.pod_logs, self.read_models, self.event_log.now(), max_bytes=max_bytes
        )

    def close(self) -> None:
        """Closes all connections, and with them every lock."""
        self.nudges.close()
        self.pod_logs.close()
        for pool in self.pools:
            pool.close()
        if self.traces is not None:
            self.traces.close()


def open_platform(
    settings: Settings, name: str = "headgate", limits: AnswerLimits | None = None
) -> Platform:
    """Returns the platform of a process on the database and broker of `settings`.

    Reads, writes, tokens and probes have pools of their own: what holds up one of them leaves the
    others their connections. Connections are made when they are needed.
    """
    configure_log_lines(settings.log_level, settings.log_format)
    limits = limits or AnswerLimits()
    past_comparison = PastComparison()

    def opened(most: int, use: str, seconds: float | None) -> Pool:
        return open_pool(
            settings.database_url,
            most=most,
            min_size=0 if use else 1,
            name=f"{name} {use}".rstrip(),
            answer_seconds=seconds,
            on_connect=past_comparison.compare,
        )

    pool = opened(8, "", limits.reads_seconds)
    writes = opened(5, "writes", limits.writes_seconds)
    tokens = opened(2, "tokens", limits.tokens_seconds)
    probes = opened(1, "probe", PROBE_ANSWER_SECONDS)
    past_comparison.pools = (pool, writes, tokens, probes)
    log_archive = open_log_archive(settings)
    archived = None if log_archive is None else ArchivedEvents(log_archive)
    return Platform(
        name=name,
        settings=settings,
        pool=pool,
        pools=past_comparison.pools,
        past_comparison=past_comparison,
        event_log=PostgresEventLog(pool, archived),
        read_models=PostgresReadModels(pool),
        write_log=PostgresEventLog(writes, archived),
        write_models=PostgresReadModels(writes),
        partitions=PostgresPartitions(pool),
        followers=PostgresFollowers(pool, archived=archived),
        state_cache=PostgresStateCache(pool),
        cycles=PostgresCycleStore(pool),
        simulations=PostgresSimulationStore(pool),
        maintenance=PostgresMaintenance(pool),
        inspection=PostgresInspection(pool, settings.database_url),
        tokens=PostgresTokens(tokens),
        leases=PostgresLeases(writes),
        sessions=PostgresSessions(writes),
        rendezvous_ports=PostgresRendezvousPorts(writes),
        webhook_secrets=PostgresWebhookSecrets(writes),
        saved_views=PostgresSavedViews(writes),
        pod_logs=open_pod_logs(settings),
        uploads=open_uploads(settings),
        log_archiver=PostgresLogArchiver(pool, log_archive),
        tail=PostgresTail(settings.database_url),
        probe=PostgresProbe(probes),
        event_log_for_probes=PostgresEventLog(probes),
        nudges=CeleryNudges(celery_application(settings)),
        ids=TimeOrderedIds(),
        traces=open_traces(settings, name),
    )


def open_traces(settings: Settings, name: str) -> "OtlpTraces | None":
    """Returns what sends the traces of a process, where the settings say so.

    Raises `StartRefused` without the extra `traces`.
    """
    check_traces(is_on=settings.traces)
    if not settings.traces:
        return None
    from headgate.adapters.traces import OtlpTraces  # noqa: PLC0415 - comes with an extra

    return OtlpTraces(name.partition(" ")[0])


def open_pod_logs(settings: Settings) -> LogStore:
    """Returns the store of pod logs that the settings name; nothing is written before a chunk is.

    Object storage needs the extra `s3`.
    """
    if not settings.pod_logs.startswith(OBJECT_STORAGE):
        named = settings.pod_logs or settings.directory / "pod-logs"
        return DirectoryLogStore(Path(named))
    from headgate.adapters.object_storage import ObjectLogStore  # noqa: PLC0415 - boto3 comes with an extra

    bucket, _, prefix = settings.pod_logs.removeprefix(OBJECT_STORAGE).partition("/")
    return ObjectLogStore(bucket, prefix, settings.pod_logs_endpoint)


def celery_application(settings: Settings) -> Celery:
    """Returns the Celery application on the broker of `settings`."""
    return make_celery(settings.broker_url)


def open_uploads(settings: Settings) -> ContentStore:
    """Returns the store of uploads, beside the pod logs."""
    place = settings.pod_logs or str(settings.directory / "pod-logs")
    return _file_store(place, settings.pod_logs_endpoint, UPLOADS)


def open_log_archive(settings: Settings) -> ContentStore | None:
    """Returns the store of archived events; None where the settings name none."""
    if not settings.log_archive:
        return None
    return _file_store(settings.log_archive, settings.log_archive_endpoint, LOG_ARCHIVE)


def _file_store(place: str, endpoint: str, folder: str) -> ContentStore:
    if not place.startswith(OBJECT_STORAGE):
        return DirectoryContentStore(Path(place), folder)
    from headgate.adapters.object_storage import ObjectContentStore  # noqa: PLC0415 - boto3 comes with an extra

    bucket, _, prefix = place.removeprefix(OBJECT_STORAGE).partition("/")
    return ObjectContentStore(bucket, prefix, endpoint, folder)
