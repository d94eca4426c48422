"""The inline read models: which rows a state is shown by."""

from typing import Any

from headgate.application.ports import Row
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.rounds.state import Round
from headgate.domain.streams import kind_and_key
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload, phase_of

TABLE_OF_KIND = {"workload": "workload", "round": "round"}
OBJECT_TABLE = "object"


def table_of(stream: str) -> str:
    """The inline read model that shows a stream."""
    kind, _ = kind_and_key(stream)
    return TABLE_OF_KIND.get(kind, OBJECT_TABLE)


def row_of(stream: str, state: Any) -> Row:  # noqa: ANN401 - any aggregate's state
    """The row that shows the state of a stream; for `Absent` the one that takes it away."""
    match state:
        case Absent():
            columns = None
        case Workload():
            columns = _workload_columns(state)
        case Round():
            columns = _round_columns(state)
        case Configured():
            columns = _object_columns(stream, state)
        case _:
            raise AssertionError(f"{type(state).__name__} is no state of an aggregate")
    return Row(table=table_of(stream), stream=stream, columns=columns)


def rows_of(stream: str, state: Any) -> tuple[Row, ...]:  # noqa: ANN401 - any aggregate's state
    """All rows that show the state of a stream: its own, and for a round one for each victim."""
    own = row_of(stream, state)
    return (own, *_victim_rows(stream, state)) if isinstance(state, Round) else (own,)


def _workload_columns(workload: Workload) -> dict[str, Any]:
    given = workload.admission or workload.nomination
    return {
        "namespace": workload.namespace,
        "name": workload.name,
        "uid": workload.uid,
        "local_queue": workload.spec.queue_name,
        "cluster_queue": given.cluster_queue if given else "",
        "phase": phase_of(workload),
        "priority": workload.spec.priority,
        "created_at": workload.created_at,
        "labels": workload.labels,
        "due_at": _workload_due(workload),
        "state": workload,
    }


def _workload_due(workload: Workload) -> Instant | None:
    """The next instant at which something happens to it by what it says itself."""
    if workload.finished_at is not None:
        return None
    hold_ends = workload.hold.expires_at if workload.hold else None
    return _earliest(workload.requeue.requeue_at, hold_ends)


def _round_columns(found: Round) -> dict[str, Any]:
    return {
        "stage": found.stage,
        "preemptor": found.preemptor,
        "cluster_queue": found.cluster_queue,
        "committed_at": found.committed_at,
        "due_at": None if found.ended_at is not None else found.expires_at,
        "state": found,
    }


def _victim_rows(stream: str, found: Round) -> tuple[Row, ...]:
    return tuple(
        Row(
            table="round_victim",
            stream=stream,
            columns={
                "workload": victim.workload,
                "cluster_queue": victim.cluster_queue,
                "reason": victim.reason,
                "released": victim.workload in found.released,
            },
        )
        for victim in found.victims
    )


def _object_columns(stream: str, found: Configured[Any]) -> dict[str, Any]:
    kind, _ = kind_and_key(stream)
    is_door = isinstance(found.spec, LocalQueueSpec)
    stop = getattr(found.spec, "stop", None)
    return {
        "kind": kind,
        "namespace": found.namespace,
        "name": found.name,
        "uid": found.uid,
        "cluster_queue": found.spec.cluster_queue if is_door else "",
        "labels": found.labels,
        "due_at": stop.expires_at if stop else None,
        "state": found,
    }


def _earliest(*instants: Instant | None) -> Instant | None:
    return min((instant for instant in instants if instant is not None), default=None)
