"""The Celery application with the settings that this protocol wants (event-store.md §3.3)."""

from celery import Celery

from headgate.adapters.celery.transport import use_dropping_transport

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
