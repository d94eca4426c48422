"""What one worker process has open: its platform, and one ticker for each queue it serves."""

import os
import socket
from collections.abc import Callable

import structlog

from headgate.bootstrap import ADMISSION_QUEUE, WORKER_PREFIX, Platform, open_platform
from headgate.settings import from_environment
from headgate_workers.admission import Admission
from headgate_workers.rehearsals import Rehearsals
from headgate_workers.schedule import CHORES
from headgate_workers.ticker import Signs, Ticker
from headgate_workers.upkeep import Upkeep

log = structlog.get_logger()


class _Process:
    """The one holder of what the Celery tasks and the worker's steps share."""

    def __init__(self) -> None:
        self.settings = from_environment()
        self.platform: Platform | None = None
        self.tickers: dict[str, Ticker] = {}


_process = _Process()


def platform() -> Platform:
    """The ports, opened at the first use."""
    if _process.platform is None:
        name = f"{WORKER_PREFIX} {socket.gethostname()}:{os.getpid()}"
        _process.platform = open_platform(_process.settings, name)
    return _process.platform


def ticker_of(queue: str, broken: Callable[[], None]) -> Ticker:
    """The ticker that does the work of a queue; `broken` is called if it ends by a failure."""
    signs = Signs(alive=_beat, broken=broken)
    follower_runner = platform().follower_runner(_stale)
    if queue == ADMISSION_QUEUE:
        ticker = Admission(platform().scheduler(_halted), follower_runner, signs).ticker
    else:
        ticker = Upkeep(follower_runner, platform().chores(CHORES), signs).ticker
    _process.tickers[queue] = ticker
    return ticker


def rehearsing_ticker(broken: Callable[[], None]) -> Ticker:
    """The ticker that works backtests off; `broken` is called if it ends by a failure."""
    signs = Signs(alive=_beat, broken=broken)
    return Rehearsals(platform().backtest_runner(_unrehearsed), signs).ticker


def wake(queue: str, key: str) -> None:
    """Let the ticker of a queue take its next turn now, if this process has it."""
    if ticker := _process.tickers.get(queue):
        ticker.wake(key)


def close() -> None:
    """Give connections back, and with them every lock."""
    if _process.platform is not None:
        _process.platform.close()
        _process.platform = None


def _beat() -> None:
    """Leave a sign of life for whoever watches over this process from outside."""
    if _process.settings.heartbeat_file is not None:
        _process.settings.heartbeat_file.touch()


def _halted(partition: str, failure: Exception) -> None:
    log.error("partition set aside", partition=partition, exc_info=failure)


def _unrehearsed(backtest: str, failure: Exception) -> None:
    log.error("backtest failed", backtest=backtest, exc_info=failure)


def _stale(follower: str, failure: Exception) -> None:
    log.error("read model stands still", follower=follower, exc_info=failure)
