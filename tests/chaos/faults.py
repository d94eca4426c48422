"""The faults, and the order in which they come."""

import os
import signal
from collections.abc import Callable

import redis

from headgate.adapters.system.clocks_and_randomness import seeded
from headgate.embedded.servers import socket_path
from tests.processes.programs import wait_until
from tests.processes.up import Up

Fault = Callable[[Up], str]

SECONDS_TO_COME_BACK = 90.0


def kill_a_worker(name: str) -> Fault:
    """Kill -9 of one of the deciding workers, as soon as it runs."""

    def kill(up: Up) -> str:
        wait_until(lambda: _is_killed(up.pid_of(name)), f"{name} runs", SECONDS_TO_COME_BACK)
        return f"{name} killed"

    return kill


def _is_killed(pid: int) -> bool:
    """Whether there was such a process to kill; the one last killed may still be on record."""
    if not pid:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def flush_the_broker(up: Up) -> str:
    """Every nudge on its way is lost."""
    with redis.Redis(unix_socket_path=str(socket_path(up.data / "broker"))) as client:
        client.flushall()
    return "broker emptied"


def restart_the_database(up: Up) -> str:
    """An immediate stop, as in a crash of the machine; `headgate up` starts it again."""
    pid_file = up.data / "postgres" / "data" / "postmaster.pid"
    before = pid_file.read_text().splitlines()[0]
    os.kill(int(before), signal.SIGQUIT)

    def is_another() -> bool:
        return pid_file.exists() and pid_file.read_text().splitlines()[0] != before

    wait_until(is_another, "the database is back", SECONDS_TO_COME_BACK)
    return "database stopped at once and started again"


def fault_sequence(kills: int, flushes: int, restarts: int, seed: int) -> list[Fault]:
    """All the faults in an order that the seed decides."""
    workers = [kill_a_worker(f"worker-{1 + number % 2}") for number in range(kills)]
    faults = [*workers, *[flush_the_broker] * flushes, *[restart_the_database] * restarts]
    seeded("chaos", seed).shuffle(faults)
    return faults
