"""What the demo's teams submit: trainings, sweeps, notebooks, and now and then something odd."""

import msgspec

from headgate.adapters.system.chance import Chance
from headgate.cli.demo.cluster import BLOCK, GPU, GPUS_ON_A_HOST, RACK, TEAMS
from headgate.cli.executor.behaviour import FAILS, NEVER_READY, RUN_SECONDS
from headgate.cli.replay.arrivals import Object, pod_set, workload

LABEL = "headgate.dev/demo"


class Sort(msgspec.Struct, frozen=True, kw_only=True):
    """One sort of work: sizes to choose from, how long it runs, how likely it is."""

    name: str
    pods: tuple[int, ...]
    gpus: tuple[int, ...]
    seconds: tuple[int, int]
    weight: int
    topology: Object


SORTS = (
    Sort(name="train", pods=(4, 4, 8), gpus=(4, 8), seconds=(60, 150), weight=3,
         topology={"required": RACK}),
    Sort(name="pretrain", pods=(6, 8), gpus=(8,), seconds=(60, 120), weight=1,
         topology={"preferred": BLOCK}),
    Sort(name="sweep", pods=(2, 4), gpus=(1, 2), seconds=(20, 60), weight=4,
         topology={"unconstrained": True}),
    Sort(name="notebook", pods=(1,), gpus=(1,), seconds=(30, 90), weight=3,
         topology={"unconstrained": True}),
)  # fmt: skip

CLASSES = ("production", "research", "research", "scavenger", "scavenger")
FAILURE_RATE = 0.06
NEVER_READY_RATE = 0.04
TOO_LARGE_RATE = 0.02


def next_workload(chance: Chance, serial: str) -> Object:
    """The next thing somebody wants to run."""
    team = chance.choice(sorted(TEAMS))
    sort = chance.choices(SORTS, weights=[each.weight for each in SORTS])[0]
    gpus = chance.choice(sort.gpus)
    if chance.random() < TOO_LARGE_RATE:
        gpus = GPUS_ON_A_HOST + 1
    requests = {"cpu": str(gpus * 10), "memory": f"{gpus * 80}Gi", GPU: str(gpus)}
    manifest = workload(
        namespace=f"team-{team}",
        name=f"{sort.name}-{serial}",
        queue="main",
        priority_class=chance.choice(CLASSES),
        pod_set=pod_set(requests, count=chance.choice(sort.pods), topology=sort.topology),
        run="demo",
    )
    metadata = manifest["metadata"]
    metadata["labels"] = {LABEL: "true", "sort": sort.name}
    metadata["annotations"] = _behaviour(chance, sort)
    return manifest


def _behaviour(chance: Chance, sort: Sort) -> dict[str, str]:
    annotations = {RUN_SECONDS: str(chance.randint(*sort.seconds))}
    fate = chance.random()
    if fate < FAILURE_RATE:
        annotations[FAILS] = "true"
    elif fate < FAILURE_RATE + NEVER_READY_RATE:
        annotations[NEVER_READY] = "true"
    return annotations
