"""`python -m tests.nightly k/8`: run one part of the nightly run, two jobs at a time."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.architecture.sources import ROOT
from tests.hypothesis_profiles import DEPTH_VARIABLE, FULL
from tests.nightly.parts import Job, jobs_of, parse_part

JOBS_AT_ONCE = 2


def main() -> int:
    """Exit code 1 if a job failed, 2 if the part is not one of the parts."""
    try:
        part = parse_part(sys.argv[1] if len(sys.argv) > 1 else "")
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    jobs = jobs_of(part)
    for job in jobs:
        _say(job.describe())
    with ThreadPoolExecutor(JOBS_AT_ONCE) as pool:
        passed = list(pool.map(_run, [job for job in jobs if not job.is_exclusive]))
    passed += [_run(job) for job in jobs if job.is_exclusive]
    return 0 if all(passed) else 1


def _run(job: Job) -> bool:
    """Run one job to its end and print its result; whether it passed."""
    start = time.monotonic()
    done = subprocess.run(
        job.command,
        cwd=ROOT,
        env=os.environ | {DEPTH_VARIABLE: FULL},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    result = "passed" if done.returncode == 0 else f"failed with {done.returncode}"
    lines = done.stdout.strip().splitlines()
    told = lines[-1:] if done.returncode == 0 else lines
    minutes = (time.monotonic() - start) / 60
    _say(*told, f"{job.describe()} {result} after {minutes:.1f} min")
    return done.returncode == 0


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
