"""What a pod finds on its host: its directories, the files of its run, and their variables.

The pod reads all of it and writes its working directory, its volumes and its progress.
"""

import contextlib
import math
import os
import signal
from pathlib import Path

import msgspec

from headgate.domain.values.instants import Instant
from headgate.executor.substrate import CannotStart, ObservedRun, PodPlan, StopOrder
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.pod_content import extract
from headgate.executor.substrates.agent.pod_template import PodTemplate

VOLUMES = "volumes"
WORK = "work"
ROOT = "root"
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
    asked = template.working_directory
    if asked and not template.image_root and not Path(asked).is_dir():
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
    if template.image_root:
        _prepare_root(directory, template.image_root)
    if archive is not None:
        extract(archive, directory / WORK, template.account)
    if template.account is not None:
        for own in (str(pod / PROGRESS), str(directory / WORK), *template.empty_directories):
            os.chown(own, template.account.user_id, template.account.group_id)
    if template.empty_directories:
        (directory / VOLUMES).chmod(0o711)


def root_of(directory: Path, image_root: str) -> files.PodRoot | None:
    """Returns the root file system of a pod with an image."""
    if not image_root:
        return None
    return files.PodRoot(image=image_root, directory=str(directory / ROOT))


def own_mounts(directory: Path, template: PodTemplate) -> tuple[files.Mount, ...]:
    """Returns what a pod with an image sees of its run, at the paths that its variables name."""
    if not template.image_root:
        return ()
    return tuple(
        files.Mount(source=str(directory / name), target=str(directory / name))
        for name in (files.POD, WORK)
    )


def _prepare_root(directory: Path, image_root: str) -> None:
    root = root_of(directory, image_root)
    assert root is not None
    for layer in root.layers:
        layer.mkdir(parents=True, exist_ok=True)
        layer.chmod(0o755)
    Path(root.directory).chmod(0o700)


def read_progress(directory: Path) -> Progress:
    """Returns what a pod has told of its progress; what is no regular file tells nothing."""
    path = directory / files.POD / PROGRESS
    try:
        # A pod may make it a pipe, which must hold up nothing.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
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


def write_order(  # noqa: PLR0913 - what an order is made of
    directory: Path,
    context: files.RunContext,
    order: StopOrder,
    *,
    now: float,
    deadline: float,
    is_by_wall_clock: bool = False,
) -> None:
    """Writes an order to stop for a pod and its supervisor; an infinite deadline is none.

    Without a deadline the pod has its grace period, and no more than an order before has left it.
    """
    stop = files.read(directory / files.STOP, files.Stop)
    known = stop.kill_at if stop is not None else math.inf
    kill_at = deadline if math.isfinite(deadline) else min(known, now + context.grace_seconds)
    with contextlib.suppress(OSError):  # a full disk keeps no pod from being stopped
        files.write(directory / files.POD / files.EVICTION, order, mode=0o644)
    told = files.Stop(
        reason="Evicted",
        signal=context.checkpoint_signal if order.is_eviction else signal.SIGTERM,
        kill_at=kill_at,
        is_by_wall_clock=is_by_wall_clock,
    )
    files.write(directory / files.STOP, told, mode=0o644)


def with_progress(
    observed: ObservedRun, directory: Path, at_the_order: Progress | None
) -> ObservedRun:
    """Returns a run with what its pod has told since its order to stop, if that was given."""
    if at_the_order is None or observed.state != "Running":
        return observed
    found = read_progress(directory)
    # A file is empty for a moment while its line is written.
    if not found.note or found in (
        at_the_order,
        Progress(at=observed.progressed_at, note=observed.progress),
    ):
        return observed
    return msgspec.structs.replace(observed, progressed_at=found.at, progress=found.note)


def with_end(observed: ObservedRun, end: files.Exit) -> ObservedRun:
    """Returns a run as its supervisor has written its end."""
    return msgspec.structs.replace(
        observed, state="Ended", started_at=end.started_at, end=end.run_end
    )
