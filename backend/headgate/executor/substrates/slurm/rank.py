"""`python -m headgate.executor.substrates.slurm.rank DIRECTORY`: one rank of a job, on its node.

Slurm starts it; it supervises its pod as a shim of the agent does, in the run's directory on the
file system that the executor and the nodes share.
"""

import contextlib
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.executor.substrate import FinishReason
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.run_directory import Exit, Launch, Stop
from headgate.executor.substrates.agent.shim import run_launch
from headgate.executor.substrates.agent.wake_socket import AlreadyRuns
from headgate.executor.substrates.slurm.jobs import JOB, RUNS, Job, begin

OF_SLURM = ("SLURM", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
SECONDS_BETWEEN_TRIES = 0.5


def run_rank(directory: Path, environment: Mapping[str, str]) -> None:
    """Runs the pod of this rank of a job, as Slurm numbers its tasks, unless another one has.

    A controller that was killed may have a job launched again that has run, or was given up.
    """
    job = files.read(directory / JOB, Job)
    if job is None:
        return
    member = job.members[int(environment["SLURM_PROCID"])]
    own = directory.parents[1] / RUNS / member.name
    launch = files.read(own / files.LAUNCH, Launch)
    if launch is None or not begin(own):
        return
    node = environment.get("SLURMD_NODENAME", "")
    if member.node and node != member.node:
        message = f"Slurm started the rank on {node} in place of {member.node}"
        _end_unstarted(own, launch, "StartFailed", message)
        return
    given = {name: value for name, value in environment.items() if name.startswith(OF_SLURM)}
    launch = msgspec.structs.replace(
        launch,
        boot_id=files.boot_id(),
        environment={**launch.environment, "HEADGATE_NODE": node, **given},
    )
    while (stop := files.read(own / files.STOP, Stop)) is None:
        try:
            run_launch(own, launch)
        except AlreadyRuns:
            time.sleep(SECONDS_BETWEEN_TRIES)
        else:
            return
    _end_unstarted(own, launch, stop.reason, "the pod was ordered to stop before it began")


def _end_unstarted(run: Path, launch: Launch, reason: FinishReason, message: str) -> None:
    end = Exit(reason=reason, message=message, finished_at=wall_clock())
    files.write(run / files.EXIT, end, durable=True)
    with contextlib.suppress(OSError):
        Path(launch.news_directory, launch.name).touch()


if __name__ == "__main__":
    run_rank(Path(sys.argv[1]), os.environ)
