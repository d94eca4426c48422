"""A job of Slurm: pods of one attempt that start together, each a rank on the node chosen for it.

The file of a job is written before the job is submitted, and its name is used once: a job that may
or may not have been submitted is found by it.
"""

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.run_directory import Account

JOB = "job.json"
SUBMITTED = "submitted.json"
SCRIPT = "job.sh"
HOSTS = "hosts"
ERRORS = "errors"
"""What Slurm and the supervisors of ranks have written; pods have their own output."""
BEGUN = "begun"
"""The file of a run that its rank creates before it starts the pod, so that no other one does."""
RUNS = "runs"
JOBS = "jobs"
MEBIBYTE = 1 << 20
MILLI = 1000
SECONDS_PER_MINUTE = 60
MINUTES_TO_END = 5
"""Slurm's own limit comes so much later than that of the pod, which has its grace period before."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A rank of a job: a run by its name, and its node; empty where Slurm chooses one."""

    name: str
    node: str


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What all pods of a job have in common."""

    cpus: int
    memory_mebibytes: int
    gpus: int
    minutes: int
    account: Account | None
    is_placed: bool


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it was meant to be submitted."""

    name: str
    members: tuple[Member, ...]
    shape: Shape


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """The number that Slurm gave a job, and whether the job may start."""

    id: int
    is_released: bool = False


def begin(directory: Path) -> bool:
    """Begins a run; False where it has begun. Of ranks and executor only one ever gets True."""
    try:
        descriptor = os.open(directory / BEGUN, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except OSError:  # there is one, or no directory; a full disk begins nothing
        return False
    os.close(descriptor)
    return True


def shape_of(  # noqa: PLR0913 - what jobs are compared by
    *,
    cpu_milli: int,
    memory_bytes: int,
    gpus: int,
    limit_seconds: int | None,
    account: Account | None,
    is_placed: bool,
    default_memory_mebibytes: int,
) -> Shape:
    """Returns what a pod needs in the units of Slurm: whole CPUs, MiB, minutes; 0 for no limit."""
    minutes = 0
    if limit_seconds is not None:
        minutes = -(-limit_seconds // SECONDS_PER_MINUTE) + MINUTES_TO_END
    return Shape(
        cpus=max(1, -(-cpu_milli // MILLI)),
        memory_mebibytes=-(-memory_bytes // MEBIBYTE) or default_memory_mebibytes,
        gpus=gpus,
        minutes=minutes,
        account=account,
        is_placed=is_placed,
    )


def write_job(directory: Path, job: Job, python: str) -> None:
    """Writes what Slurm needs to run a job, and last the job itself, from when on it counts."""
    directory.mkdir(parents=True)
    directory.chmod(0o755)
    hosts = "".join(f"{member.node}\n" for member in job.members)
    files.write_bytes(directory / HOSTS, hosts.encode(), mode=0o644)
    script = _script(directory, job, python)
    files.write_bytes(directory / SCRIPT, script.encode(), mode=0o755)
    if job.shape.account is not None:
        os.chown(directory, job.shape.account.user_id, job.shape.account.group_id)
    files.write(directory / JOB, job, durable=True, mode=0o644)


def options_of(directory: Path, job: Job, partition: str, extra: Sequence[str]) -> list[str]:
    """Returns the options of `sbatch`: held, so that a lost answer starts nothing twice."""
    shape = job.shape
    found = [
        "--hold",
        "--no-requeue",
        f"--job-name={job.name}",
        "--chdir=/",
        f"--output={directory}/{ERRORS}",
        f"--ntasks={len(job.members)}",
        f"--cpus-per-task={shape.cpus}",
        _memory(job),
    ]
    if shape.is_placed:
        nodes = len({member.node for member in job.members})
        found += ["--distribution=arbitrary", f"--nodes={nodes}"]
    if partition:
        found.append(f"--partition={partition}")
    if shape.gpus:
        found.append(f"--gpus-per-task={shape.gpus}")
    if shape.minutes:
        found.append(f"--time={shape.minutes}")
    if shape.account is not None:
        found += [f"--uid={shape.account.user_id}", f"--gid={shape.account.group_id}"]
    return [*found, *extra]


def _memory(job: Job) -> str:
    """Returns the memory of each node exactly, or that of each CPU where nodes differ in pods."""
    counts = set(Counter(member.node for member in job.members).values())
    if job.shape.is_placed and len(counts) == 1:
        return f"--mem={job.shape.memory_mebibytes * counts.pop()}"
    return f"--mem-per-cpu={max(1, job.shape.memory_mebibytes // job.shape.cpus)}"


def _script(directory: Path, job: Job, python: str) -> str:
    command = [
        "srun",
        "--kill-on-bad-exit=0",
        "--wait=0",
        "--output=none",
        f"--error={directory}/{ERRORS}",
        f"--cpus-per-task={job.shape.cpus}",
    ]
    lines = ["#!/bin/sh"]
    if job.shape.is_placed:
        lines.append(f"export SLURM_HOSTFILE={shlex.quote(str(directory / HOSTS))}")
        command.append("--distribution=arbitrary")
    command += [python, "-m", "headgate.executor.substrates.slurm.rank", str(directory)]
    return "\n".join([*lines, f"exec {shlex.join(command)} </dev/null", ""])
