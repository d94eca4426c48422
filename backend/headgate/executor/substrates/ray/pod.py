"""One pod on a node of Ray: its processes, output, orders and deadlines, and how it ended.

This file is sent to the cluster with each job, and stands alone as the driver beside it does. What
becomes of a pod stands in files below the logs of Ray's session, which the dashboard serves: names
tell of sizes and progress, so that a list of them is enough for a pod that runs on.
"""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

BEGUN, STARTED, ORDER, EXIT = "begun", "started.json", "order.json", "exit.json"
POD, WORK, PROGRESS, RESULT = "pod", "work", "progress", "result"
MAX_RESULT_BYTES = 4096
STREAMS = ("stdout", "stderr")
SEGMENT_BYTES = 256 << 10
OFFSET_DIGITS = 20
READ_BYTES = 64 << 10
LOOK_SECONDS = 0.1
MARK_SECONDS = 0.5
SECONDS_FOR_OUTPUT = 1.0
KILL_SECONDS = 0.01
SECONDS_TO_KILL = 2.0
"""Ray gives a driver 3 seconds after SIGTERM."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
MICROSECONDS = 1_000_000

Object = dict[str, Any]


def supervise(directory: Path, run: Object) -> None:
    """Runs a pod to its last process, obeys orders, and writes how it ended; once for a run."""
    try:
        os.close(os.open(directory / BEGUN, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except FileExistsError:
        return
    if (directory / ORDER).exists():
        write_end(directory, "Evicted", message="the pod was ordered to stop before it began")
        return
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = Pod(directory, run)
    try:
        process.start()
    except OSError as error:
        what = f"{error.filename or run['command'][0]}: {os.strerror(error.errno or 0)}"
        write_end(directory, "StartFailed", message=what)
        return
    process.follow()


class Pod:
    """The processes of one pod, with their output, orders and deadlines."""

    def __init__(self, directory: Path, run: Object) -> None:
        self.directory, self.spec = directory, run
        self.outputs: list[Output] = []
        self.readers: list[threading.Thread] = []
        self.started_at = 0.0
        self.reason = ""
        self.kill_at = float("inf")
        self.signalled: set[int] = set()
        self.order_read_at = 0
        self.progress_at = 0

    def start(self) -> None:
        """Starts the command. Raises `OSError`."""
        pod, work = self.directory / POD, self.directory / WORK
        for each in (pod, work):
            each.mkdir(exist_ok=True)
        (pod / "hostfile").write_text("".join(f"{host}\n" for host in self.spec["hosts"]))
        (pod / PROGRESS).touch()
        (pod / RESULT).touch()
        self.progress_at = (pod / PROGRESS).stat().st_mtime_ns
        tokens = node_tokens(self.directory)
        environment = {
            name: replace(value, tokens) for name, value in self.spec["environment"].items()
        }
        if "CUDA_VISIBLE_DEVICES" in os.environ:
            environment["CUDA_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"]
        command = [replace(word, tokens) for word in self.spec["command"]]
        if "/" not in command[0]:
            command[0] = shutil.which(command[0], path=environment.get("PATH")) or command[0]
        where = replace(self.spec["workingDirectory"], tokens) or str(work)
        self.process = subprocess.Popen(
            command,
            cwd=where,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - nothing but a system call
        )
        self.started_at = time.time()
        for stream, pipe in zip(STREAMS, (self.process.stdout, self.process.stderr), strict=True):
            assert pipe is not None
            output = Output(self.directory, stream, self.spec["maxOutputBytes"])
            reader = threading.Thread(target=output.follow, args=(pipe.fileno(),), daemon=True)
            reader.start()
            self.outputs.append(output)
            self.readers.append(reader)
        started = {"pid": self.process.pid, "at": int(self.started_at * MICROSECONDS)}
        write(self.directory / STARTED, started)

    def follow(self) -> None:
        """Obeys until no process lives, and writes the end."""
        limit = self.spec["activeDeadlineSeconds"]
        ends_at = time.time() + limit if limit is not None else float("inf")
        marked_at = 0.0
        while self.process.poll() is None or (self.reason and self._has_children()):
            now = time.time()
            self._obey()
            if now >= ends_at:
                ends_at = float("inf")
                self._stop("DeadlineExceeded", signal.SIGTERM, now + self.spec["graceSeconds"])
            if now >= self.kill_at:
                self._kill()
            if now >= marked_at + MARK_SECONDS:
                marked_at = now
                for output in self.outputs:
                    output.mark()
                self._mark_progress()
            time.sleep(LOOK_SECONDS)
        self._kill()
        for reader in self.readers:
            reader.join(SECONDS_FOR_OUTPUT)
        for output in self.outputs:
            output.mark()
        code = self.process.returncode
        write_end(
            self.directory,
            self.reason or ("Completed" if code == 0 else "Error"),
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            result=self._result(),
            started_at=int(self.started_at * MICROSECONDS),
        )

    def _result(self) -> str:
        """Returns what the pod has written as its result; a pipe in its place holds up nothing."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            descriptor = os.open(self.directory / POD / RESULT, flags)
        except OSError:
            return ""
        try:
            return os.read(descriptor, MAX_RESULT_BYTES).decode(errors="replace")
        except OSError:
            return ""
        finally:
            os.close(descriptor)

    def _obey(self) -> None:
        try:
            written = (self.directory / ORDER).stat().st_mtime_ns
        except OSError:
            return
        if written == self.order_read_at:
            return
        self.order_read_at = written
        order = json.loads((self.directory / ORDER).read_text())
        if order.get("eviction") is not None:
            write(self.directory / POD / "eviction.json", order["eviction"])
        self._stop(self.reason or order["reason"], order["signal"], order["kill_at"])

    def _stop(self, reason: str, number: int, kill_at: float) -> None:
        """Signals the process group once, and sets when it is killed; later is an extension."""
        self.reason, self.kill_at = reason, kill_at
        if number not in self.signalled:
            self.signalled.add(number)
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, number)

    def _kill(self) -> None:
        """Kills all processes of the pod, those too that left its session, and reaps them."""
        give_up_at = time.monotonic() + SECONDS_TO_KILL
        killed: set[int] = set()
        while time.monotonic() < give_up_at:
            if self.process.poll() is None:
                self.process.kill()
            found = children_of(os.getpid())
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            killed |= set(found) - {self.process.pid}
            for pid in killed:
                with contextlib.suppress(OSError):
                    os.waitpid(pid, os.WNOHANG)
            if not found:
                return
            time.sleep(KILL_SECONDS)

    def _has_children(self) -> bool:
        return bool(children_of(os.getpid()))

    def _mark_progress(self) -> None:
        """Tells of progress by the name of a file, once the pod has an order to stop."""
        if not self.reason:
            return
        with contextlib.suppress(OSError):
            at = (self.directory / POD / PROGRESS).stat().st_mtime_ns
            if at != self.progress_at:
                self.progress_at = at
                for old in self.directory.glob(f"{PROGRESS}.*"):
                    old.unlink()
                line = (self.directory / POD / PROGRESS).read_bytes()[:1024].partition(b"\n")[0]
                write_bytes(self.directory / f"{PROGRESS}.{at // 1000}", line)


class Output:
    """One stream in segments that are named by their offset; its middle is dropped.

    The name of an empty file has the number of bytes, so that a list of names tells what is new.
    """

    def __init__(self, directory: Path, stream: str, limit: int) -> None:
        self.directory, self.stream, self.limit = directory, stream, limit
        self.segments: list[int] = []
        self.offset = self.marked = 0

    def follow(self, descriptor: int) -> None:
        """Takes everything that comes until the end of the stream."""
        while content := os.read(descriptor, READ_BYTES):
            rest = content
            while rest:
                rest = rest[self._append(rest) :]

    def mark(self) -> None:
        """Tells by a name how much there is."""
        offset = self.offset
        if offset == self.marked:
            return
        old, new = (self.directory / f"{self.stream}.size.{size}" for size in (self.marked, offset))
        with contextlib.suppress(OSError):
            if old.exists():
                old.rename(new)
            else:
                new.touch()
            self.marked = offset

    def _append(self, content: bytes) -> int:
        if not self.segments or self.offset >= self.segments[-1] + SEGMENT_BYTES:
            self.segments.append(self.offset)
            self._drop_middle()
        piece = content[: self.segments[-1] + SEGMENT_BYTES - self.offset]
        # A full disk drops bytes and never stops the pod.
        with contextlib.suppress(OSError), self._path(self.segments[-1]).open("ab") as file:
            file.write(piece)
        self.offset += len(piece)
        return len(piece)

    def _drop_middle(self) -> None:
        for start in self.segments[:-1]:
            if start >= self.limit and start + SEGMENT_BYTES <= self.offset - self.limit:
                with contextlib.suppress(OSError):
                    self._path(start).unlink()
                self.segments.remove(start)

    def _path(self, start: int) -> Path:
        return self.directory / f"{self.stream}.{start:0{OFFSET_DIGITS}d}"


def node_tokens(directory: Path) -> dict[str, str]:
    """Returns what stands in a plan for values that only the node knows."""
    own = {name: os.environ.get(name, "") for name in ("PATH", "HOME", "USER", "LOGNAME")}
    return {f"@headgate:{name}@": value for name, value in {**own, "RUN": str(directory)}.items()}


def replace(text: str, tokens: dict[str, str]) -> str:
    """Returns a text with the values of the node."""
    for token, value in tokens.items():
        text = text.replace(token, value)
    return text


def children_of(pid: int) -> list[int]:
    """Returns the living children of a process, and theirs."""
    parents: dict[int, list[int]] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = (each / "stat").read_text().rpartition(")")[2].split()
                if fields[0] not in {"Z", "X"}:
                    parents.setdefault(int(fields[1]), []).append(int(each.name))
    found, looking = [], [pid]
    while looking:
        children = parents.get(looking.pop(), [])
        found += children
        looking += children
    return found


def remove_old(root: Path, keep_seconds: float) -> None:
    """Removes what pods have left that ended long ago."""
    for each in root.iterdir():
        with contextlib.suppress(OSError):
            if (each / EXIT).stat().st_mtime + keep_seconds < time.time():
                shutil.rmtree(each, ignore_errors=True)


def write_end(directory: Path, reason: str, **known: object) -> None:
    """Writes how a pod ended."""
    end = {"reason": reason, "finished_at": int(time.time() * MICROSECONDS), **known}
    write(directory / EXIT, end)


def write(path: Path, content: Object) -> None:
    """Writes a file whole or not at all."""
    write_bytes(path, json.dumps(content).encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Writes bytes whole or not at all."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.rename(path)


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
