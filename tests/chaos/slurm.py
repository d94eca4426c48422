"""`python -m tests.chaos.slurm`: gangs on a real Slurm cluster while its daemons are killed.

A controller and a node's daemon, the executor itself too, are killed with SIGKILL while gangs run,
and started again. Half of the gangs have each rank on another node. An administrator resumes nodes
that Slurm drains. Each rank takes a lock by the identity of its pod; another run of it at the same
time would find the lock taken. No result is lost, nothing runs twice at once, no job is left.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from headgate.executor.substrates.agent.inventory import HOSTNAME
from tests.executors.agent_process import HEADGATE
from tests.executors.installation import POOL, Installation, Object, installation
from tests.executors.pods import shell
from tests.executors.slurm_cluster import NODES, SlurmTestCluster, lacking, slurm_cluster
from tests.processes.up import environment

NAME = "slurm"
RANKS = 4
MEBIBYTES_OF_A_POD = 20
PODS_AT_ONCE = 32
SECONDS_TO_FINISH = 1800.0
SECONDS_DOWN = 2.0
SECONDS_BETWEEN_LOOKS = 2.0
WAIT_SECONDS = 60.0
FINAL = ("Succeeded", "Failed")


def main() -> int:
    """0 if everything held, 1 if not; without Slurm it says so and is content."""
    asked = _arguments()
    if os.geteuid() != 0 or lacking():
        print("slurm: skipped (as root: python .ci/slurm.py)")
        return 0
    with installation() as made, slurm_cluster(made.directory / "cluster") as cluster:
        broken = _run(made, cluster, asked.gangs, asked.kills)
    for line in broken:
        print(f"BROKEN: {line}")
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.slurm", description=__doc__)
    parser.add_argument("--gangs", type=int, default=200, help="so many gangs of 4 ranks")
    parser.add_argument("--kills", type=int, default=2, help="so often each daemon is killed")
    return parser.parse_args()


class SlurmExecutor:
    """`headgate executor slurm` as a process."""

    def __init__(
        self, made: Installation, cluster: SlurmTestCluster, token: str, pool: str = NAME
    ) -> None:
        self._pool = pool
        self._directory = made.directory / "slurm"
        self._cluster = cluster
        self.output = made.directory / "slurm.out"
        self._environment = {
            **environment(),
            "SLURM_CONF": str(cluster.configuration),
            "HEADGATE_URL": made.connection.url,
            "HEADGATE_TOKEN": token,
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    def start(self, *more: str) -> None:
        """Runs it, with more options of the command."""
        options = ("--name", NAME, "--directory", str(self._directory), "--allow-root")
        labels = ("--labels", f"{POOL}={self._pool}")
        memory = ("--default-memory", str(MEBIBYTES_OF_A_POD))
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                [HEADGATE, "executor", "slurm", *options, *labels, *memory, *more],
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def end(self, number: int = signal.SIGTERM) -> None:
        """Ends it."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(WAIT_SECONDS)


def _run(made: Installation, cluster: SlurmTestCluster, gangs: int, kills: int) -> list[str]:
    place = made.directory / "chaos"
    for name in ("locks", "starts"):
        (place / name).mkdir(parents=True)
    made.pool(NAME, pods=PODS_AT_ONCE)
    is_over = threading.Event()
    administrator = threading.Thread(target=_resume_nodes, args=(cluster, is_over), daemon=True)
    executor = SlurmExecutor(made, cluster, made.executor(NAME))
    executor.start()
    administrator.start()
    try:
        made.await_nodes(*(f"host-{number}" for number in range(1, NODES + 1)))
        names = [f"gang-{number}" for number in range(gangs)]
        templates = [
            _template(place, name, is_spread=number % 2 == 1) for number, name in enumerate(names)
        ]
        made.client.submit_batch(
            [
                made.manifest(name, NAME, template, RANKS)
                for name, template in zip(names, templates, strict=True)
            ]
        )
        killed = _kill_in_turn(made, cluster, executor, place, gangs=gangs, kills=kills)
        made.eventually(lambda: _are_over(made, names), "all gangs have ended", SECONDS_TO_FINISH)
        made.eventually(cluster.is_idle_again, "the queue of Slurm is empty")
    finally:
        is_over.set()
        administrator.join(WAIT_SECONDS)
        executor.end()
        print(executor.output.read_text(errors="replace")[-2000:])
    return _report(made, cluster, names, killed, place)


def _resume_nodes(cluster: SlurmTestCluster, is_over: threading.Event) -> None:
    while not is_over.wait(SECONDS_BETWEEN_LOOKS):
        cluster.is_idle_again()


def _template(place: Path, gang: str, *, is_spread: bool) -> Object:
    spec: Object = {}
    if is_spread:
        term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"gang": gang}}}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": required}
    return {**shell(_script(place), **spec), "metadata": {"labels": {"gang": gang}}}


def _script(place: Path) -> str:
    pod = "$HEADGATE_UID-$HEADGATE_POD_INDEX"
    return (
        f"exec 9> {place}/locks/{pod}; "
        f"flock -n 9 || {{ echo {pod} >> {place}/overlaps; exit 9; }}; "
        f"echo $HEADGATE_RUN $HEADGATE_NODE >> {place}/starts/{pod}; sleep 1"
    )


def _kill_in_turn(  # noqa: PLR0913 - what is killed, when, and how often
    made: Installation,
    cluster: SlurmTestCluster,
    executor: SlurmExecutor,
    place: Path,
    *,
    gangs: int,
    kills: int,
) -> Counter[str]:
    """Kills each daemon so often, spread over the run; the number of kills."""

    def have_started(wanted: int) -> bool:
        return len(list((place / "starts").iterdir())) >= wanted

    def controller() -> None:
        cluster.kill("slurmctld")
        time.sleep(SECONDS_DOWN)
        cluster.start_controller()

    def node() -> None:
        cluster.kill("slurmd-2")
        time.sleep(SECONDS_DOWN)
        cluster.start_node(2)

    def both() -> None:
        cluster.kill("slurmctld")
        cluster.kill("slurmd-3")
        time.sleep(SECONDS_DOWN)
        cluster.start_controller()
        cluster.start_node(3)

    def own() -> None:
        executor.end(signal.SIGKILL)
        executor.start()

    faults: dict[str, Callable[[], None]] = {
        "controller": controller, "node": node, "both": both, "executor": own,
    }  # fmt: skip
    killed: Counter[str] = Counter()
    steps = kills * len(faults)
    for number in range(steps):
        wanted = gangs * RANKS * (number + 1) // (steps + 2)
        made.eventually(
            partial(have_started, wanted), f"{wanted} ranks have started", SECONDS_TO_FINISH
        )
        name = list(faults)[number % len(faults)]
        faults[name]()
        made.eventually(partial(_has_resumed, cluster), "all nodes take jobs")
        killed[name] += 1
        print(f"{wanted:>5} started: {name} killed", flush=True)
    return killed


def _has_resumed(cluster: SlurmTestCluster) -> bool:
    """Whether no node is drained or down any more."""
    try:
        states = cluster.run("sinfo", "-h", "-N", "-o", "%T").split()
    except AssertionError:  # the controller starts
        return False
    return all(state in {"idle", "mixed", "allocated", "completing"} for state in states)


def _are_over(made: Installation, names: list[str]) -> bool:
    items = made.client.items(f"/v1/namespaces/{made.namespace}/workloads")
    phases = {each["metadata"]["name"]: each["status"]["phase"] for each in items}
    return all(phases.get(name) in FINAL for name in names)


def _report(
    made: Installation,
    cluster: SlurmTestCluster,
    names: list[str],
    killed: Counter[str],
    place: Path,
) -> list[str]:
    starts = [path.read_text().splitlines() for path in (place / "starts").iterdir()]
    pods = [pod for name in names for pod in made.pods(name)]
    results = [pod for pod in pods if pod["exitCode"] is not None]
    overlaps = (place / "overlaps").read_text() if (place / "overlaps").exists() else ""
    left = cluster.run("squeue", "-h").splitlines()
    verified = subprocess.run(
        [HEADGATE, "verify"],
        env={**environment(), "HEADGATE_DIRECTORY": str(made.up.data), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    print(
        f"{len(names)} gangs, {len(results)} results, overlaps {len(overlaps.splitlines())}, "
        f"left in squeue {len(left)}; {sum(map(len, starts))} starts, kills: {dict(killed)}"
    )
    print((verified.stdout.strip() or verified.stderr.strip()).splitlines()[-1])
    found = [f"{line} found its lock taken" for line in overlaps.splitlines()]
    found += [f"a pod ended as {pod}" for pod in _wrong(pods)[:10]]
    if len(pods) != len(names) * RANKS or len(starts) != len(pods):
        found.append(f"{len(pods)} pods are known, {len(starts)} have started")
    found += [f"left in the queue: {line}" for line in left]
    return found + (["headgate verify found a broken rule"] if verified.returncode else [])


def _wrong(pods: list[Object]) -> list[Object]:
    return [pod for pod in pods if pod["state"] != "Succeeded" or pod["exitCode"] != 0]


if __name__ == "__main__":
    sys.exit(main())
