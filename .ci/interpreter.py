"""Prints the Python that runs Headgate fastest: `python3 .ci/interpreter.py`.

Interpreters that were built without optimisation take about a fifth more processor time, and how
one was built cannot be read off all of them. So each usable one on the search path runs a short
loop. Written for any Python 3, as the first one at hand runs it.
"""

import os
import subprocess
import sys
from pathlib import Path

NAMES = ("python3.11", "python3.12", "python3.13", "python3.14", "python3")
CHECKED = """
import ensurepip, sys, time, venv
assert sys.version_info >= (3, 11)
taken = []
for _ in range(5):
    begun, found = time.process_time(), {}
    for number in range(30000):
        found[number % 997] = (number, str(number))
    sorted(found.values(), key=lambda each: each[1])
    taken.append(time.process_time() - begun)
print(sys.executable, min(taken))
"""
"""Fails where Headgate or its environment could not run; prints path and seconds otherwise."""


def main() -> int:
    """Exit code 1, with the remedy, where no usable interpreter is installed."""
    measured = [found for found in map(measure, candidates()) if found]
    if not measured:
        sys.stderr.write("Headgate needs Python 3.11 or later with venv and ensurepip on PATH.\n")
        return 1
    print(min(measured)[1])
    return 0


def candidates() -> list[Path]:
    """Every interpreter on the search path by a known name, each file once."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    found: dict[Path, Path] = {}
    for path in (folder / name for name in NAMES for folder in folders):
        if os.access(path, os.X_OK):
            found.setdefault(path.resolve(), path)
    return [*found.values()]


def measure(path: Path) -> "tuple[float, str] | None":
    """The seconds of the loop and the interpreter; None for one that is not usable."""
    done = subprocess.run([path, "-c", CHECKED], capture_output=True, check=False)
    if done.returncode != 0:
        return None
    interpreter, seconds = done.stdout.decode().rsplit(None, 1)
    return float(seconds), interpreter


if __name__ == "__main__":
    raise SystemExit(main())
