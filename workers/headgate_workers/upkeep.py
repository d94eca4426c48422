"""The ticker that tidies up: followers all the time, chores when they are due."""

from headgate.application.housekeeping import ChoreList
from headgate.application.projections.followers import FollowerRunner
from headgate_workers.schedule import SECONDS_BETWEEN_FOLLOWING
from headgate_workers.ticker import Signs, Ticker


class Upkeep:
    """Keeps read models fresh and the store small."""

    def __init__(self, follower_runner: FollowerRunner, chores: ChoreList, signs: Signs) -> None:
        self._following = follower_runner
        self._chores = chores
        self.ticker = Ticker("upkeep", self._turn, signs)

    def _turn(self, _asked_for: frozenset[str]) -> float:
        self._following.advance_all(self.ticker.is_stopping)
        self._chores.run_due()
        return SECONDS_BETWEEN_FOLLOWING
