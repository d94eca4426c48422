"""A process of its own that asks `/healthz`, so that no other work of the client delays it."""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from http import HTTPStatus
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil

ANSWER_SECONDS = 60.0
INTERVAL_SECONDS = 0.01
NANOSECONDS = 1_000_000_000


class HealthAnswer(NamedTuple):
    """How long an answer took, and how long without what the machine's other work took of it.

    That is what the threads of asker and server stood in the kernel's queue for a processor. As
    they may have stood there at the same time, the second is the least that the server itself took.
    """

    seconds: float
    own_seconds: float


def ask_health(url: str, channel: Connection, server: int) -> None:
    """Asks `/healthz` until it is told to end; sends the answers of a server by its process id."""
    with httpx.Client(base_url=url, timeout=ANSWER_SECONDS) as client:
        _ask(lambda: client.get("/healthz").raise_for_status(), channel, server)


def ask_health_anew(url: str, channel: Connection, server: int) -> None:
    """As `ask_health`, on a connection of its own each time."""
    address = httpx.URL(url)

    def ask() -> None:
        fresh = HTTPConnection(address.host, address.port, timeout=ANSWER_SECONDS)
        with closing(fresh):
            fresh.request("GET", "/healthz")
            answer = fresh.getresponse()
            answer.read()
            assert answer.status == HTTPStatus.OK

    _ask(ask, channel, server)


def _ask(ask: Callable[[], object], channel: Connection, server: int) -> None:
    served_by = psutil.Process(server)
    processes = [os.getpid(), *(found.pid for found in (served_by, *served_by.children(True)))]
    answers = []
    ask()
    channel.send("ready")
    while not channel.poll(INTERVAL_SECONDS):
        queued, before = _queued_seconds(processes), time.monotonic()
        ask()
        seconds = time.monotonic() - before
        waited = _queued_seconds(processes) - queued
        answers.append(HealthAnswer(seconds, max(0.0, seconds - waited)))
    channel.send(answers)


def spread(seconds: Iterable[float]) -> str:
    """The median, the 99th percentile and the slowest, as text in milliseconds."""
    ordered = sorted(seconds)
    found = {"median": 0.5, "p99": 0.99, "slowest": 1.0}
    return ", ".join(f"{name} {_ms(ordered, share)}" for name, share in found.items())


def _ms(ordered: list[float], share: float) -> str:
    index = min(int(len(ordered) * share), len(ordered) - 1)
    return f"{ordered[index] * 1000:.0f} ms"


def _queued_seconds(processes: Iterable[int]) -> float:
    """How long all threads of some processes have waited for a processor; 0 where Linux is not."""
    total = 0
    for process in processes:
        for told in Path(f"/proc/{process}/task").glob("*/schedstat"):
            with suppress(OSError):
                total += int(told.read_bytes().split()[1])
    return total / NANOSECONDS
