"""A thread that runs its turn repeatedly, and at once when it is woken."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from headgate.application.ports import Unavailable

MIN_RETRY_SECONDS = 0.2
MAX_RETRY_SECONDS = 5.0

log = structlog.get_logger()

Turn = Callable[[frozenset[str]], float]


@dataclass(frozen=True, slots=True)
class TickerCallbacks:
    """Callbacks of a ticker: `alive` at every turn and step, `broken` after a failure ended it."""

    alive: Callable[[], None]
    broken: Callable[[], None]


class Ticker:
    """Owns all state that its `turn` touches; no other thread of the process uses it (ADR 0009).

    A turn gets the keys it was woken with and returns the seconds until the next. During an outage
    it is retried with growing pauses, which only `stop` cuts short; every other failure ends the
    ticker.
    """

    def __init__(self, name: str, turn: Turn, callbacks: TickerCallbacks) -> None:
        self._turn = turn
        self._callbacks = callbacks
        self._name = name
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._woken_keys: set[str] = set()
        self._stopping = threading.Event()

    def start(self) -> None:
        """Starts the thread; the first turn follows at once."""
        self._thread.start()

    def wake(self, *keys: str) -> None:
        """Starts the next turn now, with these among its keys; any thread may call it."""
        with self._lock:
            self._woken_keys.update(keys)
        self._woken.set()

    def is_stopping(self) -> bool:
        """Whether the turn under way should end at the next whole step.

        A turn asks at each step, so that each is a sign of life.
        """
        self._callbacks.alive()
        return self._stopping.is_set()

    def stop(self, timeout_seconds: float) -> bool:
        """Makes the current turn the last; returns whether it ended within the timeout."""
        self._stopping.set()
        self._woken.set()
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._rest(self._turn_with_retries())
        except BaseException:  # noqa: BLE001 - a process without its ticker must end
            try:
                log.exception("ticker failed", ticker=self._name)
            finally:
                self._callbacks.broken()

    def _turn_with_retries(self) -> float:
        wait = MIN_RETRY_SECONDS
        while not self._stopping.is_set():
            self._callbacks.alive()
            try:
                return self._turn(self._take())
            except Unavailable as outage:
                log.warning("database unavailable, retrying", ticker=self._name, outage=str(outage))
                self._stopping.wait(wait)
                wait = min(wait * 2, MAX_RETRY_SECONDS)
        return 0.0

    def _take(self) -> frozenset[str]:
        # Cleared before it is read: what is asked for during the turn is for the next one.
        self._woken.clear()
        with self._lock:
            taken, self._woken_keys = self._woken_keys, set()
            return frozenset(taken)

    def _rest(self, seconds: float) -> None:
        # A turn that began as `stop` was called has taken its wake-up.
        if seconds > 0 and not self._stopping.is_set():
            self._woken.wait(seconds)
