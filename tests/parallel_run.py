"""Runs tests in several processes that are forked once all tests are imported.

Importing the tests takes 15 s of processor time, so one process does it for all. It hands out the
tests of one file at a time and reports what the others send; what takes long begins first.
"""

import gc
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import PurePosixPath
from typing import Any, Final, NoReturn, cast
from zlib import crc32

import pytest

OPTION: Final = "--processes"
LONG: Final = ("slow", "browser")
"""Marks of tests that move their files to the front."""
SHORT: Final = ("tests/domain/", "tests/messages/", "tests/verify/")
"""Folders of files that take a second or less; they come last, so that processes end together."""
TOGETHER: Final = {"tests/architecture": 1, "tests/browser": 2}
"""Folders with shared costly fixtures, and how many processes run each.

Each process that runs a browser test starts an installation and a browser, which takes 13 s of
processor time; one for all of them would run on for a minute after all others.
"""
STOP_SECONDS: Final = 30
"""How long processes may tear down what their tests have set up when a run is broken off."""
TEST_SECONDS: Final = 600
"""A test that takes longer hangs: it fails by its name, and the others go on.

What takes longest, an installation from the wheel, takes 110 s on a busy machine, and three times
that on a slower one.
"""


def add_option(parser: pytest.Parser) -> None:
    """How many processes run the tests; 0, the default, is this one."""
    parser.addoption(OPTION, type=int, default=0, metavar="N", help="run tests in N processes")


def long_files_first(items: list[pytest.Item]) -> None:
    """Sort files with a test marked in `LONG` first, then shared folders, and `SHORT` last.

    The files of a share stand together; else the drawn order stays.
    """
    long = {item.path for item in items if any(map(item.get_closest_marker, LONG))}

    def place(item: pytest.Item) -> tuple[bool, bool, bool, str]:
        file, share = file_of(item), share_of(item)
        is_shared = share != file
        ends = file.startswith(SHORT)
        return item.path not in long, ends, not is_shared, share if is_shared else ""

    items.sort(key=place)


def file_of(item: pytest.Item) -> str:
    """The file of a test, relative to the root."""
    return item.nodeid.partition("::")[0]


def share_of(item: pytest.Item) -> str:
    """The tests that one process runs together: a file, or a part of a folder of `TOGETHER`."""
    file = file_of(item)
    folder = str(PurePosixPath(file).parent)
    return f"{folder} {crc32(file.encode()) % TOGETHER[folder]}" if folder in TOGETHER else file


def run_in_processes(session: pytest.Session, count: int) -> None:
    """Run the tests of a session in `count` processes; the session's plugins get every report.

    A process that ends before its time fails the test that it was running; a new one takes its
    place. Raises as pytest's own loop does when tests end early.
    """
    run = _Run(session)
    try:
        for _ in range(min(count, len(run.shares))):
            run.add_process()
        run.serve()
    finally:
        run.stop()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


@dataclass(slots=True)
class _Process:
    """A process of the run: the test that it runs, and those of its share not yet begun."""

    pid: int
    running: pytest.Item | None = None
    left: range = range(0)


class _Run:
    """Hands out shares, which are ranges of tests, and passes on what the processes send."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.items = session.items
        self.hook = session.config.hook
        self.shares = deque(_shares_of(self.items))
        self.processes: dict[Connection, _Process] = {}
        # The processes share a directory; else each would make one and remove older ones.
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # noqa: SLF001
        # Reports of many files mix, so that names of files tell nothing.
        reporter: Any = session.config.pluginmanager.getplugin("terminalreporter")
        reporter.showfspath = False
        # What the collector never looks at is not copied for each process either.
        gc.collect()
        gc.freeze()

    def add_process(self) -> None:
        ours, theirs = Pipe()
        pid = os.fork()
        if pid == 0:
            # The end of a process is seen as the end of its pipe, which no other may hold open.
            for connection in (ours, *self.processes):
                connection.close()
            _run_and_exit(self.session, theirs)
        theirs.close()
        self.processes[ours] = _Process(pid)

    def serve(self) -> None:
        """Answer until every process has ended."""
        while self.processes:
            for ready in wait(list(self.processes)):
                connection = cast(Connection, ready)
                message = _receive(connection)
                if message is None:
                    self._end(connection)
                else:
                    self._answer(connection, *message)

    def stop(self) -> None:
        """End the processes that are left, which tear down what their tests have set up."""
        for process in self.processes.values():
            os.kill(process.pid, signal.SIGINT)
        deadline = time.monotonic() + STOP_SECONDS
        while self.processes and (left := deadline - time.monotonic()) > 0:
            for ready in wait(list(self.processes), left):
                connection = cast(Connection, ready)
                if _receive(connection) is None:
                    os.waitpid(self.processes.pop(connection).pid, 0)
        for process in self.processes.values():
            os.kill(process.pid, signal.SIGKILL)
            os.waitpid(process.pid, 0)

    def _answer(self, connection: Connection, kind: str, content: Any) -> None:
        process = self.processes[connection]
        if kind == "share":
            process.left = self._next_share()
            connection.send(process.left)
        elif kind == "begin":
            process.running, process.left = self.items[content], process.left[1:]
            self.hook.pytest_runtest_logstart(
                nodeid=process.running.nodeid, location=process.running.location
            )
        elif kind == "report":
            report = self.hook.pytest_report_from_serializable(
                config=self.session.config, data=content
            )
            self.hook.pytest_runtest_logreport(report=report)
        else:
            self._log_finish(process)

    def _next_share(self) -> range:
        if self.session.shouldfail or self.session.shouldstop or not self.shares:
            return range(0)
        return self.shares.popleft()

    def _log_finish(self, process: _Process) -> None:
        item, process.running = process.running, None
        if item is not None:
            self.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _end(self, connection: Connection) -> None:
        process = self.processes.pop(connection)
        connection.close()
        _, status = os.waitpid(process.pid, 0)
        if status == 0:
            return
        message = f"the process of this test ended with {os.waitstatus_to_exitcode(status)}"
        if process.running is None:
            raise RuntimeError(message)
        report = pytest.TestReport(
            nodeid=process.running.nodeid,
            location=process.running.location,
            keywords={},
            outcome="failed",
            longrepr=message,
            when="call",
        )
        self.hook.pytest_runtest_logreport(report=report)
        self._log_finish(process)
        if process.left:
            self.shares.appendleft(process.left)
        self.add_process()


def _receive(connection: Connection) -> tuple[str, Any] | None:
    """What a process says next; None once it has ended."""
    try:
        return cast("tuple[str, Any]", connection.recv())
    except (EOFError, ConnectionResetError):
        return None


def _shares_of(items: Sequence[pytest.Item]) -> Iterator[range]:
    begin = 0
    for _, share in groupby(items, key=share_of):
        end = begin + len(list(share))
        yield range(begin, end)
        begin = end


def _run_and_exit(session: pytest.Session, connection: Connection) -> NoReturn:
    code = 1
    try:
        _become_a_runner(session.config, connection)
        _run_shares(session, connection)
        code = 0
    except BaseException:  # noqa: BLE001
        # As what is written to the terminal between tests is not captured.
        traceback.print_exc()
    finally:
        # Whatever this process shares with the first one is for that to end.
        os._exit(code)


def _become_a_runner(config: pytest.Config, connection: Connection) -> None:
    """Send reports instead of writing them, and capture output in files of its own."""
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Sender(config, connection))
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()


class _Sender:
    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self.config, self.connection = config, connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self.config.hook
        data = hook.pytest_report_to_serializable(config=self.config, report=report)
        self.connection.send(("report", data))


def _run_shares(session: pytest.Session, connection: Connection) -> None:
    """Run shares until there is none; what a share sets up ends with its last test."""
    share = _ask_for_share(connection)
    try:
        while share and not session.shouldfail and not session.shouldstop:
            item = session.items[share[0]]
            connection.send(("begin", share[0]))
            # Asked for before the test runs, which keeps the fixtures that the next one needs.
            share = share[1:] or _ask_for_share(connection)
            following = session.items[share[0]] if share else None
            with _limited(TEST_SECONDS):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            connection.send(("end", None))
    finally:
        session._setupstate.teardown_exact(None)  # noqa: SLF001


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Fails a test that is not over by then."""

    def fail(_number: int, _frame: object) -> None:
        pytest.fail(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ask_for_share(connection: Connection) -> range:
    connection.send(("share", None))
    return cast(range, connection.recv())
