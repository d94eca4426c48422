"""Recovery of a process with a fold of events that the log has lost, by a backup or a failover."""

import structlog

from headgate.application.commands.append_unit import rows_of
from headgate.application.live_state.live_state import LiveState
from headgate.application.ports import AppendUnit, NewEvent
from headgate.domain.cluster_state import ClusterState
from headgate.domain.log_history import LogRewound, evolve
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.scheduling.partition.wakes import ALL_PARTITIONS
from headgate.domain.streams import LOG_STREAM

ACTOR = "system"
LOG = structlog.get_logger()


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
    LOG.error("log rewound", read_up_to=lost.position, head=cluster_state.position)
    if history is None or history.count <= lost.known_rewinds:
        _record(live, lost.position)
    live.lost = None
    return cluster_state


def _record(live: LiveState, read_up_to: int) -> None:
    """Appends the event; a conflict says that another process was first."""
    cluster_state, at = live.cluster_state, live.event_log.now()
    event = LogRewound(read_up_to=read_up_to, head=cluster_state.position, observer=live.observer)
    state = evolve(cluster_state.state_of(LOG_STREAM), event, at)
    live.event_log.append(
        [
            AppendUnit(
                at=at,
                metadata=EventMetadata(actor=ACTOR),
                expected={LOG_STREAM: cluster_state.version_of(LOG_STREAM)},
                events=(
                    NewEvent(stream=LOG_STREAM, event=event, wakes=ALL_PARTITIONS, guards=True),
                ),
                rows=rows_of(LOG_STREAM, state),
                past=live.point,
            )
        ]
    )
