"""The behavior of simulated pods and hosts: start and run times, and failures."""

from collections.abc import Sequence

import msgspec

from headgate.adapters.system.clocks_and_randomness import seeded
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

RUN_SECONDS = "headgate.dev/run-seconds"
FAILS = "headgate.dev/fails"
NEVER_READY = "headgate.dev/never-ready"
SAVE_SECONDS = "headgate.dev/save-seconds"
MAX_DIGITS = 9


class Behavior(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in microseconds: admission to ready, ready to the end, and eviction to stopped.

    `save_delay` is the duration of a checkpoint before a soft eviction. A workload that fails does
    so in its first `failing_attempts`, None for all.
    """

    start_delay: int
    run_length: int
    stop_delay: int
    save_delay: int = 0
    fails: bool = False
    failing_attempts: int | None = None
    is_never_ready: bool = False


class BehaviorDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Behavior of workloads without annotations of their own; seconds, and rates from 0 to 1."""

    seed: int = 0
    start_seconds: tuple[float, float] = (0.5, 3.0)
    mean_run_seconds: float = 30.0
    stop_seconds: tuple[float, float] = (0.2, 2.0)
    save_seconds: tuple[float, float] = (1.0, 4.0)
    failure_rate: float = 0.0
    never_ready_rate: float = 0.0


def behavior_of(uid: str, annotations: dict[str, str], defaults: BehaviorDefaults) -> Behavior:
    """Returns equal behaviour for an equal uid and seed."""
    chance = seeded(defaults.seed, uid)
    start = chance.uniform(*defaults.start_seconds)
    run = min(chance.expovariate(1.0 / defaults.mean_run_seconds), 10 * defaults.mean_run_seconds)
    stop = chance.uniform(*defaults.stop_seconds)
    fails = chance.random() < defaults.failure_rate
    never_ready = chance.random() < defaults.never_ready_rate
    save = chance.uniform(*defaults.save_seconds)
    failing = _number(annotations.get(FAILS, ""))
    return Behavior(
        start_delay=_microseconds(start),
        run_length=_microseconds(_seconds_of(annotations, RUN_SECONDS, run)),
        stop_delay=_microseconds(stop),
        save_delay=_microseconds(_seconds_of(annotations, SAVE_SECONDS, save)),
        fails=_flag(annotations, FAILS, otherwise=fails) or failing > 0,
        failing_attempts=failing or None,
        is_never_ready=_flag(annotations, NEVER_READY, otherwise=never_ready),
    )


def _seconds_of(annotations: dict[str, str], name: str, otherwise: float) -> float:
    try:
        return max(0.0, float(annotations[name]))
    except (KeyError, ValueError):
        return otherwise


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else 0


def _flag(annotations: dict[str, str], name: str, *, otherwise: bool) -> bool:
    return annotations[name] == "true" if name in annotations else otherwise


def _microseconds(seconds: float) -> int:
    return int(seconds * MICROSECONDS_PER_SECOND)


HOUR = 3_600 * MICROSECONDS_PER_SECOND


class HostChange(msgspec.Struct, frozen=True):
    """A host that fails or returns."""

    node: str
    is_ready: bool


class Outages:
    """Seeded host failures: `per_hour` on average, each for `seconds`."""

    def __init__(self, *, seed: int, per_hour: float, seconds: float) -> None:
        self._chance = seeded(seed, "outages")
        self._per_hour = per_hour
        self._length = int(seconds * MICROSECONDS_PER_SECOND)
        self._next: int | None = None
        self.down: dict[str, int] = {}

    def is_due(self, now: int) -> bool:
        """Returns whether a host failure or return is due; the first call starts the clock."""
        if not self._per_hour:
            return False
        if self._next is None:
            self._next = now + self._pause()
        return self._next <= now or any(back <= now for back in self.down.values())

    def take_due(self, now: int, nodes: Sequence[str]) -> list[HostChange]:
        """Returns the due changes of `nodes`, each once."""
        changes = [
            HostChange(node, is_ready=True)
            for node, back in sorted(self.down.items())
            if back <= now
        ]
        for change in changes:
            del self.down[change.node]
        if self._next is not None and self._next <= now:
            self._next = now + self._pause()
            candidates = sorted(node for node in nodes if node not in self.down)
            if candidates:
                node = candidates[self._chance.randrange(len(candidates))]
                self.down[node] = now + self._length
                changes.append(HostChange(node, is_ready=False))
        return changes

    def end(self) -> list[HostChange]:
        """Returns the changes that restore all failed hosts."""
        changes = [HostChange(node, is_ready=True) for node in sorted(self.down)]
        self.down.clear()
        return changes

    def _pause(self) -> int:
        return int(self._chance.expovariate(self._per_hour / HOUR))
