"""Whether the broker can be reached."""

from celery import Celery

PATIENCE_SECONDS = 2


def broker_failure(celery: Celery) -> str:
    """Why the broker does not answer, or nothing if it does."""
    try:
        with celery.connection_for_read(connect_timeout=PATIENCE_SECONDS) as connection:
            connection.ensure_connection(max_retries=0, timeout=PATIENCE_SECONDS)
    except Exception as failure:  # noqa: BLE001 - every transport has failures of its own
        return str(failure) or type(failure).__name__
    return ""
