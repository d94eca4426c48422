"""A thread that does its turn again and again, and sooner when it is woken."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from headgate.application.ports import Unavailable

FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 5.0

log = structlog.get_logger()

Turn = Callable[[frozenset[str]], float]


@dataclass(frozen=True, slots=True)
class Signs:
    """Whom a ticker tells of itself: `alive` at every turn, `broken` when a failure ended it."""

    alive: Callable[[], None]
    broken: Callable[[], None]


class Ticker:
    """Owns everything its `turn` touches: nothing else in the process may (ADR 0009).

    A turn gets what was asked for since the last one and answers with the seconds to rest. An
    outage is waited out with growing pauses; any other failure ends the ticker.
    """

    def __init__(self, name: str, turn: Turn, signs: Signs) -> None:
        self._turn = turn
        self._signs = signs
        self._name = name
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._asked_for: set[str] = set()
        self._is_stopping = False

    def start(self) -> None:
        """Begin; the first turn comes at once."""
        self._thread.start()

    def wake(self, key: str) -> None:
        """Let the next turn come now, with `key` among what was asked for; any thread may."""
        with self._lock:
            self._asked_for.add(key)
        self._woken.set()

    def is_stopping(self) -> bool:
        """Whether the turn under way should end at the next whole step."""
        return self._is_stopping

    def stop(self, timeout_seconds: float) -> bool:
        """Let the turn under way be the last; whether it ended within that time."""
        self._is_stopping = True
        self._woken.set()
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                self._rest(self._turn_through_outages())
        except Exception:
            log.exception("stopped by a failure", ticker=self._name)
            self._signs.broken()

    def _turn_through_outages(self) -> float:
        wait = FIRST_WAIT_SECONDS
        while not self._is_stopping:
            self._signs.alive()
            try:
                return self._turn(self._take())
            except Unavailable as outage:
                log.warning("waiting for the database", ticker=self._name, outage=str(outage))
                self._rest(wait)
                wait = min(wait * 2, LONGEST_WAIT_SECONDS)
        return 0.0

    def _take(self) -> frozenset[str]:
        # Cleared before it is read: what is asked for during the turn is for the next one.
        self._woken.clear()
        with self._lock:
            taken, self._asked_for = self._asked_for, set()
            return frozenset(taken)

    def _rest(self, seconds: float) -> None:
        if seconds > 0:
            self._woken.wait(seconds)
