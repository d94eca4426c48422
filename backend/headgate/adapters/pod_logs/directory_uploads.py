"""Uploads in a directory beside the pod logs: a file for each namespace and digest."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from headgate.adapters.pod_logs.directory import UPLOADS
from headgate.application.ports import Unavailable
from headgate.application.uploads import StoredUpload, UploadKey, is_digest

PIECE_BYTES = 1 << 20
NANOSECONDS_PER_MICROSECOND = 1_000


class DirectoryUploadStore:
    """Fills the port `UploadStore`; `root` is the directory of the pod logs."""

    def __init__(self, root: Path) -> None:
        self._root = root / UPLOADS

    def put(self, key: UploadKey, source: Path) -> None:
        """Keep the content of a file whole or not at all; equal content is kept once."""
        path = self._path(key)
        with _failures():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=".new")
            os.close(descriptor)
            making = Path(name)
            try:
                shutil.copyfile(source, making)
                making.rename(path)
            finally:
                making.unlink(missing_ok=True)

    def touch(self, key: UploadKey) -> bool:
        """Note that the upload is used now; False where there is none."""
        with _failures():
            try:
                os.utime(self._path(key))
            except FileNotFoundError:
                return False
        return True

    def read(self, key: UploadKey) -> Iterator[bytes] | None:
        """The content in pieces; None where there is none."""
        with _failures():
            if not self._path(key).is_file():
                return None
        return _pieces(self._path(key))

    def stored(self) -> list[StoredUpload]:
        """Every upload there is, in order."""
        found = []
        with _failures():
            for path in self._root.glob("*/*"):
                if not is_digest(path.name):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    used_at = path.stat().st_mtime_ns // NANOSECONDS_PER_MICROSECOND
                    key = UploadKey(namespace=path.parent.name, digest=path.name)
                    found.append(StoredUpload(key=key, used_at=used_at))
        return sorted(found, key=lambda each: each.key)

    def remove(self, keys: Collection[UploadKey]) -> None:
        """Delete uploads; unknown ones are passed over."""
        with _failures():
            for key in keys:
                self._path(key).unlink(missing_ok=True)

    def _path(self, key: UploadKey) -> Path:
        return self._root / key.namespace / key.digest


def _pieces(path: Path) -> Iterator[bytes]:
    with _failures(), path.open("rb") as opened:
        while piece := opened.read(PIECE_BYTES):
            yield piece


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise Unavailable(f"uploads: {failure.strerror or failure}") from failure
