"""What pods begin in, fetched to their host before they start: uploads, and images by podman."""

import contextlib
import importlib
import os
import re
import shutil
import subprocess
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, wall_clock
from headgate.client.transport import ServerProblem
from headgate.domain.values.capabilities import upload_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.executor.substrate import CannotStart, Object, PodPlan
from headgate.executor.substrates.agent.run_directory import (
    ROOT_ACCOUNT,
    Account,
    Image,
    StartsLater,
)

# Python 3.11.4 is the first with filters of what archives may do.
_FILTERING = "tarfile" if hasattr(tarfile, "data_filter") else "backports.tarfile"

MAX_EXPANDED_BYTES = 16 << 30
UPLOADS = "uploads"
SECONDS_TO_CLOSE = 5.0
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
UNUSED_SECONDS = 24 * 3600.0

SECONDS_OF_A_PULL = 3600.0
SECONDS_OF_A_LOOK = 60.0
IMAGE_SECONDS = 60.0
"""How long a name stands for the same image without another look at what podman has."""
_IMAGE_NAME = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?::[0-9]+)?(?:/[a-z0-9][a-z0-9._-]*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
"""Names of images in registries, and no option or other source that podman reads as root."""

Fetch = Callable[[str, str], Iterator[bytes]]
"""Gives the archive of a workload (`namespace/name`) and digest in pieces."""


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

        Raises `StartsLater`, and `CannotStart` where the server refuses it.
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
                raise StartsLater
            with contextlib.suppress(FileNotFoundError):
                os.utime(path)
                return path
            thread = threading.Thread(
                target=self._get, args=(workload, digest, path), name="upload", daemon=True
            )
            self._fetching[digest] = thread
        self._remove_unused()
        thread.start()
        raise StartsLater

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
    filtering = importlib.import_module(_FILTERING)

    def checked(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo | None:
        nonlocal expanded
        expanded += member.size
        if expanded > MAX_EXPANDED_BYTES:
            raise CannotStart(f"upload: more than {MAX_EXPANDED_BYTES} bytes when extracted")
        allowed: tarfile.TarInfo | None = filtering.data_filter(member, target)
        return allowed

    try:
        with filtering.open(archive, mode="r:gz") as members:
            members.extractall(directory, filter=checked)  # noqa: S202 - by the filter `data`
    except (filtering.TarError, EOFError, zlib.error) as error:
        raise CannotStart(f"upload: {error}") from error
    if account is None:
        return
    for parent, directories, names in os.walk(directory):
        for name in (*directories, *names):
            os.lchown(Path(parent) / name, account.user_id, account.group_id)


def find_podman() -> str:
    """Returns the path of podman where it works and pods can be given images; else nothing.

    Only root can mount an image for pods that have no namespace of users of their own.
    """
    path = shutil.which("podman") if os.geteuid() == ROOT_ACCOUNT else None
    if path is None:
        return ""
    try:
        _podman(path, "info", "--format", "{{.Store.GraphDriverName}}")
    except (_PodmanFailed, OSError):
        return ""
    return path


class _PodmanFailed(Exception):
    """What podman said of a command that failed."""


class _ImageConfig(msgspec.Struct, frozen=True, rename="pascal"):
    """The configuration of an image by its specification (OCI image-spec: config.md)."""

    entrypoint: list[str] | None = None
    cmd: list[str] | None = None
    env: list[str] | None = None
    working_dir: str = ""


class _Inspected(msgspec.Struct, frozen=True, rename="pascal"):
    id: str
    config: _ImageConfig = _ImageConfig()


class _KnownImage(msgspec.Struct, frozen=True, kw_only=True):
    image: Image
    looked_at: float


class PodImages:
    """The images of a host, which podman pulls, keeps and mounts. `wake` is called after each look.

    What runs in one is the child of a shim, as in pods without an image: podman runs nothing.
    """

    def __init__(self, podman: str, wake: Callable[[], None]) -> None:
        self._podman = podman
        self._wake = wake
        self._lock = threading.Lock()
        self._fetching: set[str] = set()
        self._refused: dict[str, str] = {}
        self._known: dict[str, _KnownImage] = {}
        self._roots: dict[str, str] = {}

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What pods may need that this honours: without podman, nothing."""
        return ("image",) if self._podman else ()

    def image_for(self, plan: PodPlan) -> Image | None:
        """Returns the image of a pod, mounted; None where it has none, or where podman is missing.

        Raises `StartsLater`, and `CannotStart` where podman does not get it. It is pulled where
        the host has none of its name, and with `imagePullPolicy: Always` for each run.
        """
        name, policy = _image_of(plan.template)
        if not name or not self._podman:
            return None
        if not _IMAGE_NAME.fullmatch(name):
            raise CannotStart(f"image {name}: this is no name of an image in a registry")
        key = f"{name} {plan.key.name}" if policy == "Always" else name
        with self._lock:
            refused = self._refused.pop(key, "")
            if refused:
                raise CannotStart(f"image {name}: {refused}")
            known = self._known.get(key)
            if known is not None and _is_fresh(known):
                if policy == "Always":
                    del self._known[key]
                return known.image
            if key not in self._fetching:
                self._fetching.add(key)
                threading.Thread(
                    target=self._get, args=(key, name, policy), name="image", daemon=True
                ).start()
        raise StartsLater

    def _get(self, key: str, name: str, policy: str) -> None:
        found, refused = None, ""
        try:
            found = self._look(name, policy)
        except _PodmanFailed as failure:
            refused = str(failure)
        except (OSError, msgspec.DecodeError) as failure:
            refused = f"podman: {failure}"
        finally:
            with self._lock:
                self._fetching.discard(key)
                if found is not None:
                    self._known[key] = found
                else:
                    self._refused[key] = refused or "podman failed"
        self._wake()

    def _look(self, name: str, policy: str) -> _KnownImage:
        has = policy != "Always" and self._has(name)
        if not has and policy == "Never":
            raise _PodmanFailed("this host has none of this name (imagePullPolicy: Never)")
        if not has:
            # The prefix keeps podman from reading a name as a file of the host.
            _podman(self._podman, "pull", "--quiet", f"docker://{name}", seconds=SECONDS_OF_A_PULL)
        told = _podman(self._podman, "image", "inspect", name)
        [inspected] = msgspec.json.decode(told, type=list[_Inspected])
        root = self._roots.get(inspected.id, "")
        if not _is_mounted(root):
            # Podman counts mounts, so that an image is mounted once and stays so.
            root = _podman(self._podman, "image", "mount", name).strip()
            self._roots[inspected.id] = root
        config = inspected.config
        return _KnownImage(
            image=Image(
                root=root,
                entrypoint=tuple(config.entrypoint or ()),
                arguments=tuple(config.cmd or ()),
                environment=dict(each.partition("=")[::2] for each in config.env or ()),
                working_directory=config.working_dir,
            ),
            looked_at=elapsed_seconds(),
        )

    def _has(self, name: str) -> bool:
        try:
            _podman(self._podman, "image", "exists", name)
        except _PodmanFailed:
            return False
        return True


def _image_of(template: Object) -> tuple[str, str]:
    """Returns the image of the first container and how it is pulled; empty without one."""
    spec = template.get("spec")
    containers = spec.get("containers") if isinstance(spec, dict) else None
    first = containers[0] if isinstance(containers, list) and containers else None
    if not isinstance(first, dict):
        return "", ""
    return str(first.get("image") or ""), str(first.get("imagePullPolicy") or "IfNotPresent")


def _is_fresh(known: _KnownImage) -> bool:
    return elapsed_seconds() - known.looked_at < IMAGE_SECONDS and _is_mounted(known.image.root)


def _is_mounted(root: str) -> bool:
    """Whether an image is still where podman has mounted it; an unmounted one is empty."""
    if not root:
        return False
    try:
        with os.scandir(root) as entries:
            return any(entries)
    except OSError:
        return False


def _podman(path: str, *arguments: str, seconds: float = SECONDS_OF_A_LOOK) -> str:
    """Returns what podman prints. Raises `_PodmanFailed` with the last line of its errors."""
    try:
        done = subprocess.run(
            (path, *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd="/",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise _PodmanFailed(f"podman {arguments[0]} took more than {seconds:g} s") from late
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise _PodmanFailed(lines[-1].removeprefix("Error: ") if lines else "podman failed")
    return done.stdout
