"""A job of Ray: pods of one attempt that start together, each a rank on the node chosen for it.

The file of a job is written before the job is submitted, and its id is made of what it runs, so
that submitting it again is the same job.
"""

import hashlib
import io
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from headgate.executor.substrate import Object, PodPlan
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.pod_template import PodTemplate, checkpoint_signal
from headgate.executor.substrates.agent.run_directory import RunContext
from headgate.executor.substrates.ray import wrapper

JOB, PACKAGE = "job.json", "package.zip"
MODULES = {"wrapper.py": "headgate_job.py", "pod.py": f"{wrapper.POD_MODULE}.py"}
"""The files that go with each job, and their names there."""
ENTRYPOINT = "headgate_job.py"
TOKENS = {name: f"@headgate:{name}@" for name in ("PATH", "HOME", "USER", "LOGNAME")}
RUN_TOKEN = "@headgate:RUN@"  # noqa: S105 - a word that nodes replace
MIN_CPU = 0.001
MILLI = 1000
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
"""Equal packages have equal bytes, and so one name."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A rank of a job: its run, and the node that was chosen."""

    context: RunContext
    node: str


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it was meant to be submitted."""

    name: str
    package: str
    members: tuple[Member, ...]


class RankPlan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the supervisor of a rank needs to run its pod (`pod.py`)."""

    name: str
    host: str
    hosts: tuple[str, ...]
    bundle: dict[str, float]
    command: tuple[str, ...]
    environment: dict[str, str]
    working_directory: str
    grace_seconds: int
    active_deadline_seconds: int | None
    max_output_bytes: int


def node_variables(plan: PodPlan, addresses: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables of a run that depend on its node, with words that the node replaces.

    Ranks meet at the address of rank 0's node, as names of nodes are labels in Ray.
    """
    found = {name: TOKENS[name] for name in ("HOME", "USER", "LOGNAME")}
    port, first = plan.environment.get("MASTER_PORT"), plan.hosts[0] if plan.hosts else plan.node
    address = addresses.get(first or plan.node)
    if port and address:
        found |= {"MASTER_ADDR": address, "HEADGATE_RENDEZVOUS": f"{address}:{port}"}
    return found | {
        "HEADGATE_NODE": plan.node,
        "HEADGATE_HOSTFILE": f"{RUN_TOKEN}/pod/hostfile",
        "HEADGATE_EVICTION_FILE": f"{RUN_TOKEN}/pod/eviction.json",
        "HEADGATE_PROGRESS_FILE": f"{RUN_TOKEN}/pod/progress",
        "HEADGATE_RESULT_FILE": f"{RUN_TOKEN}/pod/result",
        "HEADGATE_SCRATCH": f"{RUN_TOKEN}/work",
        "CUDA_VISIBLE_DEVICES": "",
    }


def rank_of(plan: PodPlan, template: PodTemplate, addresses: Mapping[str, str]) -> RankPlan:
    """Returns what the supervisor of a rank needs; a bundle of Ray must not be empty."""
    requests = plan.requests
    bundle = {
        "CPU": max(MIN_CPU, requests.get("cpu", 0) / MILLI),
        "memory": float(requests.get("memory", 0)),
        "GPU": float(template.gpus),
    }
    return RankPlan(
        name=plan.key.name,
        host=plan.node,
        hosts=tuple(addresses.get(host or plan.node, host) for host in plan.hosts),
        bundle={name: amount for name, amount in bundle.items() if amount},
        command=template.command,
        environment=template.environment,
        working_directory=template.working_directory,
        grace_seconds=template.grace_seconds,
        active_deadline_seconds=template.active_deadline_seconds,
        max_output_bytes=plan.max_output_bytes,
    )


def context_of(plan: PodPlan, template: PodTemplate) -> RunContext:
    """Returns what the executor keeps of a run."""
    return RunContext(
        key=plan.key,
        log_id=plan.log_id,
        grace_seconds=template.grace_seconds,
        checkpoint_signal=checkpoint_signal(plan.template),
        requests=plan.requests,
    )


def write_job(
    root: Path, executor: str, starts: Sequence[tuple[Member, RankPlan]], keep_seconds: float
) -> Job:
    """Writes down a job that is to be submitted. Raises `OSError`."""
    key = starts[0][0].context.key
    names = ",".join([executor, *sorted(rank.name for _, rank in starts)])
    digest = hashlib.sha256(names.encode()).hexdigest()[:12]
    name = f"hg-{key.uid}-{key.attempt}-{digest}"
    content = _package(
        {
            "directory": folder_of(executor),
            "keepSeconds": keep_seconds,
            "runs": msgspec.to_builtins([rank for _, rank in starts]),
        }
    )
    package = f"_ray_pkg_{hashlib.sha256(content).hexdigest()[:32]}.zip"
    job = Job(name=name, package=package, members=tuple(member for member, _ in starts))
    directory = root / name
    directory.mkdir(mode=0o700, exist_ok=True)
    try:
        files.write_bytes(directory / PACKAGE, content)
        files.write(directory / JOB, job, durable=True)
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return job


def read_jobs(root: Path) -> Iterable[Job]:
    """Yields the jobs that were meant to be submitted; folders without one never counted."""
    for directory in root.iterdir():
        job = files.read(directory / JOB, Job)
        if job is None:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            yield job


def folder_of(executor: str) -> str:
    """Returns the folder of an executor's runs below the logs of each node."""
    return f"headgate/{executor}"


def _package(job: Object) -> bytes:
    """Returns the archive that Ray unpacks as the working directory of a job."""
    contents = {
        target: (Path(__file__).parent / source).read_bytes() for source, target in MODULES.items()
    }
    contents[wrapper.JOB] = msgspec.json.encode(job)
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(contents.items()):
            archive.writestr(zipfile.ZipInfo(name, FIXED_TIME), content)
    return kept.getvalue()
