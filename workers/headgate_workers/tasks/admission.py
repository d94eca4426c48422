"""The Celery task of the queue `admission`: wake the ticker for partitions."""

from celery import shared_task

from headgate.bootstrap import ADMISSION_QUEUE
from headgate_workers import process


@shared_task(name="admission.evaluate", ignore_result=True)
def evaluate(*partitions: str) -> None:
    """Wake the admission ticker for these partitions; a lost message costs one sweep interval."""
    for partition in partitions:
        process.wake(ADMISSION_QUEUE, partition)
