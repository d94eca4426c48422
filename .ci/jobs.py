"""Runs all that `make test` promises: `python .ci/jobs.py [arguments of pytest]`.

Three lanes run at once: what the tests of Python need and then these, the checks of Python, and
those of the page. Tests often wait for processes, and checks of lower priority use what is left of
the cores. Every job runs even if another fails, so that one run shows every failure. The tests
write to the terminal while they run; the output of a check that failed follows after them, and a
table says how long each took.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import slurm

ROOT = Path(__file__).resolve().parent.parent
TEST_PROCESSES = 5
"""More than the two cores that the limit of 6 minutes is for, as tests often wait."""


@dataclass(frozen=True)
class Job:
    """One program of the run; the output of a job that is not `live` is kept until the end."""

    name: str
    command: tuple[str, ...]
    live: bool = False


@dataclass(frozen=True)
class Result:
    """How a job ended; `processor_seconds` counts it and the processes that it waited for."""

    job: Job
    code: int
    seconds: float
    processor_seconds: float
    output: str


def main(arguments: list[str]) -> int:
    """Exit code 1 if any job failed."""
    pytest = (sys.executable, "-m", "pytest", "--processes", str(TEST_PROCESSES), *arguments)
    lanes = (
        # Page and documentation first, as tests drive the one and install both: a test that waited
        # for a check would wait for what has a lower priority than all other tests.
        [
            Job("interface", make("interface")),
            Job("documentation", make("documentation")),
            Job("tests", pytest, live=True),
        ],
        [check("lint"), check("types"), check("imports")],
        [check("page-check")],
    )
    with ThreadPoolExecutor(len(lanes)) as pool:
        results = [result for lane in pool.map(run_lane, lanes) for result in lane]
    for result in results:
        if result.code != 0 and result.output:
            print(f"\n==== {result.job.name} ====\n{result.output.rstrip()}")
    print()
    for result in results:
        verdict = "passed" if result.code == 0 else f"FAILED with {result.code}"
        times = f"{result.seconds:5.0f} s, {result.processor_seconds:5.0f} s of processor time"
        print(f"{result.job.name:14} {times}  {verdict}")
    if not os.environ.get(slurm.WANTED):
        print(slurm.SKIPPED)
    return int(any(result.code != 0 for result in results))


def check(target: str) -> Job:
    """A check of the Makefile, with a lower priority, as waits of tests have limits."""
    return Job(target, ("nice", "-n", "5", *make(target)))


def make(target: str) -> tuple[str, ...]:
    """A command of the Makefile."""
    return ("make", "--no-print-directory", "-s", target)


def run_lane(jobs: list[Job]) -> list[Result]:
    """Run jobs one after the other, each whatever became of those before."""
    return [run(job) for job in jobs]


def run(job: Job) -> Result:
    """Run one job to its end."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as kept:
        output = None if job.live else kept
        process = subprocess.Popen(job.command, cwd=ROOT, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        kept.seek(0)
        taken = time.monotonic() - begun
        return Result(job, process.returncode, taken, usage.ru_utime + usage.ru_stime, kept.read())


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
