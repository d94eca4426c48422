"""Short pods through the core and the agent's substrate, without a server.

Prints pods a second, the time from a start to the first instruction of the pod, and the memory and
processor time of a shim: `python -m tests.bench.agent`. The time of shims is counted for no other
process, so that what `python -m tests.bench.executors` prints for a pod lacks it.
"""

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from headgate.adapters.system.clocks_and_randomness import pause
from headgate.executor.process import MIN_STEP_SECONDS
from headgate.executor.reconcile import RunReport
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.host import AgentHost
from headgate.executor.substrates.agent.isolation import level_of
from headgate.executor.substrates.agent.run_directory import Started, Supervisor
from tests.executors.pods import (
    LOG,
    assignment_of,
    core_of,
    host_of,
    key_of,
    plan_of,
    template_of,
)

PODS = 500
MEMORY_PODS = 20
COUNTED_PODS = 60
COUNTING = """
import os, sys
from pathlib import Path
from headgate.executor.substrates.agent import zygote

zygote.warm_up()
for line in sys.stdin.read().split():
    if not (pid := os.fork()):
        zygote.become_shim(Path(line))
    used = os.wait4(pid, 0)[2]
    print(used.ru_utime + used.ru_stime)
"""
"""A warm parent of shims that waits for each, as only so the kernel tells what one has used."""


def main() -> None:
    """Prints one line for each figure."""
    with (
        tempfile.TemporaryDirectory() as name,
        contextlib.closing(host_of(Path(name))) as host,
        contextlib.closing(core_of(host, Path(name))) as core,
    ):
        directory = Path(name)
        core.replace_assignments(1, LOG, [assignment_of(template_of("true"), pods=PODS)])
        begun = time.time()
        finished: list[RunReport] = []
        while len(finished) < PODS:
            core.step()
            finished = [each for each in core.unanswered(3 * PODS) if each.type == "finished"]
            host.wait(0.5)
            pause(MIN_STEP_SECONDS)
        seconds = time.time() - begun
        print(f"isolation      {level_of(host.cgroups)}")
        print(f"short pods     {PODS / seconds:.0f} a second")
        delays = sorted(_start_delays(directory))
        p99 = delays[int(len(delays) * 0.99)]
        print(
            f"request to run {statistics.median(delays) * 1000:.1f} ms p50, {p99 * 1000:.1f} ms p99"
        )
        template = template_of("sleep", "60")
        core.replace_assignments(2, LOG, [assignment_of(template, pods=MEMORY_PODS, attempt=2)])
        while sum(run.state == "Running" for run in host.observe().values()) < MEMORY_PODS:
            core.step()
            host.wait(0.5)
        private = [private_bytes(pid) for pid in _shims(directory)]
        print(f"memory of shim {statistics.median(private) / 2**20:.1f} MiB of its own")
        for run in list(host.observe().values()):
            host.kill(run.key)
        while any(run.state != "Ended" for run in host.observe().values()):
            host.wait(0.5)
        seconds = statistics.median(_shim_seconds(host))
        print(f"time of shim   {seconds * 1000:.1f} ms of processor time, with an empty pod")


class _Gathering:
    """Takes the place of a parent of shims, and starts none."""

    def __init__(self) -> None:
        self.directories: list[Path] = []

    def start_shim(self, directory: Path) -> None:
        self.directories.append(directory)

    def close(self) -> None:
        """Nothing runs."""


def _shim_seconds(host: AgentHost) -> list[float]:
    gathering = _Gathering()
    host._zygote.close()  # noqa: SLF001 - what it starts cannot be counted
    host._zygote = gathering  # type: ignore[assignment]  # noqa: SLF001
    for index in range(COUNTED_PODS):
        host.start(plan_of(key_of(index, attempt=3), template_of("true")))
    lines = "\n".join(map(str, gathering.directories))
    done = subprocess.run(
        (sys.executable, "-c", COUNTING), input=lines, capture_output=True, text=True, check=True
    )
    return [float(line) for line in done.stdout.split()]


def _start_delays(directory: Path) -> list[float]:
    """Seconds from the request, when the launch was written, to the start of the pod."""
    found = []
    for run in (directory / "agent" / "runs").iterdir():
        started = files.read(run / files.STARTED, Started)
        if started is not None:
            found.append(started.at / 1e6 - (run / files.LAUNCH).stat().st_mtime)
    return found


def _shims(directory: Path) -> list[int]:
    runs = (directory / "agent" / "runs").glob("*-2-main-*")
    found = [files.read(run / files.SUPERVISOR, Supervisor) for run in runs]
    return [each.pid for each in found if each is not None]


def private_bytes(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    private = [line.split() for line in rollup.splitlines() if line.startswith("Private_")]
    return sum(int(words[1]) * 1024 for words in private)


if __name__ == "__main__":
    main()
