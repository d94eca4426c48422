"""The openb trace as it lies in its two files: hosts and pods of a real GPU cluster."""

import csv
from pathlib import Path

import msgspec

from headgate.adapters.system.chance import seeded
from headgate.cli.exit_codes import ExitCode
from headgate.cli.failures import CommandFailed

WHOLE_GPU_MILLI = 1_000
SECONDS_BETWEEN_ARRIVALS = 10
MEAN_RUN_SECONDS = 6 * 3_600
"""For files without times: together they ask for about as much as the whole cluster has."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """One machine; `model` is empty where it has no GPU."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str


class TracePod(msgspec.Struct, frozen=True, kw_only=True):
    """One task; times in seconds of the trace, `models` are the GPU models it may run on."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpu_milli: int
    models: tuple[str, ...]
    quality: str
    created_at: int
    run_seconds: int


def read_hosts(path: Path) -> list[Host]:
    """The hosts in file order."""
    return [
        Host(
            name=row["sn"],
            cpu_milli=int(row["cpu_milli"]),
            memory_mib=int(row["memory_mib"]),
            gpus=int(row["gpu"] or 0),
            model=row["model"],
        )
        for row in _rows(path, {"sn", "cpu_milli", "memory_mib", "gpu", "model"})
    ]


def read_pods(path: Path) -> list[TracePod]:
    """The pods in order of creation, those of one second in file order."""
    needed = {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}
    rows = _rows(path, needed)
    if rows and "creation_time" not in rows[0]:
        rows = _timed(rows)
    return sorted((_pod(row) for row in rows), key=lambda pod: pod.created_at)


def gpu_share(num_gpu: int, gpu_milli: int) -> int:
    """Thousandths of GPUs: whole ones for several, the share for one, none for none."""
    if num_gpu == 1:
        return gpu_milli
    return num_gpu * WHOLE_GPU_MILLI


def _timed(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same rows with times, for files that have none: steady arrivals, scattered lengths."""
    timed: list[dict[str, str]] = []
    for index, row in enumerate(rows):
        created_at = index * SECONDS_BETWEEN_ARRIVALS
        length = seeded(row["name"]).expovariate(1 / MEAN_RUN_SECONDS)
        told = {"creation_time": str(created_at), "deletion_time": str(created_at + int(length))}
        timed.append({**row, **told})
    return timed


def _pod(row: dict[str, str]) -> TracePod:
    created_at = _seconds(row["creation_time"])
    started_at = _seconds(row.get("scheduled_time", "")) or created_at
    deleted_at = _seconds(row.get("deletion_time", "")) or started_at
    return TracePod(
        name=row["name"],
        cpu_milli=int(row["cpu_milli"]),
        memory_mib=int(row["memory_mib"]),
        gpu_milli=gpu_share(int(row["num_gpu"] or 0), int(row["gpu_milli"] or 0)),
        models=tuple(dict.fromkeys(word for word in row.get("gpu_spec", "").split("|") if word)),
        quality=row.get("qos", "") or "BE",
        created_at=created_at,
        run_seconds=max(0, deleted_at - started_at),
    )


def _seconds(text: str) -> int:
    return int(float(text)) if text else 0


def _rows(path: Path, needed: set[str]) -> list[dict[str, str]]:
    if not path.is_file():
        raise CommandFailed(f"there is no file {path}", code=ExitCode.USAGE)
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        missing = needed - set(reader.fieldnames or ())
        if missing:
            raise CommandFailed(
                f"{path} lacks the columns {', '.join(sorted(missing))}", code=ExitCode.USAGE
            )
        return list(reader)
