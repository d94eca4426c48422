"""Pod logs and uploads in a directory that all processes share.

Pod logs have a folder for each run, and in it segments of frames. A frame is a header (offset,
time, length) and bytes; a segment is named by the offset of its first frame and is only ever
appended to, under a lock of its run, by any process that shares the directory. A frame that a crash
cut short ends its segment: readers stop there, and the next append begins another segment. Segments
between the first and the last kept bytes are deleted whole. Uploads are a file for each namespace
and digest.
"""

import fcntl
import os
import shutil
import struct
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headgate.application.file_stores import (
    LOG_STREAMS,
    ContentKey,
    KeptRun,
    LogAppend,
    LogChunk,
    LogRun,
    LogStream,
    StoredContent,
    StoredRun,
    is_digest,
)
from headgate.application.ports import Unavailable

HEADER = struct.Struct(">QqI")
SEGMENT_BYTES = 262_144
OFFSET_DIGITS = 20
LOCK = ".lock"
FINAL = ".final"
EXECUTOR = ".executor"
PARTS_OF_RUN = 3
UPLOADS = ".uploads"
"""Beside the namespaces, as no name of a namespace begins with a dot; it holds no logs."""
PIECE_BYTES = 1 << 20
NANOSECONDS_PER_MICROSECOND = 1_000


class DirectoryLogStore:
    """Fills the port `LogStore`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def append(self, given: LogAppend) -> None:
        """Keep chunks; bytes up to the end of what is kept are not kept again."""
        with _failures("pod logs"), _locked(self._directory(given.run)) as directory:
            marker = directory / EXECUTOR
            if not marker.exists():
                marker.write_text(given.executor)
            for stream in LOG_STREAMS:
                chunks = [chunk for chunk in given.chunks if chunk.stream == stream]
                if chunks and given.limit_bytes:
                    _append(directory, stream, chunks, given.limit_bytes)
            if given.is_final:
                (directory / FINAL).touch()

    def runs(self, namespace: str, workload: str, uid: str) -> list[KeptRun]:
        """The runs of a workload with kept logs, in order."""
        with _failures("pod logs"):
            found = [
                KeptRun(
                    run=run,
                    ends={stream: _end(directory, stream) for stream in LOG_STREAMS},
                    is_final=(directory / FINAL).exists(),
                )
                for run, directory in self._below(self._root / namespace / workload / uid)
            ]
        return sorted(found, key=lambda kept: kept.run)

    def read(
        self, run: LogRun, stream: LogStream, after: int, *, limit_bytes: int
    ) -> list[LogChunk]:
        """Kept chunks from offset `after` on, in order, up to about `limit_bytes`."""
        with _failures("pod logs"):
            segments = _segments(self._directory(run), stream)
            starts = [offset for offset, _ in segments]
            found: list[LogChunk] = []
            size = 0
            for number, (_, path) in enumerate(segments):
                if number + 1 < len(starts) and starts[number + 1] <= after:
                    continue
                for chunk in _frames(path, stream):
                    if chunk.end <= after:
                        continue
                    found.append(_from(chunk, after))
                    size += len(chunk.content)
                    if size >= limit_bytes:
                        return found
            return found

    def read_end(self, run: LogRun, stream: LogStream, *, limit_bytes: int) -> list[LogChunk]:
        """The last kept chunks, in order, of at least `limit_bytes` where there are as many."""
        with _failures("pod logs"):
            found: list[LogChunk] = []
            size = 0
            for _, path in reversed(_segments(self._directory(run), stream)):
                frames = list(_frames(path, stream))
                found = [*frames, *found]
                size += sum(len(chunk.content) for chunk in frames)
                if size >= limit_bytes:
                    break
            return found

    def stored(self) -> list[StoredRun]:
        """Every run there is, oldest change first."""
        found = []
        with _failures("pod logs"):
            for namespace in _folders(self._root):
                if namespace.name.startswith("."):
                    continue
                for workload in _folders(namespace):
                    for uid in _folders(workload):
                        found += [_stored(run, path) for run, path in self._below(uid)]
        return sorted(found, key=lambda stored: (stored.changed_at, stored.run))

    def remove(self, runs: Collection[LogRun]) -> None:
        """Delete the logs of runs; unknown ones are passed over."""
        with _failures("pod logs"):
            for run in runs:
                directory = self._directory(run)
                shutil.rmtree(directory, ignore_errors=True)
                for parent in (directory.parent, *directory.parent.parents):
                    if parent == self._root or self._root not in parent.parents:
                        break
                    try:
                        parent.rmdir()
                    except OSError:
                        break

    def close(self) -> None:
        """Nothing is open between two calls."""

    def _directory(self, run: LogRun) -> Path:
        named = f"{run.pod_set}.{run.index}.{run.run}"
        return self._root / run.namespace / run.workload / run.uid / str(run.attempt) / named

    def _below(self, uid: Path) -> Iterator[tuple[LogRun, Path]]:
        namespace, workload = uid.parent.parent.name, uid.parent.name
        for attempt in _folders(uid):
            for directory in _folders(attempt):
                parts = directory.name.rsplit(".", PARTS_OF_RUN - 1)
                yield (
                    LogRun(
                        namespace=namespace,
                        workload=workload,
                        uid=uid.name,
                        attempt=int(attempt.name),
                        pod_set=parts[0],
                        index=int(parts[1]),
                        run=int(parts[2]),
                    ),
                    directory,
                )


@contextmanager
def _failures(of: str) -> Iterator[None]:
    """A full disk or a lost mount is an outage of the store; a missing file is none at all."""
    try:
        yield
    except OSError as failure:
        raise Unavailable(f"{of}: {failure.strerror or failure}") from failure


@contextmanager
def _locked(directory: Path) -> Iterator[Path]:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (directory / LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield directory


def _append(directory: Path, stream: LogStream, chunks: list[LogChunk], limit_bytes: int) -> None:
    segments = _segments(directory, stream)
    path = segments[-1][1] if segments else None
    size = _whole_bytes(path) if path else 0
    end = _end(directory, stream)
    is_torn = path is not None and size != path.stat().st_size
    for given in sorted(chunks, key=lambda chunk: chunk.offset):
        if given.end <= end:
            continue
        chunk = _from(given, end)
        if path is None or is_torn or size >= _segment_bytes(limit_bytes):
            path, size, is_torn = _segment_path(directory, stream, chunk.offset), 0, False
        frame = HEADER.pack(chunk.offset, chunk.at, len(chunk.content)) + chunk.content
        with path.open("ab") as segment:
            segment.write(frame)
        size += len(frame)
        end = chunk.end
    _drop_middle(_segments(directory, stream), end, limit_bytes)


def _segment_bytes(limit_bytes: int) -> int:
    """Small against the limit, as segments are dropped whole."""
    return min(SEGMENT_BYTES, max(4_096, limit_bytes // 4))


def _drop_middle(segments: list[tuple[int, Path]], end: int, limit_bytes: int) -> None:
    ends = [offset for offset, _ in segments[1:]]
    first = segments[0][0] if segments else 0
    for (offset, path), until in zip(segments[:-1], ends, strict=True):
        if offset >= first + limit_bytes and until <= end - limit_bytes:
            path.unlink(missing_ok=True)


def _segment_path(directory: Path, stream: LogStream, offset: int) -> Path:
    return directory / f"{stream}.{offset:0{OFFSET_DIGITS}d}"


def _segments(directory: Path, stream: LogStream) -> list[tuple[int, Path]]:
    """The segments of a stream with their first offsets, in order."""
    prefix = f"{stream}."
    try:
        names = sorted(e.name for e in os.scandir(directory) if e.name.startswith(prefix))
    except FileNotFoundError:
        return []
    return [(int(name[len(prefix) :]), directory / name) for name in names]


def _headers(path: Path) -> Iterator[tuple[int, int, int, int]]:
    """Offset, time, length and place of every whole frame."""
    try:
        with path.open("rb") as segment:
            size = os.fstat(segment.fileno()).st_size
            place = 0
            while place + HEADER.size <= size:
                segment.seek(place)
                offset, at, length = HEADER.unpack(segment.read(HEADER.size))
                if place + HEADER.size + length > size:
                    return
                yield offset, at, length, place + HEADER.size
                place += HEADER.size + length
    except FileNotFoundError:
        return


def _frames(path: Path, stream: LogStream) -> Iterator[LogChunk]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    place = 0
    while place + HEADER.size <= len(content):
        offset, at, length = HEADER.unpack_from(content, place)
        place += HEADER.size
        if place + length > len(content):
            return
        yield LogChunk(stream=stream, offset=offset, at=at, content=content[place : place + length])
        place += length


def _whole_bytes(path: Path) -> int:
    return max((place + length for _, _, length, place in _headers(path)), default=0)


def _end(directory: Path, stream: LogStream) -> int:
    """The offset after the last byte; 0 where nothing was kept."""
    for offset, path in reversed(_segments(directory, stream)):
        ends = [at + length for at, _, length, _ in _headers(path)]
        return ends[-1] if ends else offset
    return 0


def _from(chunk: LogChunk, offset: int) -> LogChunk:
    """The chunk without the bytes before an offset."""
    cut = max(0, offset - chunk.offset)
    if not cut:
        return chunk
    return LogChunk(
        stream=chunk.stream, offset=chunk.offset + cut, at=chunk.at, content=chunk.content[cut:]
    )


def _folders(directory: Path) -> list[Path]:
    try:
        return sorted(Path(each.path) for each in os.scandir(directory) if each.is_dir())
    except FileNotFoundError:
        return []


def _stored(run: LogRun, directory: Path) -> StoredRun:
    sizes, changes = [0], [0]
    for each in os.scandir(directory):
        try:
            found = each.stat()
        except FileNotFoundError:
            continue
        sizes.append(found.st_size)
        changes.append(found.st_mtime_ns // 1_000)
    marker = directory / EXECUTOR
    return StoredRun(
        run=run,
        kept_bytes=sum(sizes),
        changed_at=max(changes),
        executor=marker.read_text() if marker.exists() else "",
    )


class DirectoryContentStore:
    """Fills the port `ContentStore` in a folder of a directory, which may be that of the pod logs.

    The name of the folder begins with a dot.
    """

    def __init__(self, root: Path, folder: str = UPLOADS) -> None:
        self._root = root / folder

    def put(self, key: ContentKey, source: Path) -> None:
        """Keep the content of a file whole or not at all; equal content is kept once."""
        path = self._path(key)
        with _failures("content store"):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=".new")
            os.close(descriptor)
            making = Path(name)
            try:
                shutil.copyfile(source, making)
                _flush(making)
                making.rename(path)
                _flush(path.parent)
            finally:
                making.unlink(missing_ok=True)

    def touch(self, key: ContentKey) -> bool:
        """Note that the content is used now; False where there is none."""
        with _failures("content store"):
            try:
                os.utime(self._path(key))
            except FileNotFoundError:
                return False
        return True

    def read(self, key: ContentKey) -> Iterator[bytes] | None:
        """The content in pieces; None where there is none."""
        with _failures("content store"):
            if not self._path(key).is_file():
                return None
        return _pieces_of(self._path(key))

    def read_range(self, key: ContentKey, start: int, length: int) -> bytes | None:
        """So many bytes from an offset on, fewer at the end; None where there is no content."""
        with _failures("content store"):
            try:
                with self._path(key).open("rb") as opened:
                    opened.seek(start)
                    return opened.read(length)
            except FileNotFoundError:
                return None

    def stored(self) -> list[StoredContent]:
        """All content there is, in order."""
        found = []
        with _failures("content store"):
            for path in self._root.glob("*/*"):
                if not is_digest(path.name):
                    continue
                with suppress(FileNotFoundError):
                    used_at = path.stat().st_mtime_ns // NANOSECONDS_PER_MICROSECOND
                    key = ContentKey(namespace=path.parent.name, digest=path.name)
                    found.append(StoredContent(key=key, used_at=used_at))
        return sorted(found, key=lambda each: each.key)

    def remove(self, keys: Collection[ContentKey]) -> None:
        """Delete content; what is unknown is passed over."""
        with _failures("content store"):
            for key in keys:
                self._path(key).unlink(missing_ok=True)

    def _path(self, key: ContentKey) -> Path:
        return self._root / key.namespace / key.digest


def _flush(path: Path) -> None:
    """Makes a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _pieces_of(path: Path) -> Iterator[bytes]:
    with _failures("content store"), path.open("rb") as opened:
        while piece := opened.read(PIECE_BYTES):
            yield piece
