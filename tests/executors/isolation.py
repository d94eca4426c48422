"""Prints the isolation that this machine gives pods: `python -m tests.executors.isolation`.

Each level that the machine has runs a pod that detaches a process, exceeds its memory, and is
killed; a row says what became of it.
"""

import contextlib
import tempfile
import time
from pathlib import Path

from headgate.executor.substrate import StopOrder
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.host import AgentHost
from headgate.executor.substrates.agent.isolation import level_of
from headgate.executor.substrates.agent.run_directory import CgroupLayout
from tests.executors.pods import (
    ended,
    eventually,
    host_of,
    key_of,
    output_of,
    plan_of,
    python,
    shell,
)

HUNGRY = "import time; b = bytearray(512 << 20); time.sleep(60)"


def main() -> None:
    """Prints a row for each level that works here."""
    with (
        tempfile.TemporaryDirectory() as directory,
        contextlib.closing(host_of(Path(directory))) as host,
    ):
        best = host.cgroups
        print(f"this machine: {level_of(best)}")
        print("level          detached process  memory of 64 MiB  kill")
        for number, layout in enumerate((best, CgroupLayout())):
            host.cgroups = layout
            detached, kill_milliseconds = _detached(host, number * 10)
            memory = _memory(host, number * 10 + 1)
            print(f"{level_of(layout):14} {detached:17} {memory:17} {kill_milliseconds:.0f} ms")


def _detached(host: AgentHost, index: int) -> tuple[str, float]:
    key = key_of(index)
    host.start(plan_of(key, shell("setsid sh -c 'echo $$; exec sleep 300' & sleep 300")))
    pid = int(eventually(lambda: output_of(host, key).strip(), host))
    begun = time.monotonic()
    host.signal(key, StopOrder(id="e1", attempt=1, deadline="2020-01-01T00:00:00Z"))
    ended(host, key)
    took = (time.monotonic() - begun) * 1000
    return ("survived" if files.start_ticks(pid) else "killed"), took


def _memory(host: AgentHost, index: int) -> str:
    key = key_of(index)
    template = python(HUNGRY, activeDeadlineSeconds=10)
    template["spec"]["containers"][0]["resources"] = {"limits": {"memory": "64Mi"}}
    host.start(plan_of(key, template))
    end = ended(host, key).end
    return end.reason if end is not None else ""


if __name__ == "__main__":
    main()
