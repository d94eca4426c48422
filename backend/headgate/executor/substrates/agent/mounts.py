"""The file systems that a pod sees: those of its host, some at other places, or an image."""

import contextlib
import ctypes
import os
import stat
from pathlib import Path

from headgate.executor.substrates.agent.run_directory import Mount, PodRoot

CLONE_NEWNS = 0x0002_0000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 2, 4, 32, 4096
MS_REC, MS_PRIVATE = 16_384, 1 << 18
PROCESSES = "/proc"
SHARED_DIRECTORIES = ("/sys", "/dev")
SHARED_FILES = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
"""What a pod with an image sees of its host, as pods without one do; the files are read-only."""


def enter_mounts(mounts: tuple[Mount, ...], root: PodRoot | None) -> None:
    """Shows directories of the host at other places, to this pod alone, perhaps in an image."""
    if not mounts:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.unshare(CLONE_NEWNS), "mounts")
    _checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mounts")
    if root is None:
        for mount in mounts:
            _bind(libc, mount.source, mount.target, read_only=mount.read_only)
        return
    shared = [Mount(source=path, target=path) for path in SHARED_DIRECTORIES]
    shared += [
        Mount(source=path, target=path, read_only=True)
        for path in SHARED_FILES
        if Path(path).exists()
    ]
    # Paths in an image may be links to anywhere, so that they are followed within it alone.
    opened = [(os.open(each.source, os.O_PATH), each) for each in (*shared, *mounts)]
    _enter_image(libc, root)
    for descriptor, mount in opened:
        _create_target(descriptor, Path(mount.target))
        source = f"/proc/self/fd/{descriptor}"
        _bind(libc, source, mount.target, read_only=mount.read_only)
        os.close(descriptor)


def enter_mounts_of(pid: int) -> None:
    """Gives this process the file systems of the pod with that process, its root included."""
    root = os.open(f"/proc/{pid}/root", os.O_PATH)
    descriptor = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    _checked(ctypes.CDLL(None, use_errno=True).setns(descriptor, 0), "")
    os.close(descriptor)
    os.fchdir(root)
    os.chroot(".")
    os.close(root)


def _enter_image(libc: ctypes.CDLL, root: PodRoot) -> None:
    """Makes an image the root of this process, with the pod's own changes above it."""
    upper, working, merged = root.layers
    options = f"lowerdir={root.image},upperdir={upper},workdir={working}"
    flags = MS_NOSUID | MS_NODEV
    mounted = libc.mount(b"overlay", os.fsencode(merged), b"overlay", flags, options.encode())
    _checked(mounted, "image")
    inside = merged / PROCESSES.lstrip("/")
    with contextlib.suppress(FileExistsError):
        inside.mkdir()
    _bind(libc, PROCESSES, str(inside), read_only=False)
    os.chroot(merged)
    os.chdir("/")


def _create_target(source: int, target: Path) -> None:
    is_directory = stat.S_ISDIR(os.fstat(source).st_mode)
    (target if is_directory else target.parent).mkdir(parents=True, exist_ok=True)
    if not is_directory:
        target.touch()


def _bind(libc: ctypes.CDLL, source: str, target: str, *, read_only: bool) -> None:
    place = os.fsencode(target)
    _checked(libc.mount(os.fsencode(source), place, None, MS_BIND | MS_REC, None), target)
    if read_only:
        flags = MS_BIND | MS_REMOUNT | MS_RDONLY
        _checked(libc.mount(None, place, None, flags, None), target)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
