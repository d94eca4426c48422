"""Isolation of a pod's processes, by the best means that the host has.

`cgroup2`: limits and an atomic kill by cgroups of version 2. `hybrid`: the kill by version 2, and
limits by version 1. `process-group`: a subreaper finds all descendants, and rlimits bound memory.
"""

import contextlib
import ctypes
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from headgate.executor.substrates.agent.run_directory import CgroupLayout, Limits

Level = Literal["cgroup2", "hybrid", "process-group"]

CONTROLLERS = ("cpu", "memory", "pids")
PARENT = "headgate-pods"
AGENT_LEAF = "headgate-agent"
CPU_PERIOD_MICROSECONDS = 100_000
MIN_WEIGHT, MAX_WEIGHT = 1, 10_000
MIN_SHARES, MAX_SHARES = 2, 262_144
SECONDS_BETWEEN_KILLS = 0.002
SECONDS_UNTIL_GIVEN_UP = 30.0
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36


def set_subreaper() -> None:
    """Makes this process the parent of all its orphaned descendants."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def hide_memory() -> None:
    """Keeps processes of this account from reading this one's memory and environment."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def level_of(layout: CgroupLayout) -> Level:
    """Returns the level of isolation that a layout gives."""
    if not layout.unified:
        return "process-group"
    return "cgroup2" if layout.has_controllers else "hybrid"


class HostCgroups(msgspec.Struct, frozen=True, kw_only=True):
    """Where cgroups are mounted, and where this process stands in them; empty if nowhere."""

    unified: str = ""
    by_controller: dict[str, str] = {}


def find_cgroups(mounts: str, membership: str) -> HostCgroups:
    """Returns the cgroups of a process from /proc/self/mountinfo and /proc/self/cgroup."""
    paths = [tuple(line.split(":", 2)) for line in membership.splitlines()]
    unified_path = next((path for number, names, path in paths if number == "0"), "/")
    version_1 = {name: path for _, names, path in paths for name in names.split(",") if name}
    unified, by_controller = "", {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        kind = after.split()
        _, _, _, root, point, *_ = before.split()
        if kind[0] == "cgroup2":
            unified = _below(point, root, unified_path)
        elif kind[0] == "cgroup":
            for name in set(kind[-1].split(",")) & set(CONTROLLERS):
                by_controller[name] = _below(point, root, version_1.get(name, "/"))
    return HostCgroups(unified=unified, by_controller=by_controller)


def _below(point: str, root: str, path: str) -> str:
    inside = path.removeprefix(root) if root != "/" else path
    return str(Path(point) / inside.lstrip("/"))


def own_cgroups() -> HostCgroups:
    """Returns the cgroups of this process."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text()
        return find_cgroups(mounts, Path("/proc/self/cgroup").read_text())
    except OSError:
        return HostCgroups()


def prepare_cgroups(host: HostCgroups, name: str) -> CgroupLayout:
    """Creates the parent cgroups of pods and returns the best layout that really works.

    `name` is the executor's.
    """
    name = "".join(each if each.isalnum() or each in "-." else "_" for each in name)
    unified = _prepare_unified(host.unified, name)
    if not unified:
        return CgroupLayout()
    parent = Path(unified)
    if _enable_controllers(parent):
        return CgroupLayout(unified=unified, has_controllers=True)
    by_controller = {}
    for controller, path in sorted(host.by_controller.items()):
        made = Path(path) / f"{PARENT}-{name}"
        with contextlib.suppress(OSError):
            made.mkdir(exist_ok=True)
            by_controller[controller] = str(made)
    return CgroupLayout(unified=unified, by_controller=by_controller)


def _prepare_unified(path: str, name: str) -> str:
    """Returns a new parent of cgroups that can be killed as one; empty where that is refused."""
    if not path:
        return ""
    own = Path(path)
    if own.name == AGENT_LEAF:
        own = own.parent
    parent = own / f"{PARENT}-{name}"
    try:
        parent.mkdir(exist_ok=True)
        _leave_for_leaf(own)
        probe = parent / "probe"
        probe.mkdir(exist_ok=True)
        works = (probe / "cgroup.kill").exists()
        with contextlib.suppress(OSError):
            probe.rmdir()
    except OSError:
        return ""
    return str(parent) if works else ""


def _leave_for_leaf(own: Path) -> None:
    """Moves this process below its cgroup, which may then pass controllers on to children.

    The root of a hierarchy may do so with processes of its own, and has no `cgroup.type`.
    """
    if not (own / "cgroup.type").exists():
        return
    leaf = own / AGENT_LEAF
    with contextlib.suppress(OSError):
        leaf.mkdir(exist_ok=True)
        (leaf / "cgroup.procs").write_text(str(os.getpid()))


def _enable_controllers(parent: Path) -> bool:
    """Whether the children of `parent` have CPU, memory and process limits from now on."""
    wanted = " ".join(f"+{each}" for each in CONTROLLERS)
    for cgroup in (parent.parent, parent):
        try:
            (cgroup / "cgroup.subtree_control").write_text(wanted)
        except OSError:
            return False
        enabled = (cgroup / "cgroup.subtree_control").read_text().replace("+", "").split()
        if not set(CONTROLLERS) <= set(enabled):
            return False
    return True


class PodCgroups:
    """The cgroups of one pod; without any, its processes are the descendants of its shim."""

    def __init__(self, layout: CgroupLayout, name: str) -> None:
        self._layout = layout
        self._unified = Path(layout.unified) / name if layout.unified else None
        self._limited = {
            controller: Path(parent) / name for controller, parent in layout.by_controller.items()
        }
        if self._unified and layout.has_controllers:
            self._limited = dict.fromkeys(CONTROLLERS, self._unified)

    def create(self, limits: Limits) -> None:
        """Creates them with their limits. Raises `OSError` where the host refuses."""
        for path in self._all():
            path.mkdir(exist_ok=True)
        for name, value in self._settings(limits):
            name.write_text(value)

    def join(self) -> None:
        """Moves this process into them, with all that it starts from now on."""
        for path in self._all():
            (path / "cgroup.procs").write_text("0")

    def limit_process(self, limits: Limits) -> None:
        """Limits this process by rlimits where no cgroup limits its memory."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if limits.memory_bytes and "memory" not in self._limited:
            resource.setrlimit(resource.RLIMIT_DATA, (limits.memory_bytes, limits.memory_bytes))

    def out_of_memory_kills(self) -> int:
        """Processes of the pod that the kernel has killed for want of memory."""
        path = self._limited.get("memory")
        if path is None:
            return 0
        name = "memory.events" if self._layout.has_controllers else "memory.oom_control"
        return _counter(path / name, "oom_kill")

    def kill(self, reap: Callable[[], object]) -> bool:
        """Kills every process of the pod; returns whether none is left.

        `setsid` and double forks do not escape: the kernel kills a cgroup as one, and below a
        subreaper each orphan is a child of this process again, which `reap` waits for.
        """
        give_up_at = time.monotonic() + SECONDS_UNTIL_GIVEN_UP
        while time.monotonic() < give_up_at:
            if self._unified is None:
                kill_descendants(os.getpid())
            else:
                with contextlib.suppress(OSError):
                    (self._unified / "cgroup.kill").write_text("1")
            reap()
            if self.is_empty():
                return True
            time.sleep(SECONDS_BETWEEN_KILLS)
        return False

    def kill_as_one(self) -> bool:
        """Kills every process of the pod; returns False where only its shim could find them."""
        return self._unified is not None and self.kill(lambda: None)

    def is_empty(self) -> bool:
        """Whether no process of the pod lives."""
        if self._unified is None:
            return not descendants(os.getpid())
        return _counter(self._unified / "cgroup.events", "populated") == 0

    def remove(self) -> None:
        """Removes the empty cgroups."""
        for path in self._all():
            with contextlib.suppress(OSError):
                path.rmdir()

    def _all(self) -> list[Path]:
        paths = [*self._limited.values(), *([self._unified] if self._unified else [])]
        return list(dict.fromkeys(paths))

    def _settings(self, limits: Limits) -> Iterator[tuple[Path, str]]:
        is_version_2 = self._layout.has_controllers
        for controller, path in self._limited.items():
            match controller:
                case "memory" if limits.memory_bytes:
                    name = "memory.max" if is_version_2 else "memory.limit_in_bytes"
                    yield path / name, str(limits.memory_bytes)
                    if is_version_2 and (path / "memory.swap.max").exists():
                        yield path / "memory.swap.max", "0"
                case "pids" if limits.processes:
                    yield path / "pids.max", str(limits.processes)
                case "cpu":
                    yield from _cpu_settings(path, limits, is_version_2=is_version_2)
                case _:
                    continue


def _cpu_settings(path: Path, limits: Limits, *, is_version_2: bool) -> Iterator[tuple[Path, str]]:
    """The quota of a limit, and the weight of a request (Kubernetes: CPU shares to weight)."""
    if limits.cpu_milli:
        quota = limits.cpu_milli * CPU_PERIOD_MICROSECONDS // 1000
        if is_version_2:
            yield path / "cpu.max", f"{quota} {CPU_PERIOD_MICROSECONDS}"
        else:
            yield path / "cpu.cfs_period_us", str(CPU_PERIOD_MICROSECONDS)
            yield path / "cpu.cfs_quota_us", str(quota)
    if limits.cpu_request_milli:
        shares = min(MAX_SHARES, max(MIN_SHARES, limits.cpu_request_milli * 1024 // 1000))
        if is_version_2:
            weight = 1 + (shares - MIN_SHARES) * (MAX_WEIGHT - MIN_WEIGHT) // (
                MAX_SHARES - MIN_SHARES
            )
            yield path / "cpu.weight", str(weight)
        else:
            yield path / "cpu.shares", str(shares)


def _counter(path: Path, name: str) -> int:
    """Returns a number of a file of `name value` lines; 0 without it."""
    with contextlib.suppress(OSError):
        for line in path.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0


def descendants(root: int) -> list[int]:
    """Returns the living descendants of a process, children before grandchildren."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(root, ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def kill_descendants(root: int) -> None:
    """Kills all descendants; they are stopped first, so that none forks on meanwhile."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in descendants(root):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _parents() -> Iterator[tuple[int, int]]:
    """Returns each living process with its parent."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are all that is wanted
        if not name.isdigit():
            continue
        try:
            stat = Path(f"/proc/{name}/stat").read_text()
        except OSError:
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]
        if state not in {"Z", "X"}:
            yield int(name), int(parent)


def kill_abandoned(cgroups: PodCgroups, mark: bytes) -> None:
    """Kills what a killed shim has left: its cgroup, or all with a text in their environment."""
    if not cgroups.kill_as_one():
        _kill_marked(mark)
    cgroups.remove()


def _kill_marked(mark: bytes) -> None:
    give_up_at = time.monotonic() + SECONDS_UNTIL_GIVEN_UP
    while time.monotonic() < give_up_at:
        found = [pid for pid, _ in _parents() if mark in _environment(pid)]
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(SECONDS_BETWEEN_KILLS)


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
