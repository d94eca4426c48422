"""What an executor adds, with API, worker and Postgres on the same machine.

`python -m tests.bench.executors` runs short pods through one agent, and prints pods a second, the
time from admission to the start of a pod, the memory of a shim, and the processor time of each
program for a pod. Processor time says what bounds the rate where other programs use the machine
too. `--beside slurm` (or `agent`, `ray`) admits single pods, one after another, beside 1,000 that
run all the time, and prints the time from admission to start and the memory of the executor. Slurm
is real; Ray is the double of its dashboard, as 1,000 workers of Ray need 60 GB.
"""

import argparse
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import psutil

from tests.bench.agent import private_bytes
from tests.chaos.slurm import MEBIBYTES_OF_A_POD, SlurmExecutor
from tests.chaos.slurm import NAME as SLURM
from tests.executors.agent_process import HEADGATE, AgentProcess
from tests.executors.installation import POOL as RUNS_IN
from tests.executors.installation import Installation, installation
from tests.executors.pods import template_of
from tests.executors.ray_double import HOSTS, RayDouble
from tests.executors.slurm_cluster import NODES, lacking, slurm_cluster
from tests.processes.up import environment

POOL = "bench"
RAY = "ray"
MAX_PODS = 200
PODS_OF_A_WORKLOAD = 20
SINGLE_PODS = 40
MEMORY_PODS = 20


def main() -> None:
    """Prints one line for each figure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.executors", description=__doc__)
    parser.add_argument("--pods", type=int, default=2_000, help="so many short pods")
    parser.add_argument("--beside", choices=sorted(BESIDE), help="this executor, beside others")
    parser.add_argument("--running", type=int, default=1_000, help="pods that run all the time")
    asked = parser.parse_args()
    if asked.beside:
        with installation() as made:
            made.pool(POOL, pods=2 * asked.running)
            with BESIDE[asked.beside](made, asked.running) as process:
                _bench_beside(made, process, asked.running)
        return
    with installation() as made:
        made.pool(POOL, pods=MAX_PODS)
        options = ["--max-pods", str(MAX_PODS)]
        agent = made.agent(POOL, POOL, made.executor(POOL), options=options).start()
        made.await_nodes(POOL)
        _bench_rate(made, agent, asked.pods)
        _bench_start(made)
        _bench_memory(made, agent)


def _bench_rate(made: Installation, agent: AgentProcess, pods: int) -> None:
    names = [f"short-{number}" for number in range(pods // PODS_OF_A_WORKLOAD)]
    template = template_of("true")
    manifests = [made.manifest(name, POOL, template, PODS_OF_A_WORKLOAD) for name in names]
    programs = _programs(made, agent)
    before = _processor_seconds(programs)
    machine = psutil.cpu_times()
    begun = time.monotonic()
    made.client.submit_batch(manifests)
    while made.client.read("/v1/overview")["counts"].get("Succeeded", 0) < len(names):
        time.sleep(0.2)
    seconds = time.monotonic() - begun
    spent = _processor_seconds(programs)
    spent.subtract(before)
    known = [pod for name in names[-20:] for pod in made.pods(name)]
    assert {pod["exitCode"] for pod in known} == {0}
    after = psutil.cpu_times()
    used = (after.user + after.system) - (machine.user + machine.system)
    print(f"short pods       {pods / seconds:.0f} a second ({pods} in {seconds:.1f} s)")
    print(f"processors       {used / seconds:.2f} in use, by all programs of this machine")
    total = 0.0
    for name, each in sorted(spent.items()):
        total += each
        print(f"  {name:14} {1000 * each / pods:.2f} ms a pod")
    print(f"  {'together':14} {1000 * total / pods:.2f} ms a pod")


def _programs(made: Installation, agent: AgentProcess) -> dict[str, psutil.Process]:
    assert agent.process is not None
    own = psutil.Process(agent.process.pid)
    found = {"agent": own, "api": psutil.Process(made.up.pid_of("api"))}
    found["worker"] = psutil.Process(made.up.pid_of("worker-1"))
    pid_file = made.up.data / "postgres" / "data" / "postmaster.pid"
    found["postgres"] = psutil.Process(int(pid_file.read_text().splitlines()[0]))
    return found


def _processor_seconds(programs: dict[str, psutil.Process]) -> Counter[str]:
    """User and system time, with that of living children and of those that were waited for."""
    found: Counter[str] = Counter()
    for name, program in programs.items():
        for process in (program, *program.children(recursive=True)):
            times = process.cpu_times()
            spent = times.user + times.system + times.children_user + times.children_system
            found[name] += spent  # type: ignore[assignment]
    return found


@contextmanager
def _agent(made: Installation, running: int) -> Iterator[int]:
    options = ["--max-pods", str(2 * running)]
    agent = made.agent(POOL, POOL, made.executor(POOL), options=options).start()
    made.await_nodes(POOL)
    assert agent.process is not None
    yield agent.process.pid


@contextmanager
def _slurm(made: Installation, running: int) -> Iterator[int]:
    """Nodes with as many processors as it takes, each pod one."""
    assert not lacking(), "install Slurm as root: python .ci/slurm.py"
    cpus = running // NODES + 1
    sizes = {"cpus": 2 * cpus, "mebibytes": 2 * cpus * MEBIBYTES_OF_A_POD}
    with slurm_cluster(made.directory / "cluster", **sizes) as cluster:
        executor = SlurmExecutor(made, cluster, made.executor(SLURM), pool=POOL)
        executor.start()
        made.await_nodes(*(f"host-{number}" for number in range(1, NODES + 1)))
        yield executor.pid
        executor.end()


@contextmanager
def _ray(made: Installation, running: int) -> Iterator[int]:
    """The double runs ranks in processes of its own, not of the executor."""
    double = RayDouble(made.directory / "double", cpus=2 * running)
    command = [HEADGATE, "executor", "ray", "--name", RAY, "--dashboard", double.url]
    command += ["--directory", str(made.directory / "ray"), "--labels", f"{RUNS_IN}={POOL}"]
    own = {"HEADGATE_URL": made.connection.url, "HEADGATE_TOKEN": made.executor(RAY)}
    with (made.directory / "ray.out").open("wb") as output:
        process = subprocess.Popen(
            command, env={**environment(), **own}, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        made.await_nodes(*HOSTS)
        yield process.pid
    finally:
        process.terminate()
        process.wait()
        double.end()


BESIDE = {"agent": _agent, "slurm": _slurm, "ray": _ray}


def _bench_beside(made: Installation, process: int, running: int) -> None:
    measured = psutil.Process(process)
    before = measured.memory_info().rss
    count, size = running // PODS_OF_A_WORKLOAD, PODS_OF_A_WORKLOAD
    names = [f"lasting-{number}" for number in range(count)]
    lasting = template_of("sleep", "3600")
    begun = time.monotonic()
    made.client.submit_batch([made.manifest(name, POOL, lasting, size) for name in names])
    for name in names:
        made.await_phase(name, "Running")
    seconds = time.monotonic() - begun
    print(f"started          {count * size} pods in {seconds:.1f} s")
    memory = measured.memory_info().rss
    each = (memory - before) / (count * size)
    print(f"memory           {memory / 2**20:.0f} MiB, {each / 2**10:.0f} KiB a running pod")
    _bench_start(made)
    for name in names:
        made.act(name, "cancel")
    for name in names:
        made.await_end(name)


def _bench_start(made: Installation) -> None:
    delays = []
    for number in range(SINGLE_PODS):
        name = made.submit(f"single-{number}", POOL, template_of("true"))
        made.await_end(name)
        (pod,) = made.pods(name)
        (admitted,) = made.events(name, "workload.admitted")
        delays.append(_instant(pod["startedAt"]) - _instant(admitted["at"]))
    delays.sort()
    p99 = delays[int(len(delays) * 0.99)]
    p50 = statistics.median(delays)
    print(f"admission to run {p50 * 1000:.0f} ms p50, {p99 * 1000:.0f} ms p99")


def _bench_memory(made: Installation, agent: AgentProcess) -> None:
    name = made.submit("long", POOL, template_of("sleep", "60"), MEMORY_PODS)
    made.await_phase(name, "Running")
    shims = agent.supervisors()
    private = statistics.median(private_bytes(pid) for pid in shims)
    resident = statistics.median(psutil.Process(pid).memory_info().rss for pid in shims)
    print(
        f"memory of a shim {resident / 2**20:.1f} MiB resident, "
        f"{private / 2**20:.1f} MiB of its own"
    )
    made.act(name, "cancel")
    made.await_end(name)


def _instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


if __name__ == "__main__":
    main()
