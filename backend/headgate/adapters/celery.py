"""The Celery application, and nudges published by one thread so that no caller waits.

The settings are those that the protocol needs (event-store.md §3.3).
"""

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import structlog
from celery import Celery
from kombu.transport import TRANSPORT_ALIASES
from kombu.transport.redis import Channel, Transport

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


class DroppingChannel(Channel):
    """Drops what is no message of kombu.

    Kombu decodes messages in the event loop of the worker, where any failure ends the process.
    """

    def _brpop_read(self, **options: object) -> None:
        try:
            super()._brpop_read(**options)  # type: ignore[misc]
        except UNREADABLE as failure:
            log.warning("a message of the broker was dropped", failure=type(failure).__name__)


class DroppingTransport(Transport):
    """Redis as broker, with channels that drop unreadable messages."""

    Channel = DroppingChannel


def use_dropping_transport() -> None:
    """Have every connection to a Redis URL use it."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:{DroppingTransport.__name__}"


ADMISSION_QUEUE = "admission"


UPKEEP_QUEUE = "upkeep"


EVALUATE_TASK = "admission.evaluate"


NUDGE_LIFE_SECONDS = 30


NO_BROKER = "memory://"


def make_celery(broker_url: str) -> Celery:
    """A Celery application on that broker; an empty URL means none at all, and tickers do the work.

    No result backend, no events, no ETA, no Beat: messages are hints that may be lost.
    """
    use_dropping_transport()
    celery = Celery("headgate", broker=broker_url or NO_BROKER)
    celery.conf.update(
        task_ignore_result=True,
        task_default_queue=UPKEEP_QUEUE,
        task_default_delivery_mode="transient",
        task_routes={EVALUATE_TASK: {"queue": ADMISSION_QUEUE}},
        task_publish_retry_policy={"max_retries": 0},
        task_serializer="json",
        accept_content=["json"],
        worker_prefetch_multiplier=16,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_soft_shutdown_timeout=10,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_timeout=1,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options=_transport_options(broker_url),
    )
    return celery


def _transport_options(broker_url: str) -> dict[str, float]:
    if not broker_url.startswith(("redis", "rediss")):
        return {}
    # What a killed worker had fetched and not begun comes back after a minute and a sweep.
    return {
        "visibility_timeout": 60,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 1,
    }


PATIENCE_SECONDS = 2


def broker_failure(celery: Celery) -> str:
    """Why the broker does not answer, or nothing if it does."""
    try:
        with celery.connection_for_read(connect_timeout=PATIENCE_SECONDS) as connection:
            connection.ensure_connection(max_retries=0, timeout=PATIENCE_SECONDS)
    except Exception as failure:  # noqa: BLE001 - every transport has failures of its own
        return str(failure) or type(failure).__name__
    return ""


GAP_SECONDS = 1.0

log = structlog.get_logger()


class CeleryNudges:
    """Sends one message at once, and what is asked for within `GAP_SECONDS` of it as the next.

    Workers hear of each append from the database; a message reaches those that cannot listen to
    it. A broker that cannot be reached costs the callers nothing: what is asked for meanwhile is
    dropped, as the workers' tickers find it without them.
    """

    def __init__(self, celery: Celery) -> None:
        self._celery = celery
        self._sender = ThreadPoolExecutor(max_workers=1, thread_name_prefix="nudges")
        self._lock = threading.Lock()
        self._waiting: set[str] = set()
        self._is_sending = False
        self._is_reachable = True
        self._is_closed = threading.Event()

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
        self._is_closed.set()
        self._sender.shutdown(wait=False, cancel_futures=True)

    def _send_all(self) -> None:
        while batch := self._next_batch():
            reached = self._send(batch)
            self._say(reached=reached)
            self._is_closed.wait(GAP_SECONDS)

    def _next_batch(self) -> list[str]:
        with self._lock:
            batch, self._waiting = sorted(self._waiting), set()
            self._is_sending = bool(batch)
            return batch

    def _send(self, partitions: list[str]) -> bool:
        try:
            self._celery.send_task(
                EVALUATE_TASK,
                args=tuple(partitions),
                expires=NUDGE_LIFE_SECONDS,
                ignore_result=True,
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
