"""Uploads on a host: fetched once by digest, and extracted for each pod that begins in one."""

import contextlib
import os
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import httpx

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.client.transport import ServerProblem
from headgate.domain.values.capabilities import upload_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.executor.substrate import CannotStart, PodPlan
from headgate.executor.substrates.agent.run_directory import Account

MAX_EXPANDED_BYTES = 16 << 30
UPLOADS = "uploads"
SECONDS_TO_CLOSE = 5.0
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
UNUSED_SECONDS = 24 * 3600.0

Fetch = Callable[[str, str], Iterator[bytes]]
"""Gives the archive of a workload (`namespace/name`) and digest in pieces."""


class StillFetching(Exception):
    """The archive is on its way; the pod starts at a later call."""


class FetchedUploads:
    """The archives of a host. A fetch runs in a thread of its own and calls `wake` at its end."""

    def __init__(self, root: Path, fetch: Fetch | None, wake: Callable[[], None]) -> None:
        self._directory = directory = root / UPLOADS
        self._fetch = fetch
        self._wake = wake
        self._lock = threading.Lock()
        self._fetching: dict[str, threading.Thread] = {}
        self._refused: dict[tuple[str, str], str] = {}
        directory.mkdir(exist_ok=True, mode=0o700)
        for left in directory.glob("*.new"):
            left.unlink(missing_ok=True)

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What pods may need that this honours: without a way to fetch, nothing."""
        return () if self._fetch is None else ("upload",)

    def archive_for(self, plan: PodPlan) -> Path | None:
        """Returns the archive that a pod begins in, None where it begins in none.

        Raises `StillFetching`, and `CannotStart` where the server refuses it.
        """
        workload, digest = plan.key.workload, upload_of(plan.template)
        if not digest:
            return None
        if self._fetch is None or not digest.isalnum():
            raise CannotStart(f"the pod begins in upload {digest}, which this agent cannot fetch")
        path = self._directory / digest
        with self._lock:
            refused = self._refused.pop((workload, digest), "")
            if refused:
                raise CannotStart(f"upload {digest}: {refused}")
            if digest in self._fetching:
                raise StillFetching
            with contextlib.suppress(FileNotFoundError):
                os.utime(path)
                return path
            thread = threading.Thread(
                target=self._get, args=(workload, digest, path), name="upload", daemon=True
            )
            self._fetching[digest] = thread
        self._remove_unused()
        thread.start()
        raise StillFetching

    def close(self) -> None:
        """Waits a little for fetches that are under way; the next start fetches what is missing."""
        with self._lock:
            threads = list(self._fetching.values())
        for thread in threads:
            thread.join(SECONDS_TO_CLOSE)

    def _get(self, workload: str, digest: str, path: Path) -> None:
        refused = ""
        making = path.with_suffix(".new")
        try:
            found = sha256()
            with making.open("wb") as archive:
                assert self._fetch is not None
                for piece in self._fetch(workload, digest):
                    found.update(piece)
                    archive.write(piece)
            if found.hexdigest() == digest:
                making.rename(path)
            else:
                refused = "the server sent other content"
        except ServerProblem as failure:
            if failure.problem.status not in RETRIED_STATUSES:
                refused = str(failure)
        except httpx.TransportError:
            pass  # the server is away: the next call fetches again
        except OSError as failure:
            refused = f"{failure.strerror or failure} on this host"
        finally:
            making.unlink(missing_ok=True)
            with self._lock:
                del self._fetching[digest]
                if refused:
                    self._refused[workload, digest] = refused
        if refused or path.exists():
            self._wake()

    def _remove_unused(self) -> None:
        """Pods have their own copies, so that an archive may go at any time."""
        before = wall_clock() / MICROSECONDS_PER_SECOND - UNUSED_SECONDS
        for path in self._directory.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if path.suffix != ".new" and path.stat().st_mtime < before:
                    path.unlink()


def extract(archive: Path, directory: Path, account: Account | None) -> None:
    """Extracts an archive for a pod, which owns all of it. Raises `CannotStart`.

    Links and names that leave the directory, devices and special bits are refused or left out by
    the filter `data` of `tarfile`.
    """
    expanded = 0

    def checked(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo | None:
        nonlocal expanded
        expanded += member.size
        if expanded > MAX_EXPANDED_BYTES:
            raise CannotStart(f"upload: more than {MAX_EXPANDED_BYTES} bytes when extracted")
        return tarfile.data_filter(member, target)

    try:
        with tarfile.open(archive, mode="r:gz") as members:
            members.extractall(directory, filter=checked)  # noqa: S202 - by the filter `data`
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise CannotStart(f"upload: {error}") from error
    if account is None:
        return
    for parent, directories, names in os.walk(directory):
        for name in (*directories, *names):
            os.lchown(Path(parent) / name, account.user_id, account.group_id)
