"""A virtual clock with skew, messages that are lost, doubled or late, processes that crash."""

import heapq
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Protocol

from tests.simulation.cells.leases import SKEW

LATENCY = 20
"""Milliseconds of a message without faults."""
MAX_LATE = 20_000


class Crash(BaseException):
    """The process is gone; nothing of it may continue, so that no handler may catch this."""


class Process(Protocol):
    """What receives messages; what it does not write is lost when it restarts."""

    name: str

    def restart(self) -> None:
        """Begins again from what was written."""

    def handle(self, message: object) -> None:
        """Takes one message."""

    def step(self) -> None:
        """Does what is due."""


class Network:
    """Runs what is due in the order of the virtual clock; equal seeds give equal runs.

    Each link and process draws from a sequence of its own, so that a fault in one place changes
    nothing elsewhere by chance alone. `loss` is the chance of each fault of a message, `crashes`
    that of a crash at each point of a commit; `steady` are
    processes that do not crash; `touched` those that have worked since the last check.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now = 0
        self.loss = 0.0
        self.crashes = 0.0
        self.faults = Counter[str]()
        self.processes: dict[str, Process] = {}
        self.down: dict[str, int] = {}
        self.steady: set[str] = set()
        self.up_since: dict[str, int] = {}
        self.touched: set[str] = set()
        self._due: list[tuple[int, str, int, Callable[[], None]]] = []
        self._planned: dict[str, int] = {}
        self._count = 0
        self._randoms: dict[str, Random] = {}
        self._offsets: dict[str, int] = {}

    def random(self, name: str) -> Random:
        """The sequence of a link, process or source of work."""
        if name not in self._randoms:
            self._randoms[name] = Random(f"{self.seed}/{name}")
        return self._randoms[name]

    def clock(self, name: str) -> int:
        """What the clock of a process shows; any two differ by at most `SKEW`."""
        if name not in self._offsets:
            self.set_clock(name)
        return self.now + self._offsets[name]

    def set_clock(self, name: str) -> None:
        """Sets the clock of a process to another one of the allowed times, often an extreme."""
        self.touched.add(name)
        random = self.random(f"clock/{name}")
        self._offsets[name] = random.choice((0, SKEW, random.randint(0, SKEW)))

    def at(self, time: int, name: str, work: Callable[[], None]) -> None:
        """Does work at a time; `name` orders what is due at one instant."""
        self._count += 1
        heapq.heappush(self._due, (max(time, self.now), name, self._count, work))

    def wake(self, name: str, time: int) -> None:
        """Lets a process do what is due at a time, unless it does so earlier anyway."""
        planned = self._planned.get(name)
        if planned is None or time < planned:
            self._planned[name] = time
            self.at(time, name, lambda: self._wake(name, time))

    def _wake(self, name: str, time: int) -> None:
        if self._planned.get(name) == time:
            del self._planned[name]
            self.run(name, self.processes[name].step)

    def send(self, sender: str, receiver: str, message: object) -> None:
        """Delivers a message once, never or twice, in time or late."""
        random = self.random(f"{sender}>{receiver}")
        copies = 1
        if random.random() < self.loss:
            copies = random.choice((0, 0, 2))
            self.faults["lost" if copies == 0 else "doubled"] += 1
        for _ in range(copies):
            delay = LATENCY + random.randint(0, LATENCY)
            if random.random() < self.loss:
                delay = random.randint(LATENCY, MAX_LATE)
                self.faults["late"] += 1
            name = f"{sender}>{receiver}"
            self.at(self.now + delay, name, lambda: self._deliver(receiver, message))

    def _deliver(self, receiver: str, message: object) -> None:
        self.run(receiver, lambda: self.processes[receiver].handle(message))

    def maybe_crash(self, name: str) -> None:
        """A point at which a process may be gone."""
        if name in self.steady or not self.crashes:
            return
        if self.random(f"crash/{name}").random() < self.crashes:
            raise Crash

    def stop(self, name: str, milliseconds: int) -> None:
        """A process is away for a while; what it is sent meanwhile is lost."""
        self.down[name] = max(self.down.get(name, 0), self.now + milliseconds)
        self.at(self.down[name], name, lambda: self._start_due(name))

    def _start_due(self, name: str) -> None:
        if self.down.get(name, self.now + 1) <= self.now:
            self.start(name)

    def start(self, name: str) -> None:
        """A process is up again."""
        if self.down.pop(name, None) is not None:
            self.touched.add(name)
            self.up_since[name] = self.now
            self.processes[name].restart()
            self.wake(name, self.now)

    def run(self, name: str, work: Callable[[], None]) -> None:
        """Lets a process work, unless it is down; it may crash at it."""
        if name in self.down:
            return
        self.touched.add(name)
        try:
            work()
        except Crash:
            self.faults["crashed"] += 1
            random = self.random(f"crash/{name}")
            away = random.choice((500, 500, 5_000, 20_000, random.randint(0, 600_000)))
            self.stop(name, away)

    def next_at(self) -> int | None:
        """When the next work is due."""
        return self._due[0][0] if self._due else None

    def advance(self) -> None:
        """Does the next work."""
        self.now, _, _, work = heapq.heappop(self._due)
        work()
