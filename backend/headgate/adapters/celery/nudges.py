"""Nudges as Celery messages, published by one thread of their own so that no caller ever waits."""

import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import structlog
from celery import Celery

from headgate.adapters.celery.application import EVALUATE_TASK, NUDGE_LIFE_SECONDS

GAP_SECONDS = 0.01
SILENCE_SECONDS = 1.0

log = structlog.get_logger()


class CeleryNudges:
    """Gathers what is asked for while a message is under way, and sends each partition once.

    A broker that cannot be reached costs the callers nothing: what is asked for meanwhile is
    dropped, as the workers' tickers find it by themselves.
    """

    def __init__(self, celery: Celery) -> None:
        self._celery = celery
        self._sender = ThreadPoolExecutor(max_workers=1, thread_name_prefix="nudges")
        self._lock = threading.Lock()
        self._waiting: set[str] = set()
        self._is_sending = False
        self._is_reachable = True

    def nudge(self, partitions: Iterable[str]) -> None:
        """Ask workers to look at these partitions soon."""
        with self._lock:
            self._waiting.update(partitions)
            if self._is_sending or not self._waiting:
                return
            self._is_sending = True
        # A process on its way out takes no more work; the ticker of any worker does.
        with suppress(RuntimeError):
            self._sender.submit(self._send_all)

    def close(self) -> None:
        """Send nothing more."""
        self._sender.shutdown(wait=False, cancel_futures=True)

    def _send_all(self) -> None:
        while batch := self._next_batch():
            reached = self._send(batch)
            self._say(reached=reached)
            time.sleep(GAP_SECONDS if reached else SILENCE_SECONDS)

    def _next_batch(self) -> list[str]:
        with self._lock:
            batch, self._waiting = sorted(self._waiting), set()
            self._is_sending = bool(batch)
            return batch

    def _send(self, partitions: list[str]) -> bool:
        try:
            for partition in partitions:
                self._celery.send_task(
                    EVALUATE_TASK, args=(partition,), expires=NUDGE_LIFE_SECONDS, ignore_result=True
                )
        except self._celery.connection_for_write().recoverable_connection_errors:
            return False
        except Exception as failure:  # noqa: BLE001 - whatever a broker does, the log is the truth
            log.warning("a nudge failed", failure=repr(failure))
            return False
        return True

    def _say(self, *, reached: bool) -> None:
        if reached != self._is_reachable:
            log.warning("broker reached again" if reached else "broker out of reach; tickers go on")
            self._is_reachable = reached
