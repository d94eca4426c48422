"""`headgate agent` that kills itself at a step.

A step is a write or a message of a pod's life: the directory of a run, its order to the parent of
shims, each line of the journal, each request with reports or output, and the removal of the run.
Once the file `CRASH_AT` has a number and a step, as in `2 after report`, the process is killed when
it comes to that step for the second time. Each step is counted for itself, as several threads take
them.
"""

import os
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headgate.cli.main import run
from headgate.client.executors import ExecutorClient
from headgate.executor.journal import Journal
from headgate.executor.substrates.agent import run_directory
from headgate.executor.substrates.agent.zygote import Zygote

CRASH_AT = "HEADGATE_TEST_CRASH_AT"

STEPS: tuple[tuple[Any, str], ...] = (
    (run_directory, "write"),
    (Zygote, "start_shim"),
    (Journal, "_write"),
    (ExecutorClient, "report"),
    (ExecutorClient, "send_logs"),
    (shutil, "rmtree"),
)


class Crash:
    """Counts steps, and kills this process at the one that a file asks for."""

    def __init__(self, armed: Path) -> None:
        self._armed = armed
        self._lock = threading.Lock()
        self._asked = ""
        self._taken: Counter[str] = Counter()

    def guard(self, owner: Any, name: str) -> None:
        """Has a function of a step counted."""
        original: Callable[..., Any] = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            if name == "write" and args and getattr(args[0], "name", "") == "lease.json":
                return original(*args, **kwargs)
            self._at(f"before {name}")
            found = original(*args, **kwargs)
            self._at(f"after {name}")
            return found

        setattr(owner, name, counted)

    def _at(self, step: str) -> None:
        with self._lock:
            if not self._armed.exists():
                return
            asked = self._armed.read_text()
            if asked != self._asked:
                self._asked = asked
                self._taken.clear()
            self._taken[step] += 1
            if asked == f"{self._taken[step]} {step}":
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Runs the command line with what the environment asks for."""
    crash = Crash(Path(os.environ.pop(CRASH_AT)))
    for owner, name in STEPS:
        crash.guard(owner, name)
    run()


if __name__ == "__main__":
    main()
