"""Who has not run long enough to be a victim: `minRuntime` of ClusterQueues (preemption.md §6.6).

A ClusterQueue shields its workloads from each other for one time and from all others for another,
so that nobody is evicted again and again before it has got anything done. A shield that runs out
is a reason to look again at who waits.
"""

from headgate.domain.config import Config
from headgate.domain.scheduling.timers import Timers
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.leaving import holds_quota, is_leaving
from headgate.domain.workloads.state import Workload, condition


class Shields:
    """Until when everyone who holds a place is shielded; `at` is when that is asked."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._until: dict[str, tuple[Instant, Instant]] = {}
        self._ends = Timers()
        self.at: Instant = 0

    def replace(self, key: str, new: Workload | None) -> None:
        """Someone got a place, changed, or has none any more."""
        until = None if new is None else self._shielded_until(new)
        if until is not None:
            self._until[key] = until
        elif self._until.pop(key, None) is None:
            return
        self._ends.set(key, self._next_end(key))

    def look_at(self, at: Instant) -> bool:
        """Ask for this instant from now on; whether a shield has run out since the one before."""
        self.at = at
        ended = self._ends.fired(at)
        for key in ended:
            self._ends.set(key, self._next_end(key))
        return bool(ended)

    def next_due(self) -> Instant | None:
        """When the next shield runs out."""
        return self._ends.next_due()

    def over(self, workload: Workload, *, from_own: bool) -> str:
        """The rule that shields a workload now, from its own ClusterQueue or from others."""
        until = self._until.get(workload.key)
        if until is None or until[0 if from_own else 1] <= self.at:
            return ""
        assert workload.admission is not None, "only who holds a place is shielded"
        rules = self._config.cluster_queues[workload.admission.cluster_queue].spec.preemption
        shield = rules.min_runtime
        seconds = shield.preempt_seconds if from_own else shield.reclaim_seconds
        return f"it has not yet run for {seconds} s, which its ClusterQueue grants it"

    def raised(self, *, from_own: bool) -> list[str]:
        """Everyone who is shielded now."""
        return [k for k, until in self._until.items() if until[0 if from_own else 1] > self.at]

    def _shielded_until(self, workload: Workload) -> tuple[Instant, Instant] | None:
        if not holds_quota(workload) or is_leaving(workload) or workload.admission is None:
            return None
        queue = self._config.cluster_queues.get(workload.admission.cluster_queue)
        if queue is None:
            return None
        shield = queue.spec.preemption.min_runtime
        if not (shield.preempt_seconds or shield.reclaim_seconds):
            return None
        began = _began(workload)
        own = seconds_after(began, shield.preempt_seconds)
        return own, seconds_after(began, shield.reclaim_seconds)

    def _next_end(self, key: str) -> Instant | None:
        ends = (end for end in self._until.get(key, ()) if end > self.at)
        return min(ends, default=None)


def _began(workload: Workload) -> Instant:
    """When it started last, or got its place if it has not started yet."""
    admitted, reserved = condition(workload, "Admitted"), condition(workload, "QuotaReserved")
    found = admitted if admitted is not None and admitted.status else reserved
    return workload.created_at if found is None else found.last_transition_at
