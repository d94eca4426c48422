"""The shim: the parent of one pod, which outlives the agent and writes how the pod ended.

Only a parent learns an exit code, and only a living process can enforce a deadline. The shim has a
session of its own and is no child of the agent; it captures output, obeys orders in the directory
of its run, stops the pod at its deadline, and fences it where the executor's lease runs out.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import signal
import time
from pathlib import Path

import msgspec

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.executor.substrate import FinishReason
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.isolation import PodCgroups, set_subreaper
from headgate.executor.substrates.agent.mounts import enter_mounts
from headgate.executor.substrates.agent.pod_directory import STREAMS, OutputWriter, read_result
from headgate.executor.substrates.agent.run_directory import (
    Account,
    Exit,
    Launch,
    Lease,
    Started,
    Stop,
    Supervisor,
)
from headgate.executor.substrates.agent.wake_socket import AlreadyRuns, only_one, tell

READ_BYTES = 1 << 20
"""The size of a pipe too: a pod with much output is stopped less often by a full one."""
LEASE_LOOK_SECONDS = 1.0
DIRECTORY_LOOK_SECONDS = 5.0
SECONDS_FOR_OUTPUT = 1.0
"""Bytes that an ended pod has left in its pipes are read for so long at most."""
WAKE_SIGNALS = (signal.SIGUSR1, signal.SIGURG)
"""Both have a shim look at its orders; the second one does nothing to a pod that gets it too."""
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
CANNOT_START = 127


def run_shim(directory: Path) -> None:
    """Runs the pod of a directory to its end, unless another shim has begun to."""
    launch = files.read(directory / files.LAUNCH, Launch)
    if launch is None or launch.boot_id != files.boot_id():
        return
    # A run of this pod that lives below another agent's directory: this one is offered again.
    with contextlib.suppress(AlreadyRuns):
        run_launch(directory, launch)


def run_launch(directory: Path, launch: Launch) -> None:
    """Runs a pod to its end, unless another process has begun to.

    Raises `AlreadyRuns` while an earlier run of the pod lives on this host.
    """
    ticks = files.start_ticks(os.getpid())
    assert ticks is not None
    own = Supervisor(pid=os.getpid(), start_ticks=ticks, boot_id=launch.boot_id)
    with only_one(launch.shim_name):
        if files.create(directory / files.SUPERVISOR, own):
            Shim(directory, launch).run()


class Shim:
    """One pod from its start to its last process."""

    def __init__(self, directory: Path, launch: Launch) -> None:
        self._directory = directory
        self._launch = launch
        self._cgroups = PodCgroups(launch.cgroups, launch.name)
        self._pid = 0
        self._status: int | None = None
        self._started_at: int | None = None
        self._started_seconds = 0.0
        self._stop: Stop | None = None
        self._last_order: Stop | None = None
        self._outputs: dict[int, OutputWriter] = {}
        self._ends_at: float | None = None
        self._looks_at = 0.0
        self._was_terminated = False

    def run(self) -> None:
        """Starts the pod, waits for its end, and writes it down."""
        set_subreaper()
        wake = _catch_signals()
        signal.signal(signal.SIGTERM, self._note_termination)
        try:
            self._start()
        except OSError as error:
            self._cgroups.kill(self._reap)
            self._write_end(Exit(reason="StartFailed", message=_start_failure(error)))
            return
        self._obey()
        while self._status is None or self._is_leaving():
            if self._wait(wake):
                self._reap()
                self._obey()
            self._keep_deadlines()
        is_clean = self._cgroups.kill(self._reap)
        self._read_rest()
        self._write_end(self._end(is_clean=is_clean))

    def _note_termination(self, *_: object) -> None:
        """Notes that what runs this shim ends it; the pod has the signal too, or ends with it."""
        self._was_terminated = self._was_terminated or self._stop is None

    def _start(self) -> None:
        self._cgroups.create(self._launch.limits)
        (self._directory / files.OUTPUT).mkdir(exist_ok=True)
        pipes = [os.pipe() for _ in STREAMS]
        failed_end, failed = os.pipe()
        self._started_at, self._started_seconds = wall_clock(), files.boot_seconds()
        pid = os.fork()
        if pid == 0:
            _become_pod(self._launch, self._cgroups, [end for _, end in pipes], failed)
        self._pid = pid
        for _, end in pipes:
            os.close(end)
        os.close(failed)
        for (end, _), stream in zip(pipes, STREAMS, strict=True):
            os.set_blocking(end, False)
            with contextlib.suppress(OSError):  # beyond what a user may have in pipes
                fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, READ_BYTES)
            writer = OutputWriter(
                self._directory / files.OUTPUT, stream, self._launch.max_output_bytes
            )
            self._outputs[end] = writer
        told = os.read(failed_end, READ_BYTES)
        os.close(failed_end)
        if told:
            os.waitpid(pid, 0)
            number, _, what = told.decode(errors="replace").partition(" ")
            raise OSError(int(number), os.strerror(int(number)), what)
        files.write(self._directory / files.STARTED, Started(pid=pid, at=self._started_at))
        if self._launch.active_deadline_seconds is not None:
            self._ends_at = files.boot_seconds() + self._launch.active_deadline_seconds
        self._wake_agent()

    def _wait(self, wake: int) -> bool:
        """Reads output until then; returns whether a signal came or the time is up."""
        ready, _, _ = select.select([wake, *self._outputs], [], [], self._patience())
        for descriptor in ready:
            if descriptor == wake:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, READ_BYTES)
            else:
                self._read(descriptor)
        return wake in ready or not ready

    def _patience(self) -> float:
        """Seconds until there is something to look at without a signal."""
        now = files.boot_seconds()
        due = [LEASE_LOOK_SECONDS if self._launch.lease_file else DIRECTORY_LOOK_SECONDS]
        if self._launch.look_seconds:
            due.append(self._looks_at - now)
        if self._ends_at is not None:
            due.append(self._ends_at - now)
        if self._stop is not None:
            due += [self._stop.kill_at - now, LEASE_LOOK_SECONDS]
        return max(0.0, min(due))

    def _read(self, descriptor: int) -> bool:
        """Returns whether there may be more to read."""
        try:
            content = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return False
        if not content:
            os.close(descriptor)
            self._outputs.pop(descriptor).close()
            return False
        self._outputs[descriptor].write(content)
        return True

    def _read_rest(self) -> None:
        give_up_at = time.monotonic() + SECONDS_FOR_OUTPUT
        for descriptor in list(self._outputs):
            while descriptor in self._outputs and self._read(descriptor):
                if time.monotonic() > give_up_at:
                    break
        for writer in self._outputs.values():
            writer.close()

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._pid:
                self._status = status

    def _is_leaving(self) -> bool:
        """Whether other processes of the pod still have time after an order to stop."""
        return (
            self._stop is not None
            and files.boot_seconds() < self._stop.kill_at
            and not self._cgroups.is_empty()
        )

    def _obey(self) -> None:
        """Follows a new order to stop; a later deadline is an extension.

        A pod is stopped too once its directory was deleted, as no order can reach it any more.
        """
        order = files.read(self._directory / files.STOP, Stop)
        if order is None and files.is_deleted(self._directory):
            self._order("NodeLost", self._launch.grace_seconds)
        if order is None or order == self._last_order:
            return
        is_first = self._stop is None or self._stop.signal != order.signal
        self._last_order = self._stop = order
        if order.is_by_wall_clock:
            kill_at = _boot_seconds_of(order.kill_at)
            self._stop = msgspec.structs.replace(order, kill_at=kill_at)
        if is_first:
            self._signal(order.signal)

    def _keep_deadlines(self) -> None:
        now = files.boot_seconds()
        if self._launch.look_seconds and now >= self._looks_at:
            self._looks_at = now + self._launch.look_seconds
            self._obey()
        if self._ends_at is not None and now >= self._ends_at:
            self._ends_at = None
            self._order("DeadlineExceeded", self._launch.grace_seconds)
        if self._launch.lease_file and self._is_fenced(now):
            self._order("NodeLost", 0.0)
        if self._stop is not None and now >= self._stop.kill_at:
            self._cgroups.kill(self._reap)

    def _is_fenced(self, now: float) -> bool:
        """Whether the lease is about to end: after that the pod may be started elsewhere."""
        lease = files.read(Path(self._launch.lease_file), Lease)
        if lease is None or lease.boot_id not in {"", files.boot_id()}:
            return True
        return now >= (lease.fence_at if lease.boot_id else _boot_seconds_of(lease.fence_at))

    def _order(self, reason: FinishReason, grace_seconds: float) -> None:
        """Stops the pod by this shim's own decision, as the agent may be gone."""
        kill_at = files.boot_seconds() + grace_seconds
        if self._stop is None or kill_at < self._stop.kill_at:
            self._stop = Stop(reason=reason, signal=signal.SIGTERM, kill_at=kill_at)
            self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        """Signals the process group, as a shell in front does not pass signals on."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def _end(self, *, is_clean: bool) -> Exit:
        assert self._status is not None
        code = os.WEXITSTATUS(self._status) if os.WIFEXITED(self._status) else None
        number = os.WTERMSIG(self._status) if os.WIFSIGNALED(self._status) else None
        reason: FinishReason = "Completed" if code == 0 else "Error"
        if self._cgroups.out_of_memory_kills() and code != 0:
            reason = "OOMKilled"
        elif self._stop is not None:
            reason = self._stop.reason
        message = "" if is_clean else "processes of the pod could not be killed"
        return Exit(reason=reason, exit_code=code, signal=number, message=message)

    def _write_end(self, end: Exit) -> None:
        self._cgroups.remove()
        # The wall clock may have been set since the start; the boot clock only goes on.
        now = wall_clock()
        if self._started_at is not None:
            seconds = files.boot_seconds() - self._started_seconds
            now = self._started_at + int(seconds * MICROSECONDS_PER_SECOND)
        whole = Exit(
            reason=end.reason,
            exit_code=end.exit_code,
            signal=end.signal,
            message=end.message,
            result=read_result(self._directory),
            started_at=self._started_at,
            finished_at=now,
            was_terminated=self._was_terminated,
        )
        while self._directory.exists():
            try:
                files.write(self._directory / files.EXIT, whole, durable=True)
                break
            except OSError as error:
                # The end must not be lost to a full disk: it is the reason why this waits.
                if error.errno not in {*files.FULL_DISK, errno.EIO}:
                    raise
                if whole.result:
                    whole = msgspec.structs.replace(whole, result="")
                    continue
                time.sleep(LEASE_LOOK_SECONDS)
        self._wake_agent()

    def _wake_agent(self) -> None:
        """Tells the agent, if it runs, to look at this pod; it looks regularly anyway."""
        if self._launch.wake_socket:
            tell(self._launch.wake_socket, self._launch.name)
        if self._launch.news_directory:
            with contextlib.suppress(OSError):
                Path(self._launch.news_directory, self._launch.name).touch()


def _boot_seconds_of(wall_seconds: float) -> float:
    """Returns a time of the wall clock as one of this host's boot clock."""
    return wall_seconds - wall_clock() / MICROSECONDS_PER_SECOND + files.boot_seconds()


def _catch_signals() -> int:
    """Returns a descriptor that is readable after the end of a process and after a wake-up."""
    end, wake = os.pipe()
    for descriptor in (end, wake):
        os.set_blocking(descriptor, False)
    for number in (signal.SIGCHLD, *WAKE_SIGNALS):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return end


def _become_pod(launch: Launch, cgroups: PodCgroups, outputs: list[int], failed: int) -> None:
    """Replaces this process by the pod's command; writes an error and its place otherwise."""
    what = ""
    try:
        for number in (signal.SIGCHLD, *WAKE_SIGNALS, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.setsid()
        what = "cgroup"
        cgroups.join()
        for descriptor, output in enumerate(outputs, start=1):
            os.dup2(output, descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.umask(0o022)
        what = ""
        enter_mounts(launch.mounts, launch.root)
        what = "account"
        become_account(launch.account)
        cgroups.limit_process(launch.limits)
        ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        what = f"working directory {launch.working_directory}"
        os.chdir(launch.working_directory)
        what = f"command {launch.command[0]}"
        os.execvpe(launch.command[0], list(launch.command), launch.environment)  # noqa: S606
    except OSError as error:
        os.write(failed, f"{error.errno or errno.EIO} {what or error.filename}".encode())
    finally:
        os._exit(CANNOT_START)


def become_account(account: Account | None) -> None:
    """Gives this process the account of a pod, for good; None is the agent's own."""
    if account is None:
        return
    os.setgroups(list(account.groups))
    os.setgid(account.group_id)
    os.setuid(account.user_id)


def _start_failure(error: OSError) -> str:
    what = error.filename or "start"
    return f"{what}: {os.strerror(error.errno or errno.EIO)}"
