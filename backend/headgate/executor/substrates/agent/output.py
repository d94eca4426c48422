"""The output of a pod on disk: segments named by their offset, of which the middle is dropped.

Each stream keeps its first and its last `limit` bytes. Offsets count every byte that the pod has
written, so that a reader sees where bytes are missing.
"""

import contextlib
import os
from itertools import pairwise
from pathlib import Path

from headgate.executor.substrate import OutputChunk

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
