"""A worker on adapters that a test shares among several."""

import time
from itertools import count

from headgate.application.live_state import LiveState
from headgate.application.run_partition import (
    Budget,
    PartitionRun,
    Scheduler,
    run_partition,
    sweep,
)
from tests.contracts.adapters import Adapters


class CountedIds:
    """Ids that a person can read."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._numbers = count(1)

    def new(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"


class Worker:
    """A scheduler of its own on shared adapters, and what it reported; it has time enough."""

    def __init__(self, adapters: Adapters, name: str = "one", budget: Budget | None = None) -> None:
        self.reported: list[tuple[str, str]] = []
        self.scheduler = Scheduler(
            partitions=adapters.partitions,
            live=LiveState(adapters.log, adapters.state_cache, time.monotonic),
            ids=CountedIds(name),
            owner=name,
            elapsed=time.monotonic,
            report=lambda key, failure: self.reported.append((key, str(failure))),
            budget=budget or Budget(run_seconds=60),
        )

    def turn(self, key: str) -> PartitionRun:
        return run_partition(self.scheduler, key)

    def sweep(self) -> int:
        return sweep(self.scheduler, frozenset(), lambda: False).decisions
