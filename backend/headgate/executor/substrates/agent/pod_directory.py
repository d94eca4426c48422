"""What a pod finds on its host: its directories, the files of its run, and its output.

The pod reads all of it and writes its working directory, its volumes and its progress. Output is
kept in segments named by their offset, of which the middle is dropped: each stream keeps its first
and its last `limit` bytes. Offsets count every byte that the pod has written, so that a reader sees
where bytes are missing.
"""

import contextlib
import math
import os
import signal
from itertools import pairwise
from pathlib import Path

import msgspec

from headgate.domain.values.instants import Instant
from headgate.executor.substrate import CannotStart, ObservedRun, OutputChunk, PodPlan, StopOrder
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.pod_content import extract
from headgate.executor.substrates.agent.pod_template import PodTemplate

VOLUMES = "volumes"
WORK = "work"
ROOT = "root"
PROGRESS = "progress"
RESULT = "result"
MAX_NOTE_BYTES = 1024
MAX_RESULT_BYTES = 4096
"""As of a termination message of Kubernetes."""
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
        "HEADGATE_RESULT_FILE": str(pod / RESULT),
        "CUDA_VISIBLE_DEVICES": "",
    }


def prepare_pod(
    directory: Path, plan: PodPlan, template: PodTemplate, node: str, archive: Path | None = None
) -> None:
    """Creates what the pod finds: its directories, the hosts by rank, and files that it writes.

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
    written = (pod / PROGRESS, pod / RESULT)
    for path in written:
        path.touch(mode=0o644)
    for own in (str(directory / WORK), *template.empty_directories):
        Path(own).mkdir(parents=True, exist_ok=True)
    if template.image_root:
        _prepare_root(directory, template.image_root)
    if archive is not None:
        extract(archive, directory / WORK, template.account)
    if template.account is not None:
        for own in (*map(str, written), str(directory / WORK), *template.empty_directories):
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
    at, content = _read_told(directory / files.POD / PROGRESS, MAX_NOTE_BYTES)
    line = content.partition(b"\n")[0]
    return Progress(at=at, note=line.decode(errors="replace").strip())


def read_result(directory: Path) -> str:
    """Returns what a pod has written as its result, in so many bytes; mostly nothing."""
    return _read_told(directory / files.POD / RESULT, MAX_RESULT_BYTES)[1].decode(errors="replace")


def _read_told(path: Path, limit: int) -> tuple[Instant, bytes]:
    """When a pod last wrote a file, and how that begins; nothing where it cannot be read."""
    try:
        # A pod may make it a pipe, which must hold up nothing.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0, b""
    try:
        at = os.fstat(descriptor).st_mtime_ns // NANOSECONDS_PER_MICROSECOND
        return at, os.read(descriptor, limit)
    except OSError:
        return 0, b""
    finally:
        os.close(descriptor)


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


STREAMS = ("stdout", "stderr")
MAX_SEGMENT_BYTES = 1 << 20
SEGMENTS_OF_A_LIMIT = 8
OFFSET_DIGITS = 20


class OutputWriter:
    """Appends one stream to segments; a full disk drops bytes and never stops the pod."""

    def __init__(self, directory: Path, stream: str, limit: int) -> None:
        self._directory = directory
        self._stream = stream
        self._limit = limit
        self._segment_bytes = max(1, min(MAX_SEGMENT_BYTES, limit // SEGMENTS_OF_A_LIMIT or 1))
        self._segments: list[int] = []
        self._descriptor: int | None = None
        self._is_broken = False
        self.offset = 0
        self.dropped = 0

    def write(self, content: bytes) -> None:
        """Appends bytes."""
        rest = memoryview(content)
        while rest:
            self._open_segment()
            free = self._segments[-1] + self._segment_bytes - self.offset
            piece = rest[:free]
            self._append(piece)
            self.offset += len(piece)
            rest = rest[len(piece) :]

    def close(self) -> None:
        """Closes the last segment."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _append(self, piece: memoryview) -> None:
        written = 0
        try:
            assert self._descriptor is not None
            while written < len(piece):
                written += os.write(self._descriptor, piece[written:])
        except OSError:
            self.dropped += len(piece) - written
            self._is_broken = True

    def _open_segment(self) -> None:
        """Begins a segment where the last one is full or lacks bytes, and drops the middle."""
        is_full = bool(self._segments) and self.offset >= self._segments[-1] + self._segment_bytes
        if self._descriptor is not None and not is_full and not self._is_broken:
            return
        self.close()
        self._drop_empty()
        self._drop_middle()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        path = segment_path(self._directory, self._stream, self.offset)
        try:
            self._descriptor = os.open(path, flags, 0o600)
            self._is_broken = False
        except OSError:
            self._descriptor = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            self._is_broken = True
        if not self._segments or self._segments[-1] != self.offset:
            self._segments.append(self.offset)

    def _drop_empty(self) -> None:
        """Removes the last segment if a full disk took none of its bytes."""
        if self._is_broken and self._segments:
            path = segment_path(self._directory, self._stream, self._segments[-1])
            with contextlib.suppress(OSError):
                if path.stat().st_size == 0:
                    path.unlink()
                    self._segments.pop()

    def _drop_middle(self) -> None:
        oldest_kept = self.offset - self._limit
        for start, end in list(pairwise([*self._segments, self.offset])):
            if start >= self._limit and end <= oldest_kept:
                with contextlib.suppress(OSError):
                    segment_path(self._directory, self._stream, start).unlink()
                self._segments.remove(start)


def segment_path(directory: Path, stream: str, offset: int) -> Path:
    """Returns the file of the segment that begins at an offset."""
    return directory / f"{stream}.{offset:0{OFFSET_DIGITS}d}"


def read_output(directory: Path, stream: str, offset: int, limit: int) -> OutputChunk:
    """Returns bytes from `offset`, or from the next kept byte; empty at the end."""
    for start, path in segments(directory, stream):
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            continue
        if start + size <= offset:
            continue
        first = max(offset, start)
        with contextlib.suppress(FileNotFoundError), path.open("rb") as segment:
            segment.seek(first - start)
            return OutputChunk(offset=first, content=segment.read(limit))
    return OutputChunk(offset=offset, content=b"")


def segments(directory: Path, stream: str) -> list[tuple[int, Path]]:
    """Returns the segments of a stream with their offsets, in order."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 - names are all that is wanted
    except (FileNotFoundError, NotADirectoryError):
        return []
    prefix = f"{stream}."
    offsets = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    found = sorted((int(offset), offset) for offset in offsets if offset.isdigit())
    return [(start, directory / f"{prefix}{offset}") for start, offset in found]
