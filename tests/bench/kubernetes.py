"""`python -m tests.bench.kubernetes`: what the Kubernetes executor adds, over a double.

The double of the API server, which plays scheduler and kubelets too, runs in this process; the
executor runs in one of its own, so that its memory is its own. Beside 1,000 running pods, of which
the output is followed, single pods are admitted one after another: some that end at once, each once
the one before is gone, and some that run for a few seconds. Kubelets take 20 ms of each start, and
notice within a second that a container has ended of which the output is followed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import psutil

from headgate.executor.assignments import AssignedPod, Assignment
from headgate.executor.core import ExecutorCore, RunAnswer
from headgate.executor.substrates.kubernetes.access import find_access
from headgate.executor.substrates.kubernetes.cluster import KubernetesCluster, KubernetesSettings
from headgate.executor.substrates.kubernetes.pod_manifest import ManifestRules
from tests.executors.pods import assignment_of, key_of
from tests.kubernetes.api_double import ApiDouble, api_double
from tests.kubernetes.builders import EXECUTOR, podded
from tests.kubernetes.kubelet import Cluster

NODES = 20
SINGLE = "single"
LONG_SECONDS = 2


def main() -> None:
    """Measures and prints, or is the executor that is measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.kubernetes", description=__doc__)
    parser.add_argument("--running", type=int, default=1_000, help="pods that run all the time")
    parser.add_argument("--admitted", type=int, default=100, help="pods that are admitted singly")
    parser.add_argument("--executor", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.executor:
        measure(Path(options.executor), options.running, options.admitted)
        return
    with tempfile.TemporaryDirectory() as directory, api_double() as api:
        api.log_check_seconds = 1.0
        Cluster(api, tuple(f"host-{number}" for number in range(1, NODES + 1)))
        kubeconfig = api.kubeconfig(Path(directory) / "kubeconfig")
        command = [sys.executable, "-m", "tests.bench.kubernetes", "--executor", str(kubeconfig)]
        command += ["--running", str(options.running), "--admitted", str(options.admitted)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                show(api, line)


def show(api: ApiDouble, line: str) -> None:
    """Prints a part of what was measured, with the requests since the part before."""
    told = json.loads(line)
    print(told["text"])
    pods, requests = told["pods"], dict(api.requests)
    api.requests.clear()
    if not pods:
        return
    counted = {
        name: count
        for name, count in sorted(requests.items())
        if not name.startswith("GET /api/v1/pods")
    }
    print(f"  requests for each admitted pod: {sum(counted.values()) / pods:.2f}")
    for name, count in counted.items():
        print(f"    {count / pods:.2f} {name}")


def measure(kubeconfig: Path, running: int, admitted: int) -> None:
    """The executor: runs pods, and tells how long they took and what memory it has."""
    settings = KubernetesSettings(rules=ManifestRules(executor=EXECUTOR))
    cluster = KubernetesCluster(settings, find_access(str(kubeconfig)))
    while not cluster.is_known():
        time.sleep(0.01)
    core = ExecutorCore(cluster, kubeconfig.parent / "core", now=lambda: 0, say=lambda _line: None)
    before = psutil.Process().memory_info().rss
    lasting = assigned(podded(lasts=True, output="a line\nanother"), "lasting", range(running))
    started_at = time.monotonic()
    core.replace_assignments(1, "log-1", [lasting])
    run_until(cluster, core, lambda: ready(core) >= running)
    seconds = time.monotonic() - started_at
    keys = [key_of(index, uid="0193-lasting") for index in range(running)]
    while not all(cluster.logs(key, "stdout", 0, 1).content for key in keys):
        time.sleep(0.05)
    tell(
        f"burst: {running} pods started in {seconds:.2f} s, {running / seconds:.0f} a second",
        running,
    )
    memory = psutil.Process().memory_info().rss
    tell(
        f"memory: {memory >> 20} MiB, {(memory - before) / running / 1024:.0f} KiB a running pod", 0
    )
    took = [admit(cluster, core, lasting, number) for number in range(admitted)]
    run_until(cluster, core, lambda: len(cluster.pods.keys()) == running)
    ordered = sorted(took)
    tell(
        f"admitted to started beside {running} running pods: "
        f"p50 {statistics.median(ordered) * 1000:.0f} ms, "
        f"p99 {ordered[int(len(ordered) * 0.99)] * 1000:.0f} ms",
        admitted,
    )
    run_long(cluster, core, lasting, admitted)
    tell(f"admitted singly, ran for {LONG_SECONDS} to {LONG_SECONDS + 1} s", admitted)
    cluster.close()
    core.close()


def run_long(
    cluster: KubernetesCluster, core: ExecutorCore, lasting: Assignment, admitted: int
) -> None:
    """Admits pods that run for a few seconds, one after another, and sees them all gone."""
    given = [lasting]
    for number in range(admitted):
        template = podded(output="a line")
        template["metadata"]["annotations"]["test/seconds"] = str(LONG_SECONDS + number / admitted)
        given.append(assigned(template, f"long-{number}", range(1)))
        core.replace_assignments(core.position + 1, "log-1", given)
        core.step()
        time.sleep(0.05)
    keys = [key_of(uid=f"0193-long-{number}") for number in range(admitted)]
    uids = {key.uid for key in keys}
    run_until(cluster, core, lambda: len(ended(core, uids)) == admitted)
    while not all(cluster.logs(key, "stdout", 0, 100).content for key in keys):
        time.sleep(0.05)
    answers = [each for each in core.unanswered(10_000) if each.uid in uids]
    core.take_answers([RunAnswer(report=each, accepted=True) for each in answers])
    core.replace_assignments(core.position + 1, "log-1", [lasting])
    run_until(cluster, core, lambda: len(cluster.pods.keys()) == len(lasting.pod_sets[0].pods))


def ended(core: ExecutorCore, uids: set[str]) -> set[str]:
    """The workloads of which the end was reported."""
    reports = core.unanswered(10_000)
    return {each.uid for each in reports if each.uid in uids and each.type == "finished"}


def assigned(template: Any, workload: str, indices: range) -> Assignment:
    """An assignment of single pods over all nodes."""
    given = assignment_of(
        template, workload=f"team-a/{workload}", uid=f"0193-{workload}", hosts=(), world_size=None
    )
    pods = tuple(
        AssignedPod(index=each, rank=each, run=1, node=f"host-{each % NODES + 1}")
        for each in indices
    )
    (pod_set,) = given.pod_sets
    return msgspec.structs.replace(given, pod_sets=(msgspec.structs.replace(pod_set, pods=pods),))


def admit(
    cluster: KubernetesCluster, core: ExecutorCore, lasting: Assignment, number: int
) -> float:
    """Runs one pod to its end, and returns the seconds from its admission to its start."""
    name = f"{SINGLE}-{number}"
    given = assigned(podded(output="a line"), name, range(1))
    key = key_of(uid=f"0193-{name}")
    at = time.monotonic()
    core.replace_assignments(core.position + 1, "log-1", [lasting, given])

    def has(*kinds: str) -> bool:
        reports = core.unanswered(10_000)
        return any(each.uid == key.uid and each.type in kinds for each in reports)

    run_until(cluster, core, lambda: has("ready", "finished"))
    took = time.monotonic() - at
    run_until(cluster, core, lambda: has("finished"))
    while cluster.logs(key, "stdout", 0, 100).content == b"":
        cluster.wait(0.01)
    answers = [each for each in core.unanswered(10_000) if each.uid == key.uid]
    core.take_answers([RunAnswer(report=each, accepted=True) for each in answers])
    core.replace_assignments(core.position + 1, "log-1", [lasting])
    run_until(cluster, core, lambda: key.name not in cluster.observe())
    return took


def ready(core: ExecutorCore) -> int:
    """The number of pods that were reported ready."""
    return sum(each.type == "ready" for each in core.unanswered(10_000))


def run_until(cluster: KubernetesCluster, core: ExecutorCore, look: Callable[[], bool]) -> None:
    """Steps as the process of an executor does."""
    while True:
        core.step()
        if look():
            return
        cluster.wait(2.0)
        time.sleep(0.002)


def tell(text: str, pods: int) -> None:
    """Tells the process of the double a part of what was measured."""
    print(json.dumps({"text": text, "pods": pods}), flush=True)


if __name__ == "__main__":
    main()
