"""What the executors of clusters add: `python -m tests.bench.clusters slurm`, or `ray`.

Prints the time from admission to the start of a pod, and the memory and processor time of the
executor with many running pods. Slurm is a real cluster of this host; of Ray the double stands for
the dashboard, so that its figures are without Ray's own part. Supervisors of ranks are real for the
first figure. For the second one something smaller stands for each, which writes what the executor
reads: the memory of a thousand interpreters is that of the nodes.
"""

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import psutil

from headgate.executor.substrates.agent.run_directory import LAUNCH, STARTED
from headgate.executor.substrates.slurm.jobs import BEGUN
from tests.bench.agent import private_bytes
from tests.chaos.slurm import SlurmExecutor
from tests.executors.agent_process import HEADGATE
from tests.executors.installation import POOL, Installation, installation
from tests.executors.pods import template_of
from tests.executors.ray_double import HOSTS, RayDouble
from tests.executors.slurm_cluster import NODES, lacking, slurm_cluster
from tests.processes.up import environment

SINGLE_PODS = 40
PODS_OF_A_WORKLOAD = 50
SECONDS_TO_START = 900.0
SECONDS_TO_END = 60.0
IDLE_SECONDS = 20.0
CPUS_OF_A_NODE = 1024
MEBIBYTES_OF_A_NODE = 64_000
LONG = ("sleep", "1000000")

Start = Callable[..., int]
"""Starts the executor anew with more options of its command; its process."""


def main() -> None:
    """Prints one line for each figure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.clusters", description=__doc__)
    parser.add_argument("engine", choices=("slurm", "ray"), help="the executor")
    parser.add_argument("--pods", type=int, default=1_000, help="so many running pods")
    asked = parser.parse_args()
    with installation() as made:
        made.pool(asked.engine)
        if asked.engine == "ray":
            _bench_ray(made, asked.pods)
        elif lacking():
            print("slurm: skipped (as root: python .ci/slurm.py)")
        else:
            _bench_slurm(made, asked.pods)


def _bench_slurm(made: Installation, pods: int) -> None:
    size = {"cpus": CPUS_OF_A_NODE, "mebibytes": MEBIBYTES_OF_A_NODE}
    with slurm_cluster(made.directory / "cluster", **size) as cluster:
        executor = SlurmExecutor(made, cluster, made.executor("slurm"))
        executor.start()
        made.await_nodes(*(f"host-{number}" for number in range(1, NODES + 1)))
        _bench_start(made, "slurm")
        executor.end()
        executor.start("--python", str(_standing_in(made.directory)))
        _bench_memory(made, "slurm", executor.pid, pods)
        executor.end()
        cluster.run("scancel", "--user=root")


def _bench_ray(made: Installation, pods: int) -> None:
    double = RayDouble(made.directory / "double", cpus=CPUS_OF_A_NODE)
    own = {"HEADGATE_URL": made.connection.url, "HEADGATE_TOKEN": made.executor("ray")}
    options = ("--dashboard", double.url, "--directory", str(made.directory / "ray"))
    with (made.directory / "ray.out").open("wb") as output:
        executor = subprocess.Popen(
            [HEADGATE, "executor", "ray", *options, "--labels", f"{POOL}=ray"],
            env={**environment(), **own},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    made.await_nodes(*HOSTS)
    _bench_start(made, "ray")
    double.has_processes = False
    _bench_memory(made, "ray", executor.pid, pods)
    executor.terminate()
    executor.wait(SECONDS_TO_END)
    double.end()


def _bench_start(made: Installation, pool: str) -> None:
    """Single pods one after the other, so that no pod waits for another one."""
    delays = []
    for number in range(SINGLE_PODS):
        name = made.submit(f"single-{number}", pool, template_of("true"))
        made.await_end(name)
        delays += _delays(made, name)
    print(f"admission to run  {_percentiles(delays)}, {SINGLE_PODS} single pods", flush=True)


def _bench_memory(made: Installation, pool: str, pid: int, pods: int) -> None:
    process = psutil.Process(pid)
    time.sleep(IDLE_SECONDS)
    before = private_bytes(pid)
    names = [f"long-{number}" for number in range(pods // PODS_OF_A_WORKLOAD)]
    template = template_of(*LONG)
    begun = time.monotonic()
    made.client.submit_batch(
        [made.manifest(name, pool, template, PODS_OF_A_WORKLOAD) for name in names]
    )
    for name in names:
        running = partial(_runs_all, made, name)
        made.eventually(running, f"all pods of {name} are running", SECONDS_TO_START)
    seconds = time.monotonic() - begun
    print(f"all running       after {seconds:.1f} s, {pods} pods in gangs of {PODS_OF_A_WORKLOAD}")
    delays = [delay for name in names for delay in _delays(made, name)]
    print(f"admission to run  {_percentiles(delays)}, all at once")
    spent = process.cpu_times()
    time.sleep(IDLE_SECONDS)
    after = process.cpu_times()
    own = (after.user + after.system - spent.user - spent.system) / IDLE_SECONDS
    commands = after.children_user + after.children_system
    commands = (commands - spent.children_user - spent.children_system) / IDLE_SECONDS
    resident, private = process.memory_info().rss, private_bytes(pid)
    print(
        f"executor          {resident / 2**20:.0f} MiB resident, {private / 2**20:.0f} MiB of its "
        f"own, {(private - before) / 2**20:.0f} MiB of that for {pods} running pods"
    )
    print(
        f"while they run    {own * 1000:.0f} ms of processor time a second, and "
        f"{commands * 1000:.0f} ms for commands that it starts",
        flush=True,
    )


def _runs_all(made: Installation, name: str) -> bool:
    return made.phase(name) == "Running"


def _delays(made: Installation, name: str) -> list[float]:
    (admitted,) = made.events(name, "workload.admitted")
    return [_seconds(pod["startedAt"]) - _seconds(admitted["at"]) for pod in made.pods(name)]


def _standing_in(directory: Path) -> Path:
    """A script in place of a rank's supervisor: it begins the run, says so, and sleeps."""
    path = directory / "standing-in"
    path.write_text(
        "#!/bin/sh\n"
        'job=$3; run=$(sed -n "s/.*\\"members\\":\\[//p" "$job/job.json" | tr "{" "\\n" '
        '| sed -n "s/^\\"name\\":\\"\\([^\\"]*\\)\\".*/\\1/p" | sed -n "$((SLURM_PROCID + 1))p")\n'
        "own=${job%/jobs/*}/runs/$run\n"
        f'test -e "$own/{LAUNCH}" || exit 0\n'
        f': > "$own/{BEGUN}"\n'
        f'echo "{{\\"pid\\":$$,\\"at\\":$(date +%s%6N)}}" > "$own/new"\n'
        f'mv "$own/new" "$own/{STARTED}"\n'
        ': > "${job%/jobs/*}/news/$run"\n'
        f"exec {' '.join(LONG)}\n"
    )
    path.chmod(0o755)
    return path


def _percentiles(delays: Sequence[float]) -> str:
    ordered = sorted(delays)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return f"{statistics.median(ordered) * 1000:.0f} ms p50, {p99 * 1000:.0f} ms p99"


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


if __name__ == "__main__":
    main()
