"""`python -m tests.chaos.every`: all programs of this package, and what each of them ended with.

`--quick` asks each for its smallest run, to see that all of them work. One that fails does not keep
the others from running; the end is 1 if any failed.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

QUICK = {
    "tests.chaos": ("--limit", "200", "--kills", "2", "--flushes", "1", "--cycles", "5"),
    "tests.chaos.failover": ("--rounds", "1"),
    "tests.chaos.outages": ("--seconds", "5"),
    "tests.chaos.shares": ("--pending", "2000", "--rounds", "1"),
    "tests.chaos.executors": ("--processes", "50", "--kills", "1"),
    "tests.chaos.slurm": ("--gangs", "8", "--kills", "1"),
}
"""The programs in their order, with the options of their smallest run."""


def main() -> int:
    """0 if every program has ended with 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.every", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest run of each")
    asked = parser.parse_args()
    told = [_run(name, options if asked.quick else ()) for name, options in QUICK.items()]
    print(*(line for line, _ in told), sep="\n")
    return int(any(ended for _, ended in told))


def _run(name: str, options: Sequence[str]) -> tuple[str, int]:
    print(f"{name} {' '.join(options)}".rstrip(), flush=True)
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-m", name, *options], check=False).returncode
    result = "held" if ended == 0 else f"ended with {ended}"
    return f"{name}: {result}, {time.monotonic() - began:.0f} s", ended


if __name__ == "__main__":
    sys.exit(main())
