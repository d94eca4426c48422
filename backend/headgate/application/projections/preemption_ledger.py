"""The preemption ledger: a row for each victim of each round, with preemptor, rule and cost."""

from typing import Any

import msgspec

from headgate.application.projections.projection import Amend, ProjectionState, Put, RowChange
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rounds.state import (
    RoundAborted,
    RoundCommitted,
    RoundCompleted,
    RoundExpired,
    RoundSuperseded,
    RoundVictim,
    VictimReleased,
)
from headgate.domain.streams import kind_and_key
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.preemption_events import EvictionCancelled

OUTCOMES = {
    RoundCompleted: "Completed",
    RoundSuperseded: "Superseded",
    RoundAborted: "Aborted",
    RoundExpired: "Expired",
}


class PreemptionLedger:
    """Fills `Projection`; without state, as every event of a round is in its stream."""

    name = "preemption_ledger"

    def state_keys(self, recorded: RecordedEvent) -> tuple[str, ...]:
        """Nothing."""
        del recorded
        return ()

    def changes(self, recorded: RecordedEvent, memory: ProjectionState) -> list[RowChange]:
        """Rows begin with the round, note when their victim went, and end with the round."""
        del memory
        _, name = kind_and_key(recorded.stream)
        match recorded.event:
            case RoundCommitted() as committed:
                return [_entry(committed, victim, recorded.at) for victim in committed.victims]
            case VictimReleased(workload=victim, by=by):
                key = {"round_id": name, "victim": victim}
                return [Amend(key, {"released_at": recorded.at, "released_by": by})]
            case EvictionCancelled(eviction=called_back):
                key = {"round_id": called_back, "victim": name}
                return [Amend(key, {"released_at": recorded.at, "released_by": "Cancelled"})]
            case RoundCompleted() | RoundSuperseded() | RoundAborted() | RoundExpired() as end:
                ended = {"ended_at": recorded.at, "outcome": OUTCOMES[type(end)]}
                return [Amend({"round_id": name}, ended)]
            case _:
                return []


def _entry(committed: RoundCommitted, victim: RoundVictim, at: int) -> Put:
    values: dict[str, Any] = {
        "preemptor": committed.preemptor,
        "preemptor_priority": committed.preemptor_priority,
        "preemptor_queue": committed.cluster_queue,
        "victim_queue": victim.cluster_queue,
        "rule": victim.reason,
        "victim_priority": victim.priority,
        "pods": victim.pods,
        "freed": victim.freed,
        "running_seconds": victim.running_seconds,
        "lost": {name: amount * victim.running_seconds for name, amount in victim.freed.items()},
        "considered": committed.considered,
        "committed_at": at,
        "released_at": None,
        "released_by": "",
        "ended_at": None,
        "outcome": "",
    }
    return Put({"round_id": committed.round_id, "victim": victim.workload}, values)


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One victim of one preemption round.

    `freed` are amounts by `flavor/resource`; `lost` are those amounts times the whole seconds the
    victim had run when the round was committed. `outcome` is how the round ended, "" while open.
    """

    round_id: str
    victim: str
    preemptor: str
    preemptor_priority: int
    preemptor_queue: str
    victim_queue: str
    rule: str
    victim_priority: int
    pods: int
    freed: dict[str, int]
    running_seconds: int
    lost: dict[str, int]
    considered: int
    committed_at: Instant
    released_at: Instant | None = None
    released_by: str = ""
    ended_at: Instant | None = None
    outcome: str = ""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """Entries as of a position."""

    position: int
    entries: list[LedgerEntry]


class LedgerQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Entries that touch a workload (as either side) or a ClusterQueue; empty fields do not filter.

    `after` is (committed_at, round_id, victim) of the last entry of the page before.
    """

    workload: str = ""
    cluster_queue: str = ""
    after: tuple[Instant, str, str] | None = None
    limit: int = 100
