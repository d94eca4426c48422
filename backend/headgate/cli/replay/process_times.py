"""CPU seconds of the processes of a local installation, from what the kernel counts."""

import os
from pathlib import Path

import msgspec

PROCESSES = Path("/proc")
USER_TICKS, SYSTEM_TICKS = 11, 12
PARENT = 1


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A process as `headgate up` notes it."""

    name: str
    pid: int


def cpu_seconds(directory: Path) -> dict[str, float]:
    """Seconds by process name, children counted with their parent; empty where nothing is local."""
    named = _named_processes(directory)
    if not named or not PROCESSES.is_dir():
        return {}
    fields = {int(each.name): _fields(each) for each in PROCESSES.iterdir() if each.name.isdigit()}
    owners = {pid: _owner(pid, named, fields) for pid in fields}
    ticks: dict[str, int] = {}
    for pid, owner in owners.items():
        found = fields[pid]
        if owner and found:
            spent = int(found[USER_TICKS]) + int(found[SYSTEM_TICKS])
            ticks[owner] = ticks.get(owner, 0) + spent
    per_second = os.sysconf("SC_CLK_TCK")
    return {name: round(count / per_second, 2) for name, count in sorted(ticks.items())}


def spent_between(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """What was spent from one reading to the other; a process started anew counts from nothing."""
    return {
        name: round(
            total - before[name] if total >= before.get(name, 0.0) and name in before else total, 2
        )
        for name, total in after.items()
    }


def _named_processes(directory: Path) -> dict[int, str]:
    path = directory / "started.json"
    if not path.is_file():
        return {}
    started = msgspec.json.decode(path.read_bytes(), type=list[Named])
    return {each.pid: each.name for each in started} | _postgres(directory)


def _postgres(directory: Path) -> dict[int, str]:
    """The embedded database, which outlives whoever started it and is noted by itself."""
    path = directory / "postgres" / "data" / "postmaster.pid"
    return {int(path.read_text().splitlines()[0]): "postgres"} if path.is_file() else {}


def _owner(pid: int, named: dict[int, str], fields: dict[int, list[str]]) -> str:
    """The named process this one is, or descends from, the nearest first."""
    while pid > 1:
        if pid in named:
            return named[pid]
        found = fields.get(pid, [])
        if not found:
            return ""
        pid = int(found[PARENT])
    return ""


def _fields(process: Path) -> list[str]:
    """The fields of `stat` after the name, which may hold anything."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
