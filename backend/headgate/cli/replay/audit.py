"""After a replay: what the server itself says became of every workload."""

from collections import Counter

import msgspec

from headgate.cli.replay.arrivals import Play
from headgate.client.client import HeadgateClient

ENDED = frozenset({"Succeeded", "Failed", "Cancelled"})
WAITING = frozenset({"Pending", "Nominated", "BackingOff", "Held", "Inactive"})


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Counts by what the server says; `lost` are neither ended nor waiting with a reason."""

    finished: int
    explained: int
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
    reasons: Counter[str] = Counter()
    for key, phase in ours.items():
        if phase in WAITING:
            reasons[_dominant(client, key)] += 1
    silent = reasons.pop("", 0)
    lost = len(ours) - finished - sum(reasons.values())
    assert silent <= lost
    return Outcome(
        finished=finished, explained=sum(reasons.values()), lost=lost, reasons=dict(reasons)
    )


def _dominant(client: HeadgateClient, key: str) -> str:
    namespace, _, name = key.partition("/")
    found = client.read(f"/v1/namespaces/{namespace}/workloads/{name}/explanation")
    return str(found["dominant"]) if found["sentence"] else ""
