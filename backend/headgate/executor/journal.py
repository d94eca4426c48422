"""The journal of an executor: reports until they are answered, in one file of lines.

A line is written before its effect counts: a report before it is sent, an answer after it came. So
an executor that ends at any point sends each report again, or knows that it was taken.
"""

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from headgate.executor.reconcile import RunRecord, RunReport
from headgate.executor.substrate import RunKey

MAX_LINES_BEFORE_REWRITE = 10_000
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of: a report, an answered report by name and type, a run that is dropped."""

    report: RunReport | None = None
    answered: tuple[str, str] | None = None
    dropped: str = ""


class Journal:
    """Reports by run, in memory and in a file; used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reports: dict[str, list[RunReport]] = {}
        self._answered: dict[str, set[str]] = {}
        self._records: dict[str, RunRecord] = {}
        self._unanswered: dict[tuple[str, str], RunReport] = {}
        self._lines = 0
        self._unwritten: list[_Line] = []
        for line in _read(path):
            self._apply(line)
        self._descriptor = self._open()

    @property
    def is_durable(self) -> bool:
        """Whether the file has everything; a full disk keeps lines in memory until there is room.

        They are not lost with this process: what they say is told again by the runs themselves, as
        long as no run is forgotten meanwhile.
        """
        return not self._unwritten

    def flush(self) -> None:
        """Writes what a full disk has not taken before."""
        self._write([])

    def records(self) -> Mapping[str, RunRecord]:
        """Returns what is known of each run, by name."""
        return self._records

    def unanswered(self, limit: int) -> list[RunReport]:
        """Returns the oldest reports without an answer."""
        return [report for _, report in zip(range(limit), self._unanswered.values(), strict=False)]

    def add(self, reports: Sequence[RunReport]) -> None:
        """Adds reports, durably; a report of a run and type that was added before is left out."""
        lines = []
        for report in reports:
            record = self._records.get(report.key.name)
            if record is None or report.type not in record.reported:
                line = _Line(report=report)
                self._apply(line)
                lines.append(line)
        self._write(lines)

    def answer(self, reports: Iterable[RunReport]) -> None:
        """Notes that reports were answered, whether accepted or refused."""
        self._commit([_Line(answered=(report.key.name, report.type)) for report in reports])

    def drop(self, keys: Iterable[RunKey]) -> None:
        """Forgets runs that nothing names any more."""
        self._commit([_Line(dropped=key.name) for key in keys])

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)

    def _commit(self, lines: list[_Line]) -> None:
        for line in lines:
            self._apply(line)
        self._write(lines)

    def _write(self, lines: list[_Line]) -> None:
        self._unwritten += lines
        if not self._unwritten:
            return
        try:
            _append(self._descriptor, self._unwritten)
        except OSError as error:
            if error.errno not in FULL_DISK:
                raise
            return
        self._lines += len(self._unwritten)
        self._unwritten.clear()
        if self._lines > MAX_LINES_BEFORE_REWRITE + 4 * len(self._records):
            os.close(self._descriptor)
            self._descriptor = self._open()

    def _open(self) -> int:
        """Returns a descriptor of a file with what still counts, or of the longer one there is."""
        try:
            return self._rewrite()
        except OSError as error:
            if error.errno not in FULL_DISK:
                raise
            self._path.with_suffix(".new").unlink(missing_ok=True)
            return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _apply(self, line: _Line) -> None:
        if line.report is not None:
            name = line.report.key.name
            self._reports.setdefault(name, []).append(line.report)
            self._unanswered[name, line.report.type] = line.report
            self._note(name, line.report.key)
        if line.answered is not None:
            name, kind = line.answered
            self._unanswered.pop((name, kind), None)
            if name in self._reports:
                self._answered.setdefault(name, set()).add(kind)
                self._note(name, self._reports[name][0].key)
        if line.dropped:
            for report in self._reports.pop(line.dropped, ()):
                self._unanswered.pop((line.dropped, report.type), None)
            self._answered.pop(line.dropped, None)
            self._records.pop(line.dropped, None)

    def _note(self, name: str, key: RunKey) -> None:
        reported = frozenset(report.type for report in self._reports[name])
        is_answered = reported <= self._answered.get(name, set())
        self._records[name] = RunRecord(key=key, reported=reported, is_answered=is_answered)

    def _rewrite(self) -> int:
        """Writes a file with only what still counts, and returns its descriptor."""
        lines = [_Line(report=report) for reports in self._reports.values() for report in reports]
        lines += [
            _Line(answered=(name, kind))
            for name, kinds in self._answered.items()
            for kind in sorted(kinds)
        ]
        temporary = self._path.with_suffix(".new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o600)
        try:
            _append(descriptor, lines)
            temporary.rename(self._path)
        except OSError:
            os.close(descriptor)
            raise
        self._lines = len(lines)
        return descriptor


def _append(descriptor: int, lines: list[_Line]) -> None:
    """Appends lines durably, or none of them where the disk is full."""
    content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    length = os.fstat(descriptor).st_size
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, length)
        raise


def _read(path: Path) -> list[_Line]:
    """Returns the lines of a file; a half-written last line was never acted upon."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = content.split(b"\n")[:-1]
    return [msgspec.json.decode(line, type=_Line) for line in whole]
