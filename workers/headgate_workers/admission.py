"""The ticker of the queue `admission`; no other thread of the process uses the live state."""

from headgate.application.projections.followers import FollowerRunner
from headgate.application.readiness import recover_from_rewind
from headgate.application.run_partition import Scheduler, sweep
from headgate.event_log.chain import PastLost
from headgate_workers.ticker import Ticker, TickerCallbacks

PROJECTION_CHECK_SECONDS = 2.0


class AdmissionTicker:
    """Sweeps due partitions, and advances projections that no upkeep worker follows."""

    def __init__(
        self, scheduler: Scheduler, follower_runner: FollowerRunner, callbacks: TickerCallbacks
    ) -> None:
        self._scheduler = scheduler
        self._following = follower_runner
        self._checked_at = scheduler.elapsed()
        self.ticker = Ticker("admission", self._turn, callbacks)

    def appended(self, position: int | None) -> None:
        """Starts the next turn now, unless the fold stands there; any thread may call it.

        A worker hears of what it appended itself too. None stands for any position.
        """
        point = self._scheduler.live.compared_point()
        if position is None or point is None or point.position < position:
            self.ticker.wake()

    def _turn(self, nudged: frozenset[str]) -> float:
        live = self._scheduler.live
        try:
            if live.lost is not None:
                recover_from_rewind(live)
            return self._decide(nudged)
        except PastLost:
            live.lose()
            return 0.0

    def _decide(self, nudged: frozenset[str]) -> float:
        # Since the last turn it may be another database, or an earlier state of the same.
        self._scheduler.live.mark_stale()
        swept = sweep(self._scheduler, nudged, self.ticker.is_stopping)
        self._scheduler.live.keep()
        self._advance_abandoned_projections()
        return swept.idle_seconds

    def _advance_abandoned_projections(self) -> None:
        now = self._scheduler.elapsed()
        if now - self._checked_at >= PROJECTION_CHECK_SECONDS:
            self._checked_at = now
            self._following.advance_abandoned(self.ticker.is_stopping)
