"""What a pod finds on its host: its directories, the files of its run, and their variables.

The pod reads all of it and writes its working directory, its volumes and its progress.
"""

import os
from pathlib import Path

import msgspec

from headgate.domain.values.instants import Instant
from headgate.executor.substrate import CannotStart, PodPlan
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.pod_template import PodTemplate
from headgate.executor.substrates.agent.uploads import extract

VOLUMES = "volumes"
WORK = "work"
PROGRESS = "progress"
MAX_NOTE_BYTES = 1024
NANOSECONDS_PER_MICROSECOND = 1000
LOOPBACK = "127.0.0.1"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """When a pod last wrote its progress file, and its first line; 0 where it cannot be read."""

    at: Instant = 0
    note: str = ""


def host_variables(directory: Path, node: str, plan: PodPlan) -> dict[str, str]:
    """Returns the variables of a run that depend on its host.

    Pods that are all on this host meet at the loopback address, as names of nodes need not resolve.
    """
    pod = directory / files.POD
    port = plan.environment.get("MASTER_PORT")
    meeting = {}
    if port and all(host in {"", node} for host in plan.hosts):
        meeting = {"MASTER_ADDR": LOOPBACK, "HEADGATE_RENDEZVOUS": f"{LOOPBACK}:{port}"}
    return {
        **meeting,
        "HEADGATE_NODE": node,
        "HEADGATE_HOSTFILE": str(pod / files.HOSTFILE),
        "HEADGATE_EVICTION_FILE": str(pod / files.EVICTION),
        "HEADGATE_SCRATCH": str(directory / WORK),
        "HEADGATE_PROGRESS_FILE": str(pod / PROGRESS),
        "CUDA_VISIBLE_DEVICES": "",
    }


def prepare_pod(
    directory: Path, plan: PodPlan, template: PodTemplate, node: str, archive: Path | None = None
) -> None:
    """Creates what the pod finds: its directories, the hosts by rank, an empty progress file.

    The working directory has its own copy of the upload, if there is one. Raises `CannotStart`.
    """
    known = plan.environment
    if len(plan.hosts) > 1 and known.get("MASTER_ADDR") and not known.get("MASTER_PORT"):
        raise CannotStart("no rendezvous port is free: widen rendezvousPorts of the Executor")
    asked = template.working_directory
    if asked and not Path(asked).is_dir():
        raise CannotStart(f"workingDir {asked} is no directory of this host")
    pod = directory / files.POD
    pod.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o711)
    pod.chmod(0o755)
    hosts = "".join(f"{host or node}\n" for host in plan.hosts)
    files.write_bytes(pod / files.HOSTFILE, hosts.encode(), mode=0o644)
    (pod / PROGRESS).touch(mode=0o644)
    for own in (str(directory / WORK), *template.empty_directories):
        Path(own).mkdir(parents=True, exist_ok=True)
    if archive is not None:
        extract(archive, directory / WORK, template.account)
    if template.account is not None:
        for own in (str(pod / PROGRESS), str(directory / WORK), *template.empty_directories):
            os.chown(own, template.account.user_id, template.account.group_id)
    if template.empty_directories:
        (directory / VOLUMES).chmod(0o711)


def read_progress(directory: Path) -> Progress:
    """Returns what a pod has told of its progress."""
    try:
        descriptor = os.open(directory / files.POD / PROGRESS, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return Progress()
    try:
        at = os.fstat(descriptor).st_mtime_ns // NANOSECONDS_PER_MICROSECOND
        line = os.read(descriptor, MAX_NOTE_BYTES).partition(b"\n")[0]
    except OSError:
        return Progress()
    finally:
        os.close(descriptor)
    return Progress(at=at, note=line.decode(errors="replace").strip())
