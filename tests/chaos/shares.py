"""`python -m tests.chaos.shares`: two API processes, and workers that come and go under load.

Each worker holds the pending workloads of its partitions alone. While workloads are submitted to
both API processes and run in a simulated executor, workers are killed, added and ended, so that
partitions move; at the end nothing may be lost or decided twice. Whether the memory of each worker
follows the share of the workloads that it holds (scale.md §4) is told as a target, met or missed: a
worker that has held more before keeps some of it.
"""

import argparse
import itertools
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil

from headgate.domain.scheduling.partition.partition_layout import INSTALLATION
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, workload
from tests.api.serving import Server, serving
from tests.bench.population import Population, filled_database, queue_of
from tests.bench.start import settle
from tests.chaos.ledger import Ledger, read_ledger
from tests.contracts.adapters import Adapters, on_postgres
from tests.processes.programs import WorkerProcess, Workers, wait_until
from tests.processes.up import HEADGATE, environment
from tests.workers.cluster import NAMESPACE, cluster, record, submitted

PATH = f"/v1/namespaces/{NAMESPACE}/workloads"
FULL_QUEUES = 12
LIVE_QUEUES = tuple(f"live-{number}" for number in range(6))
LIVE_CPU_MILLI = 40_000
"""Twenty workloads of a live queue run at a time."""
WORKERS = 4
FIRST = 1
"""The workload that shows that the first worker decides."""
SECONDS_BETWEEN_SUBMITS = 0.1
SECONDS_TO_ANSWER = 30.0
SECONDS_BETWEEN_FAULTS = 5.0
OWN_BYTES = 40 << 20
"""What a worker takes for its work, whatever it holds: code, batches of events, free memory."""
TOLERANCE = 0.25


class Submitter(threading.Thread):
    """Submits to one API process, and reads each workload at once from the other."""

    def __init__(self, name: str, submits_to: Server, reads_from: Server) -> None:
        super().__init__(daemon=True)
        headers = {"Authorization": f"Bearer {ADMIN_SECRET}"}
        self._writes = httpx.Client(
            base_url=submits_to.url, headers=headers, timeout=SECONDS_TO_ANSWER
        )
        self._reads = httpx.Client(
            base_url=reads_from.url, headers=headers, timeout=SECONDS_TO_ANSWER
        )
        self._prefix = name
        self._is_over = threading.Event()
        self.submitted = 0
        self.unexpected: list[str] = []

    def run(self) -> None:
        """Submit until it is over."""
        for number in itertools.count():
            if self._is_over.wait(SECONDS_BETWEEN_SUBMITS):
                return
            self._submit(f"{self._prefix}-{number}", LIVE_QUEUES[number % len(LIVE_QUEUES)])

    def end(self) -> None:
        """Submit no more."""
        self._is_over.set()
        self.join()
        self._writes.close()
        self._reads.close()

    def _submit(self, name: str, queue: str) -> None:
        body = workload(name, NAMESPACE, queue)
        answer = self._writes.post(PATH, json=body)
        if answer.status_code != httpx.codes.CREATED:
            self.unexpected.append(f"{name} was answered with {answer.status_code}")
            return
        self.submitted += 1
        position = answer.json()["metadata"]["resourceVersion"]
        found = self._reads.get(f"{PATH}/{name}", params={"minPosition": position})
        if found.status_code != httpx.codes.OK:
            self.unexpected.append(f"{name} was read with {found.status_code}")


class Fleet:
    """The workers that run, what each of them holds, and how many were killed, added and ended."""

    def __init__(self, workers: Workers, adapters: Adapters, population: Population) -> None:
        self._workers = workers
        self._adapters = adapters
        self._pending = Counter(
            f"clusterqueue/{queue_of(number, population.partitions)}"
            for number in range(population.pending)
        )
        self.running: list[WorkerProcess] = []
        self.counts: Counter[str] = Counter()
        self.moves = 0

    def add(self, number: int = 1) -> None:
        """Start so many workers, and wait until each has its share."""
        self.running += [self._workers.start() for _ in range(number)]
        self.counts["added"] += number
        self.settle()

    def kill(self, chosen: random.Random) -> None:
        """End a worker without any warning; another one comes only after its partitions moved."""
        worker = self.running.pop(chosen.randrange(len(self.running)))
        worker.kill()
        self.counts["killed"] += 1
        self.settle()

    def end_one(self, chosen: random.Random) -> None:
        """Ask a worker to end; it gives its partitions up."""
        worker = self.running.pop(chosen.randrange(len(self.running)))
        assert worker.terminate(60) == 0, worker.said()[-1_000:]
        self.counts["ended"] += 1
        self.settle()

    def settle(self) -> None:
        """Return once partitions are spread over the workers that run."""
        before = self._owners()
        wait_until(self._is_spread, "partitions are spread over the workers")
        after = self._owners()
        self.moves += sum(before.get(key) != owner for key, owner in after.items())
        time.sleep(SECONDS_BETWEEN_FAULTS)

    def shares(self) -> dict[int, float]:
        """The share of the pending workloads that each worker holds, by its process id.

        That of `installation` holds all, as decisions there look at all (`Scope.is_enough`).
        """
        held: Counter[int] = Counter(dict.fromkeys((each.pid for each in self.running), 0))
        owners = self._owners()
        for key, pid in owners.items():
            held[pid] += self._pending[key]
        held[owners[INSTALLATION]] = self._pending.total()
        return {pid: number / self._pending.total() for pid, number in held.items()}

    def _is_spread(self) -> bool:
        """Whether each worker that runs, and no other, has its number of partitions."""
        partitions = Counter(
            pid for key, pid in self._owners().items() if self._pending[key] or "live" in key
        )
        if set(partitions) != {each.pid for each in self.running}:
            return False
        # One of the partitions that are counted for nothing here may be any worker's.
        return max(partitions.values()) - min(partitions.values()) <= 2

    def _owners(self) -> dict[str, int]:
        """The process id of the worker that had each partition last, where it is one of these."""
        found = {row.key: row.owner.rpartition(":")[2] for row in self._adapters.partitions.rows()}
        return {key: int(pid) for key, pid in found.items() if pid.isdigit()}


def main() -> int:
    """0 if everything held, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.shares", description=__doc__)
    parser.add_argument("--pending", type=int, default=60_000, help="pending workloads")
    parser.add_argument("--rounds", type=int, default=4, help="kills, additions and ends, each")
    parser.add_argument("--seed", type=int, default=0, help="another order of workers")
    asked = parser.parse_args()
    with filled_database(FULL_QUEUES) as (directory, platform, population), ExitStack() as stack:
        url = platform.settings.database_url
        adapters = stack.enter_context(on_postgres(url))
        record(adapters.log, *cluster(*LIVE_QUEUES, cpu_milli=LIVE_CPU_MILLI))
        workers = Workers(url, directory)
        stack.callback(workers.end)
        empty = _memory_of_one(workers, adapters)
        population.add_pending("training", asked.pending)
        settle(platform)
        settings = Settings(database_url=url, broker_url="memory://", admin_token=ADMIN_SECRET)
        servers = [stack.enter_context(serving(settings)) for _ in range(2)]
        fleet = Fleet(workers, adapters, population)
        submitters = _submit(servers)
        executor = _executor(stack, servers[0], directory)
        _move_partitions(fleet, asked.rounds, random.Random(asked.seed))
        for submitter in submitters:
            submitter.end()
        broken = [line for submitter in submitters for line in submitter.unexpected]
        count = sum(submitter.submitted for submitter in submitters)
        broken += _await_end(url, count + FIRST)
        executor.terminate()
        taken = {pid: _unshared_bytes(pid) - empty for pid in fleet.shares()}
        shares = fleet.shares()
        workers.end()
        whole = _memory_of_one(workers, adapters) - empty
        print(f"a worker takes {empty >> 20} MiB, and {whole >> 20} MiB for all workloads")
        _tell_memory(shares, taken, whole)
        broken += _verified(url)
    print(
        f"{count} submitted to two API processes, workers: {dict(fleet.counts)}, "
        f"{fleet.moves} partitions moved"
    )
    for line in broken:
        print(f"BROKEN: {line}")
    if not broken:
        print("nothing lost, nothing twice")
    return 1 if broken else 0


def _memory_of_one(workers: Workers, adapters: Adapters) -> int:
    """Returns what a worker takes that alone holds everything, once it has nothing to do."""
    worker = workers.start()
    record(adapters.log, submitted(f"first-of-{worker.pid}", LIVE_QUEUES[0]))
    wait_until(lambda: not adapters.partitions.agenda().due, "all is decided")
    time.sleep(SECONDS_BETWEEN_FAULTS)
    found = _unshared_bytes(worker.pid)
    assert worker.terminate(60) == 0, worker.said()[-1_000:]
    return found


def _submit(servers: list[Server]) -> list[Submitter]:
    first, second = servers
    submitters = [Submitter("a", first, second), Submitter("b", second, first)]
    for submitter in submitters:
        submitter.start()
    return submitters


def _executor(stack: ExitStack, server: Server, directory: Path) -> "subprocess.Popen[bytes]":
    given = {"HEADGATE_URL": server.url, "HEADGATE_TOKEN": ADMIN_SECRET}
    output = stack.enter_context((directory / "executor.log").open("wb"))
    process = subprocess.Popen(
        [HEADGATE, "executor", "--mean-run-seconds", "1", "--max-start-seconds", "0.3"],
        env={**environment(), **given},
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    stack.callback(process.kill)
    return process


def _move_partitions(fleet: Fleet, rounds: int, chosen: random.Random) -> None:
    """Workers are killed, added and ended in turn; in the end there are four that came late."""
    fleet.add(WORKERS)
    for number in range(1, rounds + 1):
        fleet.kill(chosen)
        fleet.add()
        fleet.add()
        fleet.end_one(chosen)
        print(f"round {number}: {dict(fleet.counts)}, {fleet.moves} partitions moved", flush=True)


def _await_end(url: str, expected: int) -> list[str]:
    """Waits until all that was submitted has finished; returns what does not hold in the log."""
    found: list[Ledger] = []

    def is_over() -> bool:
        found.append(read_ledger(url))
        return found[-1].finished >= expected

    broken = []
    try:
        wait_until(is_over, "all workloads have finished")
    except AssertionError:
        broken.append(f"{expected} were submitted, {found[-1].finished} have finished")
    ledger = found[-1]
    broken += [f"{stream} was submitted twice" for stream in ledger.submitted_twice]
    broken += [f"{stream} was admitted twice" for stream in ledger.admitted_twice]
    return broken


def _tell_memory(shares: dict[int, float], taken: dict[int, int], whole: int) -> None:
    """Tells of each worker whether its memory follows its share."""
    for pid, share in sorted(shares.items()):
        is_met = taken[pid] <= whole * share * (1 + TOLERANCE) + OWN_BYTES
        print(
            f"worker {pid}: {share:.1%} of the workloads, {taken[pid] >> 20} MiB for them: "
            f"{'met' if is_met else 'missed'}"
        )


def _unshared_bytes(pid: int) -> int:
    return int(psutil.Process(pid).memory_full_info().uss)


def _verified(url: str) -> list[str]:
    done = subprocess.run(
        [HEADGATE, "verify", "-o", "table", "--database-url", url],
        env={**environment(), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    return [f"headgate verify ended with {done.returncode}"] if done.returncode else []


if __name__ == "__main__":
    sys.exit(main())
