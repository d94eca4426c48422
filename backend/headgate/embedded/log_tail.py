"""Follows the log files of child processes line by line, for the terminal."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_LOG_BYTES = 20_000_000
MAX_READ_BYTES = 64_000


@dataclass(slots=True)
class LogTail:
    """Follows several logs from their ends; a line is told when it is complete."""

    logs: dict[str, Path]
    _offsets: dict[str, int] = field(default_factory=dict)
    _halves: dict[str, bytes] = field(default_factory=dict)

    def add(self, name: str, path: Path) -> None:
        """Follow one more log; a large one is set aside, what stands in a small one is skipped."""
        if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
            path.replace(path.with_suffix(".log.old"))
        self.logs[name] = path
        self._offsets[name] = path.stat().st_size if path.exists() else 0

    def lines(self) -> Iterator[tuple[str, str]]:
        """Complete lines since the last call, each with the name of its log."""
        for name in self.logs:
            for line in self._new_lines(name):
                yield name, line

    def _new_lines(self, name: str) -> list[str]:
        try:
            with self.logs[name].open("rb") as log:
                log.seek(self._offsets.get(name, 0))
                fresh = log.read(MAX_READ_BYTES)
        except FileNotFoundError:
            return []
        self._offsets[name] = self._offsets.get(name, 0) + len(fresh)
        *whole, half = (self._halves.get(name, b"") + fresh).split(b"\n")
        self._halves[name] = half
        return [line.decode(errors="replace").rstrip() for line in whole if line.strip()]


def last_lines(log: Path, count: int) -> list[str]:
    """The end of a log."""
    return log.read_text(errors="replace").splitlines()[-count:] if log.exists() else []
