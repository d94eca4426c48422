"""What people do in the demo's cluster now and then: maintenance, holds, stops, opening gates."""

from headgate.adapters.system.chance import Chance
from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.demo.cluster import hosts
from headgate.cli.demo.teams import DOORS
from headgate.cli.demo.work import GATE, LABEL
from headgate.cli.presentation.ages import instant_of, timestamp_of
from headgate.cli.replay.arrivals import Object
from headgate.client.client import HeadgateClient
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

HELD_SECONDS = 45
GATED_SECONDS = 20
MINE = {"labelSelector": f"{LABEL}=true"}
OVER = {"reason": "maintenance is over"}


class Incidents:
    """One after another; what takes a node out is put right by the one after it."""

    def __init__(self, client: HeadgateClient, chance: Chance) -> None:
        self._client = client
        self._chance = chance
        self._cordoned = ""

    def bring_about(self) -> None:
        """The next incident."""
        if self._cordoned:
            path, self._cordoned = f"/v1/nodes/{self._cordoned}/uncordon", ""
            self._client.act(path, OVER)
            return
        self._chance.choice((self._cordon, self._hold_someone, self._stop_a_door))()

    def release_leftovers(self) -> None:
        """Uncordon what an earlier run left cordoned."""
        ours = {each["metadata"]["name"] for each in hosts()}
        for node in self._client.items("/v1/nodes"):
            name = node["metadata"]["name"]
            if name in ours and node.get("spec", {}).get("unschedulable"):
                self._client.act(f"/v1/nodes/{name}/uncordon", OVER)

    def open_gates(self) -> None:
        """Let those preempt whose data has come by now."""
        for found in self._client.items("/v1/workloads", {"phase": "Pending", **MINE}):
            if seconds_since_submission(found) > GATED_SECONDS and _is_gated(found):
                opened = {"name": GATE, "position": "Open"}
                self._client.act(f"{path_of(found)}/preemption-gates", opened)

    def _cordon(self) -> None:
        name = self._chance.choice(hosts())["metadata"]["name"]
        self._client.act(f"/v1/nodes/{name}/cordon", {"reason": "maintenance of the fans"})
        self._cordoned = name

    def _hold_someone(self) -> None:
        waiting = {"phase": "Pending", "limit": "1", **MINE}
        for found in self._client.read("/v1/workloads", waiting)["items"]:
            self._client.act(f"{path_of(found)}/hold", _for_a_while("data set is being checked"))

    def _stop_a_door(self) -> None:
        team = self._chance.choice(sorted(team for team, doors in DOORS.items() if len(doors) > 1))
        path = f"/v1/namespaces/team-{team}/localqueues/{DOORS[team][1]}/stop"
        self._client.act(path, _for_a_while("the course has its exam"))


def seconds_since_submission(found: Object) -> int:
    """How long ago a workload was submitted."""
    since = wall_clock() - instant_of(found["metadata"]["creationTimestamp"])
    return since // MICROSECONDS_PER_SECOND


def path_of(found: Object) -> str:
    """Where a workload is acted on."""
    metadata = found["metadata"]
    return f"/v1/namespaces/{metadata['namespace']}/workloads/{metadata['name']}"


def _for_a_while(reason: str) -> Object:
    ends_at = wall_clock() + HELD_SECONDS * MICROSECONDS_PER_SECOND
    return {"reason": reason, "expiresAt": timestamp_of(ends_at)}


def _is_gated(found: Object) -> bool:
    return any(gate["position"] == "Closed" for gate in found["status"].get("preemptionGates", ()))
