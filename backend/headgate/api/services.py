"""The installation an API process works with, made from the ports of its platform."""

import os
import time
from collections.abc import Callable, Iterable, Sequence

import structlog

from headgate.api.openapi import VERSION
from headgate.application.access.identity import TokenCache
from headgate.application.access.request_limits import RequestLimits, read_limits
from headgate.application.application_services import ApplicationServices
from headgate.application.database_clock import DatabaseClock
from headgate.application.event_hub import EventHub
from headgate.application.executor_stores import RendezvousPorts
from headgate.application.group_commit import GroupCommit
from headgate.application.live_state import LiveReader, recover_from_rewind
from headgate.application.metrics_counters import EventCounters
from headgate.application.metrics_cycles import CycleDurations
from headgate.application.pod_log_store import MEBIBYTE
from headgate.application.ports import AppendUnit, Nudges
from headgate.application.projections.followers import Rebuilds
from headgate.application.readiness import ReadinessWatch
from headgate.bootstrap import Platform

ALL_PARTITIONS = "*"
EXIT_SOFTWARE = 70
"""The exit status for an internal error, as sysexits.h has it."""
LOG = structlog.get_logger()


def application_services(platform: Platform) -> ApplicationServices:
    """Everything the use cases work with; nothing is read before it is started."""
    reader = LiveReader(platform.live_state(), platform.tail, recover_from_rewind, _exit_process)
    hub = EventHub(platform.event_log)
    commits = GroupCommit(platform.write_log, _nudging(platform.nudges, reader))
    return ApplicationServices(
        log=platform.event_log,
        models=platform.read_models,
        write_log=platform.write_log,
        write_models=platform.write_models,
        partitions=platform.partitions,
        followers=platform.followers,
        tokens=platform.tokens,
        leases=platform.leases,
        sessions=platform.sessions,
        rendezvous_ports=RendezvousPorts(platform.rendezvous_ports),
        cycles=platform.cycles,
        backtests=platform.backtests,
        ids=platform.ids,
        clock=DatabaseClock(platform.event_log),
        token_cache=TokenCache(platform.tokens, platform.settings.admin_token),
        commits=commits,
        reader=reader,
        hub=hub,
        rebuilds=Rebuilds(platform.followers),
        event_counters=EventCounters(),
        cycle_durations=CycleDurations(),
        history=platform.historical_reads(),
        ui_directory=platform.settings.ui_directory,
        version=VERSION,
        started_at=time.monotonic(),
        request_limits=RequestLimits(read_limits(platform.settings.request_limits)),
        pod_logs=platform.pod_logs,
        uploads=platform.uploads,
        max_upload_bytes=platform.settings.upload_mebibytes * MEBIBYTE,
        readiness=ReadinessWatch(platform.event_log_for_probes, platform.probe, commits),
    )


def partitions_to_nudge(units: Iterable[AppendUnit], keys: Sequence[str]) -> list[str]:
    """The partitions to nudge after these appends; `keys` are all there are."""
    woken = {key for unit in units for new in unit.events for key in new.wakes}
    return sorted({*woken - {ALL_PARTITIONS}, *(keys if ALL_PARTITIONS in woken else ())})


def _nudging(nudges: Nudges, reader: LiveReader) -> Callable[[Sequence[AppendUnit]], None]:
    """Tells workers of what was appended; the broker may be away, the log is not."""

    def nudge(units: Sequence[AppendUnit]) -> None:
        nudges.nudge(partitions_to_nudge(units, reader.cluster_state.partition_keys()))

    return nudge


def _exit_process(failure: BaseException) -> None:
    """Ends a process that cannot follow the log any more; a new one starts from the log."""
    LOG.critical("the log cannot be followed any more", exc_info=failure)
    os._exit(EXIT_SOFTWARE)
