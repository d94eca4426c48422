"""The message of the queue `admission`: look now."""

from celery import shared_task

from headgate.bootstrap import ADMISSION_QUEUE
from headgate_workers import process


@shared_task(name="admission.look", ignore_result=True)
def look(partition: str) -> None:
    """Look at what is due now, this partition first; losing the message costs one sweep."""
    process.wake(ADMISSION_QUEUE, partition)
