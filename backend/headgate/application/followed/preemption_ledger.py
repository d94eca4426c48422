"""Who had to go for whom, under which rule, at what cost: a row for each victim of each round."""

from typing import Any

from headgate.application.followed.projection import Amend, Change, Memory, Put
from headgate.domain.facts import Recorded
from headgate.domain.rounds.events import (
    RoundAborted,
    RoundCommitted,
    RoundCompleted,
    RoundExpired,
    RoundSuperseded,
    RoundVictim,
    VictimReleased,
)
from headgate.domain.streams import kind_and_key
from headgate.domain.workloads.preemption.events import EvictionCancelled

OUTCOMES = {
    RoundCompleted: "Completed",
    RoundSuperseded: "Superseded",
    RoundAborted: "Aborted",
    RoundExpired: "Expired",
}


class PreemptionLedger:
    """Fills `Projection`; remembers nothing, as every fact of a round is in its stream."""

    name = "preemption_ledger"

    def recalls(self, recorded: Recorded) -> tuple[str, ...]:
        """Nothing."""
        del recorded
        return ()

    def changes(self, recorded: Recorded, memory: Memory) -> list[Change]:
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
