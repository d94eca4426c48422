"""The ticker of backtests: one time-limited slice of a backtest a turn."""

from headgate.application.backtest_runs import BacktestRunner, run_backtest_slice
from headgate_workers.ticker import Ticker, TickerCallbacks

BACKTEST_POLL_SECONDS = 1.0


class BacktestTicker:
    """Runs slices of queued backtests, and polls for new ones while there are none."""

    def __init__(self, runner: BacktestRunner, callbacks: TickerCallbacks) -> None:
        self._runner = runner
        self.ticker = Ticker("backtests", self._turn, callbacks)

    def _turn(self, _keys: frozenset[str]) -> float:
        return 0.0 if run_backtest_slice(self._runner) else BACKTEST_POLL_SECONDS
