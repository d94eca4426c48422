"""The Celery task of the queue `admission`: wake the ticker for a partition."""

from celery import shared_task

from headgate.bootstrap import ADMISSION_QUEUE
from headgate_workers import process


@shared_task(name="admission.evaluate", ignore_result=True)
def evaluate(partition: str) -> None:
    """Wake the admission ticker for this partition; a lost message costs one sweep interval."""
    process.wake(ADMISSION_QUEUE, partition)
