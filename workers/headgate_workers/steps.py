"""Celery bootsteps that start the tickers of the queues a worker serves."""

from typing import Any

from celery import bootsteps
from celery.worker import WorkController, state

from headgate.bootstrap import ADMISSION_QUEUE, UPKEEP_QUEUE
from headgate_workers import process
from headgate_workers.ticker import Ticker

EXIT_FAILURE = 1
STOP_TIMEOUT_SECONDS = 8.0


class AdmissionStep(bootsteps.StartStopStep):
    """Starts the admission ticker in workers that serve the queue `admission`.

    It starts before the broker connection, so that admission works without a broker.
    """

    requires = ("celery.worker.components:Timer",)
    queue = ADMISSION_QUEUE

    def __init__(self, parent: WorkController, **_options: Any) -> None:  # noqa: ANN401 - Celery's options
        self._ticker: Ticker | None = None
        self.enabled = self.queue in parent.app.amqp.queues.consume_from

    def start(self, parent: WorkController) -> None:  # noqa: ARG002 - Celery calls it so
        """Opens the platform and starts the ticker."""
        self._ticker = process.ticker_of(self.queue, _end_worker)
        self._ticker.start()

    def stop(self, parent: WorkController) -> None:  # noqa: ARG002 - same
        """Stops the ticker after its current step; locks end with the sessions."""
        if self._ticker is not None:
            self._ticker.stop(STOP_TIMEOUT_SECONDS)
        process.close()


class UpkeepStep(AdmissionStep):
    """Starts the upkeep ticker in workers that serve the queue `upkeep`."""

    queue = UPKEEP_QUEUE


class BacktestStep(AdmissionStep):
    """Starts the backtest ticker in workers that serve the queue `upkeep`."""

    queue = UPKEEP_QUEUE

    def start(self, parent: WorkController) -> None:  # noqa: ARG002 - Celery calls it so
        """Opens the platform and starts the ticker."""
        self._ticker = process.backtest_ticker(_end_worker)
        self._ticker.start()


def _end_worker() -> None:
    """Ends the process after a bug; the supervisor restarts it, and the log has the cause."""
    setattr(state, "should_stop", EXIT_FAILURE)  # noqa: B010 - its stubs know None only
