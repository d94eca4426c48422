"""After a replay: what the server itself says became of every workload."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from headgate.cli.replay.arrivals import Play
from headgate.client.client import HeadgateClient

ENDED = frozenset({"Succeeded", "Failed", "Cancelled"})
WAITING = frozenset({"Pending", "Nominated", "Retrying", "OnHold", "Inactive"})


NOT_LOOKED_AT = frozenset({"", "NotYetEvaluated"})
"""Once nothing moves any more, "not looked at yet" is no reason to wait."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Counts by what the server says.

    `unexplained` wait without a reason that could still change, `lost` neither ended nor wait.
    """

    finished: int
    explained: int
    unexplained: int
    lost: int
    reasons: dict[str, int]


def audit(client: HeadgateClient, play: Play) -> Outcome:
    """Every workload of the play as the server has it, the waiting ones with their reason."""
    phases = {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": item["status"]["phase"]
        for item in client.items(f"/v1/namespaces/{play.namespace}/workloads")
    }
    ours = {arrival.key: phases.get(arrival.key, "") for arrival in play.arrivals}
    finished = sum(1 for phase in ours.values() if phase in ENDED)
    waiting = [key for key, phase in ours.items() if phase in WAITING]
    reasons = Counter(_dominant(client, key) for key in waiting)
    return outcome_of(len(ours), finished, reasons)


def outcome_of(workloads: int, finished: int, reasons: Mapping[str, int]) -> Outcome:
    """The counts, from how many there are, how many ended, and what the others wait for."""
    waiting = sum(reasons.values())
    unexplained = sum(count for reason, count in reasons.items() if reason in NOT_LOOKED_AT)
    return Outcome(
        finished=finished,
        explained=waiting - unexplained,
        unexplained=unexplained,
        lost=workloads - finished - waiting,
        reasons=dict(reasons),
    )


def _dominant(client: HeadgateClient, key: str) -> str:
    namespace, _, name = key.partition("/")
    found = client.read(f"/v1/namespaces/{namespace}/workloads/{name}/explanation")
    return str(found["dominant"]) if found["sentence"] else ""
