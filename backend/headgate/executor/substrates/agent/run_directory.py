"""The directory of one run: what agent and shim write for each other, so that either may restart.

Each file is written once, to the end, under another name and then renamed. Files that a pod reads
stand in `pod/`; the others are readable by the agent's account alone.
"""

import contextlib
import errno
import os
import signal
import time
from pathlib import Path
from typing import TypeVar

import msgspec

from headgate.executor.substrate import FinishReason, RunEnd, RunKey

LAUNCH = "launch.json"
SUPERVISOR = "supervisor.json"
STARTED = "started.json"
STOP = "stop.json"
EXIT = "exit.json"
OUTPUT = "output"
POD = "pod"
EVICTION = "eviction.json"
HOSTFILE = "hostfile"

SPARES = "spare"
MAX_SPARES = 16
SPARE_BYTES = 4096
LEVELS_BELOW_SPARES = 4
SPARED = frozenset({"exit.json", "stop.json", "lease.json", "eviction.json"})
"""Files that end pods or keep them alive; a new pod has no claim to the last room of a disk."""
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})

ROOT_ACCOUNT = 0
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_Content = TypeVar("_Content", bound=msgspec.Struct)


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """A directory of the host that the pod sees at `target`."""

    source: str
    target: str
    read_only: bool = False


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image where it is mounted, with what its configuration says of the process in it."""

    root: str
    entrypoint: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    working_directory: str = ""


class PodRoot(msgspec.Struct, frozen=True, kw_only=True):
    """The root file system of a pod: an image below, and its own changes in a directory."""

    image: str
    directory: str

    @property
    def layers(self) -> tuple[Path, Path, Path]:
        """The changes, the working directory of the overlay, and where the two are merged."""
        own = Path(self.directory)
        return own / "upper", own / "overlay", own / "merged"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a pod; 0 means none. `cpu_request_milli` is its weight under contention."""

    cpu_milli: int = 0
    cpu_request_milli: int = 0
    memory_bytes: int = 0
    processes: int = 0


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """The Unix account that a pod runs as."""

    name: str
    user_id: int
    group_id: int
    groups: tuple[int, ...] = ()
    home: str = "/"


class CgroupLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The parent cgroups of pods: one of version 2, and those of version 1 by controller.

    Without any, pods are process groups below a subreaper, limited by rlimits.
    """

    unified: str = ""
    has_controllers: bool = False
    by_controller: dict[str, str] = {}


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What a shim needs to run a pod, in this start of the host alone.

    It tells of changes by `wake_socket`, or by a file in `news_directory`, and looks at its orders
    when it is signalled, and every `look_seconds` where these are given.
    Limits of output count each of its two streams. Of the runs with an equal `pod`, which names
    node and pod, at most one lives on a host at a time.
    """

    name: str
    boot_id: str
    command: tuple[str, ...]
    environment: dict[str, str]
    working_directory: str
    account: Account | None = None
    limits: Limits = Limits()
    mounts: tuple[Mount, ...] = ()
    root: PodRoot | None = None
    grace_seconds: float = 30.0
    active_deadline_seconds: float | None = None
    max_output_bytes: int = 16 << 20
    cgroups: CgroupLayout = CgroupLayout()
    lease_file: str = ""
    wake_socket: str = ""
    news_directory: str = ""
    look_seconds: float = 0.0
    devices: tuple[str, ...] = ()
    pod: str = ""
    context: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def shim_name(self) -> str:
        """The name of which a host has only one: that of the living shim of the pod."""
        return f"pod-{self.pod or self.name}"


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside a launch for the executor alone."""

    key: RunKey
    log_id: str
    grace_seconds: float
    checkpoint_signal: int
    requests: dict[str, int] = {}


class Supervisor(msgspec.Struct, frozen=True, kw_only=True):
    """A process that cannot be mistaken for another one that got its id later."""

    pid: int
    start_ticks: int
    boot_id: str


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The first process of the pod; `at` in microseconds of the wall clock."""

    pid: int
    at: int


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """An order to stop: the signal first, and SIGKILL at `kill_at`.

    That is in seconds of the boot clock, or of the wall clock where the order is of another host.
    """

    reason: FinishReason
    signal: int
    kill_at: float
    is_by_wall_clock: bool = False


class StartsLater(Exception):
    """What the pod needs is on its way; it starts at a later call."""


class Exit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a pod ended; exactly one of `exit_code` and `signal` is given unless it never started.

    With `was_terminated` the supervisor got SIGTERM before, without an order: pod and supervisor
    were ended together by what runs them both, which knows why.
    """

    reason: FinishReason
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    result: str = ""
    started_at: int | None = None
    finished_at: int = 0
    was_terminated: bool = False

    @property
    def run_end(self) -> RunEnd:
        """The end as all substrates tell it."""
        return RunEnd(
            reason=self.reason,
            finished_at=self.finished_at,
            exit_code=self.exit_code,
            signal=self.signal,
            message=self.message,
            result=self.result,
        )


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """When pods under policy Fence are killed, in seconds of the boot clock of `boot_id`.

    That is shortly before the executor's lease ends. Without `boot_id` it is by the wall clock, for
    pods of other hosts.
    """

    fence_at: float
    boot_id: str


def boot_seconds() -> float:
    """Seconds since the host started, suspended time included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """The identity of this start of the host."""
    return BOOT_ID.read_text().strip()


def start_ticks(pid: int) -> int | None:
    """The start time of a process in clock ticks since boot; None if it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def is_deleted(directory: Path) -> bool:
    """Whether the directory of a run was deleted: nothing is known of the run any more."""
    try:
        (directory / LAUNCH).stat()
    except OSError as error:
        return error.errno in {errno.ENOENT, errno.ENOTDIR}
    return False


def is_alive(supervisor: Supervisor, this_boot: str) -> bool:
    """Whether exactly this process runs."""
    if supervisor.boot_id != this_boot:
        return False
    return start_ticks(supervisor.pid) == supervisor.start_ticks


def send_signal(supervisor: Supervisor, number: int) -> None:
    """Signals exactly this process of the present boot, if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(supervisor.pid)
        try:
            if is_alive(supervisor, supervisor.boot_id):
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def write(path: Path, content: msgspec.Struct, *, durable: bool = False, mode: int = 0o600) -> None:
    """Writes a file whole or not at all, even if this process is killed.

    `durable` holds for a power failure too. Only results need it: with the host its pods are gone.
    """
    write_bytes(path, msgspec.json.encode(content), durable=durable, mode=mode)


def write_bytes(path: Path, content: bytes, *, durable: bool = False, mode: int = 0o600) -> None:
    """Writes bytes whole or not at all."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        _fill(temporary, content, os.O_CREAT | os.O_TRUNC, durable=durable, mode=mode)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if not (error.errno in FULL_DISK and path.name in SPARED and _take_spare(path, temporary)):
            raise
        _fill(temporary, content, 0, durable=durable, mode=mode)
    temporary.rename(path)


def keep_spares(root: Path) -> None:
    """Keeps small files with room: on a full disk `write` takes one for a file of `SPARED`.

    They are shared, as creating a file for each pod would cost more than most short pods.
    """
    pool = root / SPARES
    pool.mkdir(exist_ok=True, mode=0o700)
    known = set(os.listdir(pool))  # noqa: PTH208 - names are all that is wanted
    for name in {str(number) for number in range(MAX_SPARES)} - known:
        making = pool / f"{name}.new"
        descriptor = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, SPARE_BYTES)
        finally:
            os.close(descriptor)
        making.rename(pool / name)


def _take_spare(path: Path, target: Path) -> bool:
    """Renames a spare file to `target`; returns False where there is none left."""
    for parent in path.parents[:LEVELS_BELOW_SPARES]:
        for number in range(MAX_SPARES):
            with contextlib.suppress(OSError):
                (parent / SPARES / str(number)).rename(target)
                return True
    return False


def create(path: Path, content: msgspec.Struct) -> bool:
    """Creates a file; returns False if there is one, so that only one process goes on.

    An empty one is of a process that ended meanwhile: callers hold a name that only one may have.
    """
    with contextlib.suppress(OSError):
        if path.stat().st_size > 0:
            return False
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, msgspec.json.encode(content))
    finally:
        os.close(descriptor)
    return True


def _fill(
    path: Path, content: bytes, flags: int, *, durable: bool = False, mode: int = 0o600
) -> None:
    """Writes a file from its begin, within the room that it has if it has any."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, mode)
    try:
        os.fchmod(descriptor, mode)
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.ftruncate(descriptor, len(content))
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path, kind: type[_Content]) -> _Content | None:
    """Returns a file's content; None without a file, or where it has none."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=kind)
    return None
