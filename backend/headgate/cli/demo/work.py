"""The workloads that the demo submits, and the incidents that it stages."""

from typing import Any

import msgspec

from headgate.adapters.system.randomness import RandomSource
from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.demo.cluster import (
    BLOCK,
    GPU,
    GPUS_ON_A_HOST,
    HANDLER,
    LOCAL_QUEUES,
    RACK,
    TEAMS,
    hosts,
)
from headgate.cli.executor.behaviour import FAILS, NEVER_READY, RUN_SECONDS, SAVE_SECONDS
from headgate.cli.presentation.units import instant_of, timestamp_of
from headgate.cli.replay.arrivals import Object, pod_set, workload
from headgate.client.client import HeadgateClient
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.workloads.specs import ELASTIC, REPLACES

LABEL = "headgate.dev/demo"
GATE = "data-is-loaded"


class WorkloadTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A template of demo workloads: possible sizes, run time and relative frequency.

    `saves` is the seconds that a checkpoint takes before an eviction; None without checkpoints.
    """

    name: str
    pods: tuple[int, ...]
    gpus: tuple[int, ...]
    seconds: tuple[int, int]
    weight: int
    topology: Object | None = None
    saves: tuple[int, int] | None = None
    classes: tuple[str, ...] = ("production", "research", "research", "patient", "scavenger")
    spec: dict[str, Any] = {}
    annotations: dict[str, str] = {}


SORTS = (
    WorkloadTemplate(name="train", pods=(4, 4, 8), gpus=(4, 8), seconds=(60, 150), weight=3,
         topology={"required": RACK}, saves=(6, 20)),
    WorkloadTemplate(name="pretrain", pods=(6, 8), gpus=(8,), seconds=(60, 120), weight=1,
         topology={"preferred": BLOCK}, saves=(10, 40)),
    WorkloadTemplate(name="sweep", pods=(2, 4), gpus=(1, 2), seconds=(20, 60), weight=4,
         topology={"unconstrained": True}, classes=("research", "scavenger", "scavenger")),
    WorkloadTemplate(name="notebook", pods=(1,), gpus=(1,), seconds=(30, 90), weight=3,
         topology={"unconstrained": True}),
    WorkloadTemplate(name="serve", pods=(2,), gpus=(1, 2), seconds=(120, 240), weight=1,
         topology={"unconstrained": True}, classes=("research",)),
    WorkloadTemplate(name="simulate", pods=(2, 3), gpus=(1,), seconds=(60, 120), weight=1,
         classes=("scavenger", "research"), annotations={ELASTIC: "true"}),
    WorkloadTemplate(name="release", pods=(1,), gpus=(2,), seconds=(40, 80), weight=1,
         classes=("production",), spec={"preemptibility": "NonPreemptible"}),
)  # fmt: skip

FAILURE_RATE = 0.06
NEVER_READY_RATE = 0.04
TOO_LARGE_RATE = 0.02
GATED_RATE = 0.3
WAITS_RATE = 0.2


def next_workload(chance: RandomSource, serial: str) -> Object:
    """Returns the next workload to submit."""
    team = chance.choice(sorted(TEAMS))
    sort = chance.choices(SORTS, weights=[each.weight for each in SORTS])[0]
    gpus = chance.choice(sort.gpus)
    if chance.random() < TOO_LARGE_RATE:
        gpus = GPUS_ON_A_HOST + 1
    requests = {"cpu": str(gpus * 10), "memory": f"{gpus * 80}Gi", GPU: str(gpus)}
    manifest = workload(
        namespace=f"team-{team}",
        name=f"{sort.name}-{serial}",
        queue=chance.choice(LOCAL_QUEUES[team]),
        priority_class=chance.choice(sort.classes),
        pod_set=pod_set(requests, count=chance.choice(sort.pods), topology=sort.topology),
        run="demo",
    )
    metadata = manifest["metadata"]
    metadata["labels"] = {LABEL: "true", "sort": sort.name}
    metadata["annotations"] = {**_behaviour(chance, sort), **sort.annotations}
    manifest["spec"] |= {**sort.spec, **_leaving(chance, sort), **_gates(chance, manifest)}
    return manifest


def grown(manifest: Object, serial: str) -> Object:
    """The same elastic workload with one pod more, which takes over the pods of the first."""
    metadata, spec = manifest["metadata"], manifest["spec"]
    (pods,) = spec["podSets"]
    asked = {name: spec[name] for name in ("queueName", "priorityClassRef") if name in spec}
    replaced = f"{metadata['namespace']}/{metadata['name']}"
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": "Workload",
        "metadata": {
            "name": f"simulate-{serial}",
            "namespace": metadata["namespace"],
            "labels": metadata["labels"],
            "annotations": {**metadata["annotations"], REPLACES: replaced},
        },
        "spec": {**asked, "podSets": [{**pods, "count": pods["count"] + 1}]},
    }


def _behaviour(chance: RandomSource, sort: WorkloadTemplate) -> dict[str, str]:
    annotations = {RUN_SECONDS: str(chance.randint(*sort.seconds))}
    if sort.saves is not None:
        annotations[SAVE_SECONDS] = str(chance.randint(*sort.saves))
    fate = chance.random()
    if fate < FAILURE_RATE:
        annotations[FAILS] = "true"
    elif fate < FAILURE_RATE + NEVER_READY_RATE:
        annotations[NEVER_READY] = "true"
    return annotations


def _leaving(chance: RandomSource, sort: WorkloadTemplate) -> Object:
    """Long trainings save first; the time they are given is at times too short."""
    if sort.saves is None:
        return {}
    at_the_end = "Wait" if chance.random() < WAITS_RATE else "Force"
    policy = {"mode": "Soft", "gracePeriodSeconds": 30, "handler": HANDLER}
    return {"evictionPolicy": {**policy, "onDeadline": at_the_end}}


def _gates(chance: RandomSource, manifest: Object) -> Object:
    """Some wait for their data before others have to leave for them."""
    is_urgent = manifest["spec"]["priorityClassName"] == "production"
    if is_urgent and chance.random() < GATED_RATE:
        return {"preemptionGates": [{"name": GATE}]}
    return {}


HELD_SECONDS = 45


GATED_SECONDS = 20


MINE = {"labelSelector": f"{LABEL}=true"}


OVER = {"reason": "maintenance is over"}


class Incidents:
    """One after another; what takes a node out is put right by the one after it."""

    def __init__(self, client: HeadgateClient, chance: RandomSource) -> None:
        self._client = client
        self._chance = chance
        self._cordoned = ""

    def bring_about(self) -> None:
        """The next incident."""
        if self._cordoned:
            path, self._cordoned = f"/v1/nodes/{self._cordoned}/uncordon", ""
            self._client.act(path, OVER)
            return
        self._chance.choice((self._cordon, self._hold_a_workload, self._stop_a_door))()

    def release_leftovers(self) -> None:
        """Uncordon what an earlier run left cordoned."""
        ours = {each["metadata"]["name"] for each in hosts()}
        for node in self._client.items("/v1/nodes"):
            name = node["metadata"]["name"]
            if name in ours and node.get("spec", {}).get("unschedulable"):
                self._client.act(f"/v1/nodes/{name}/uncordon", OVER)

    def open_gates(self) -> None:
        """Open the preemption gates of workloads that have their data."""
        for found in self._client.items("/v1/workloads", {"phase": "Pending", **MINE}):
            if seconds_since_submission(found) > GATED_SECONDS and _is_gated(found):
                opened = {"name": GATE, "position": "Open"}
                self._client.act(f"{path_of(found)}/preemption-gates", opened)

    def _cordon(self) -> None:
        name = self._chance.choice(hosts())["metadata"]["name"]
        self._client.act(f"/v1/nodes/{name}/cordon", {"reason": "maintenance of the fans"})
        self._cordoned = name

    def _hold_a_workload(self) -> None:
        waiting = {"phase": "Pending", "limit": "1", **MINE}
        for found in self._client.read("/v1/workloads", waiting)["items"]:
            self._client.act(f"{path_of(found)}/hold", _for_a_while("data set is being checked"))

    def _stop_a_door(self) -> None:
        team = self._chance.choice(
            sorted(team for team, local_queues in LOCAL_QUEUES.items() if len(local_queues) > 1)
        )
        path = f"/v1/namespaces/team-{team}/localqueues/{LOCAL_QUEUES[team][1]}/stop"
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
