"""Fresh processes for what can be measured once in a process: its memory, and its start."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]


def start_child(module: str, *arguments: object, packages: Path | None = None) -> "Child":
    """Starts `python -m module arguments`; `packages` is a directory that is imported from first.

    What the child writes to its standard output are JSON values, one a line.
    """
    environment = dict(os.environ)
    if packages is not None:
        environment["PYTHONPATH"] = str(packages)
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return Child(
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    )


class Child:
    """A process that tells what it measured."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def told(self) -> Any:
        """Returns the next value that it tells; raises if it has ended without."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a child ended with {self._process.wait()} and told nothing")
        return json.loads(line)

    def go_on(self) -> None:
        """Let it go on from `wait_for_parent`."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Wait until it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def measured(module: str, *arguments: object, packages: Path | None = None) -> Any:
    """Returns the only value that a child tells."""
    child = start_child(module, *arguments, packages=packages)
    value = child.told()
    child.end()
    return value


def tell(value: object) -> None:
    """Tells the parent a value."""
    print(json.dumps(value), flush=True)


def wait_for_parent() -> None:
    """Returns when the parent lets this process go on, or has ended."""
    sys.stdin.readline()


def unshared_bytes() -> int:
    """Returns the memory that no other process shares (USS), without garbage."""
    gc.collect()
    return int(psutil.Process().memory_full_info().uss)
