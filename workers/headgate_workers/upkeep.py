"""The ticker of the queue `upkeep`: projections at every turn, maintenance tasks when due."""

from headgate.application.maintenance import MaintenanceSchedule
from headgate.application.projections.followers import FollowerRunner
from headgate_workers.schedule import PROJECTION_INTERVAL_SECONDS
from headgate_workers.ticker import Ticker, TickerCallbacks


class UpkeepTicker:
    """Advances all projections and runs due maintenance tasks."""

    def __init__(
        self,
        follower_runner: FollowerRunner,
        maintenance: MaintenanceSchedule,
        callbacks: TickerCallbacks,
    ) -> None:
        self._following = follower_runner
        self._maintenance = maintenance
        self.ticker = Ticker("upkeep", self._turn, callbacks)

    def _turn(self, _keys: frozenset[str]) -> float:
        self._following.advance_all(self.ticker.is_stopping)
        self._maintenance.run_due()
        return PROJECTION_INTERVAL_SECONDS
