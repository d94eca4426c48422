"""The messages of the queue `upkeep`: each may come twice, so it is acknowledged only when done."""

from celery import shared_task

from headgate.application.housekeeping import forget_old_keys, keep_log_ahead
from headgate.bootstrap import UPKEEP_QUEUE
from headgate_workers import process


@shared_task(name="upkeep.follow", ignore_result=True, acks_late=True)
def follow() -> None:
    """Fold what is new into the read models now."""
    process.wake(UPKEEP_QUEUE, "follow")


@shared_task(name="upkeep.rebuild", ignore_result=True, acks_late=True)
def rebuild(read_model: str) -> None:
    """Build a read model anew beside the live one."""
    process.platform().followers.rebuild(read_model)


@shared_task(name="upkeep.rehearse", ignore_result=True, acks_late=True)
def rehearse() -> None:
    """Go on with the backtests that wait, now."""
    process.wake(process.REHEARSALS, "rehearse")


@shared_task(name="upkeep.forget_old_keys", ignore_result=True, acks_late=True)
def forget() -> None:
    """Forget old idempotency keys now."""
    forget_old_keys(process.platform().housekeeping)


@shared_task(name="upkeep.keep_log_ahead", ignore_result=True, acks_late=True)
def keep_ahead() -> None:
    """Make the log's next partitions now."""
    keep_log_ahead(process.platform().housekeeping)
