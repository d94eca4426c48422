"""Installs Slurm for the tests of its executor: `python .ci/slurm.py`, exit code 0 if they can run.

Only continuous integration calls it; `make test` installs no packages of Slurm.
"""

import os
import shutil
import sys

from browser import install, privileges

WANTED = "HEADGATE_TEST_SLURM"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "slurm-wlm-basic-plugins")
SEARCH_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
HOW_TO_RUN = f"as root: apt-get install {' '.join(PACKAGES)}, then {WANTED}=1 make test"
SKIPPED = f"slurm: skipped ({HOW_TO_RUN})"


def main() -> int:
    """Install what is missing; says why where the tests cannot run."""
    if os.geteuid() != 0:
        return say("the daemons of the tests run as root")
    if not missing():
        return 0
    prefix = privileges()
    if prefix is None or shutil.which("apt-get") is None:
        return say("there is no apt-get")
    if not install(prefix, *PACKAGES) or missing():
        return say(f"apt-get could not install {' '.join(PACKAGES)}")
    return 0


def missing() -> list[str]:
    """Programs that are not installed."""
    return [each for each in PROGRAMS if shutil.which(each, path=SEARCH_PATH) is None]


def say(why: str) -> int:
    """Tell that the tests of Slurm will not run; the end of `make test` tells it again."""
    sys.stderr.write(f"slurm: NOT TESTED in this run, as {why}\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
