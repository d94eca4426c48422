"""The platform and the tickers of one worker process."""

import faulthandler
import os
import socket
from collections.abc import Callable
from contextlib import suppress

import structlog

from headgate.application.scheduling_cycles import presence_of
from headgate.bootstrap import (
    ADMISSION_QUEUE,
    WORKER_PREFIX,
    AnswerLimits,
    AppendListener,
    Platform,
    open_platform,
)
from headgate.settings import from_environment
from headgate_workers.admission import AdmissionTicker
from headgate_workers.backtests import BacktestTicker
from headgate_workers.schedule import MAINTENANCE_TASKS
from headgate_workers.ticker import Ticker, TickerCallbacks
from headgate_workers.upkeep import UpkeepTicker

WATCHDOG_SECONDS = 300
"""A ticker without a sign of life for so long hangs; a turn takes milliseconds, a step seconds."""

log = structlog.get_logger()


class _Process:
    """State that the Celery tasks and the worker steps of a process share."""

    def __init__(self) -> None:
        self.settings = from_environment()
        self.platform: Platform | None = None
        self.tickers: dict[str, Ticker] = {}
        self.listener: AppendListener | None = None


_process = _Process()


def platform() -> Platform:
    """Returns the platform; opens it at the first use."""
    if _process.platform is None:
        name = f"{WORKER_PREFIX} {socket.gethostname()}:{os.getpid()}"
        limits = AnswerLimits.of_worker(_process.settings.database_timeout_seconds)
        _process.platform = open_platform(_process.settings, name, limits)
    return _process.platform


def ticker_of(queue: str, broken: Callable[[], None]) -> Ticker:
    """Returns a ticker for the work of a queue; it calls `broken` if it fails."""
    callbacks = TickerCallbacks(alive=_touch_heartbeat, broken=broken)
    follower_runner = platform().follower_runner(_log_stalled_projection)
    if queue == ADMISSION_QUEUE:
        admission = AdmissionTicker(
            platform().scheduler(_log_quarantined), follower_runner, callbacks
        )
        ticker = admission.ticker
        url = _process.settings.database_url
        presence = presence_of(platform().name)
        _process.listener = AppendListener(url, admission.appended, presence)
        _process.listener.start()
    else:
        ticker = UpkeepTicker(
            follower_runner, platform().maintenance_schedule(MAINTENANCE_TASKS), callbacks
        ).ticker
    _process.tickers[queue] = ticker
    return ticker


def backtest_ticker(broken: Callable[[], None]) -> Ticker:
    """Returns a ticker that runs backtests; it calls `broken` if it fails."""
    callbacks = TickerCallbacks(alive=_touch_heartbeat, broken=broken)
    return BacktestTicker(platform().backtest_runner(_log_failed_backtest), callbacks).ticker


def wake(queue: str, key: str) -> None:
    """Starts the next turn of a queue's ticker now, if this process has one."""
    if ticker := _process.tickers.get(queue):
        ticker.wake(key)


def close() -> None:
    """Closes connections, and with them every lock."""
    faulthandler.cancel_dump_traceback_later()
    if _process.listener is not None:
        _process.listener.close()
        _process.listener = None
    if _process.platform is not None:
        _process.platform.close()
        _process.platform = None


def _touch_heartbeat() -> None:
    """Touch the heartbeat file, and put off the end of a process that hangs.

    A container's health check does not restart it, so that a worker without a sign of life ends
    itself: the watchdog of `faulthandler` needs no lock that a hanging thread may hold.
    """
    faulthandler.dump_traceback_later(WATCHDOG_SECONDS, exit=True)
    if _process.settings.heartbeat_file is not None:
        with suppress(OSError):
            _process.settings.heartbeat_file.touch()


def _log_quarantined(partition: str, failure: Exception) -> None:
    log.error("partition quarantined", partition=partition, exc_info=failure)


def _log_failed_backtest(backtest: str, failure: Exception) -> None:
    log.error("backtest failed", backtest=backtest, exc_info=failure)


def _log_stalled_projection(follower: str, failure: Exception) -> None:
    log.error("projection stalled", follower=follower, exc_info=failure)
