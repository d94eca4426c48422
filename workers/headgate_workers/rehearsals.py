"""The ticker that works backtests off, a slice at a turn, beside everything else of upkeep."""

from headgate.application.backtests.runner import BacktestRunner, run_backtest_slice
from headgate_workers.ticker import Signs, Ticker

SECONDS_BETWEEN_LOOKS = 1.0


class Rehearsals:
    """Slice after slice while there is any; then a look now and then."""

    def __init__(self, rehearsing: BacktestRunner, signs: Signs) -> None:
        self._rehearsing = rehearsing
        self.ticker = Ticker("rehearsals", self._turn, signs)

    def _turn(self, _asked_for: frozenset[str]) -> float:
        return 0.0 if run_backtest_slice(self._rehearsing) else SECONDS_BETWEEN_LOOKS
