"""Who has not run long enough to be a victim: `minRuntime` of queues (preemption.md §6.6, C21).

Within a ClusterQueue the time counts that it grants, or the nearest Cohort above it that grants
any. From outside the time counts that is granted where both meet: by the child, on the victim's
side, of their lowest common Cohort, or by the nearest Cohort above. So nobody is evicted again and
again before it has got anything done. A shield that runs out is a reason to look again at who
waits.
"""

from collections.abc import Mapping
from typing import TypeAlias

from headgate.domain.kinds.queue_preemption import MinimumRuntime
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.lifecycle.timers import Timers
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.predicates import has_quota_reservation, is_evicting
from headgate.domain.workloads.state import Workload, condition

RuntimeGrant: TypeAlias = tuple[int, str]
"""How many seconds, and the ClusterQueue or Cohort that grants them."""

NO_GRANT: RuntimeGrant = (0, "")
NO_RUNTIME = MinimumRuntime()
WITHIN = ""


class MinimumRuntimeIndex:
    """Until when everyone who holds a place is shielded; `at` is when that is asked.

    `path` is each ClusterQueue and Cohort with its ancestors up to the root.
    """

    def __init__(self, config: ObjectSet, path: Mapping[str, tuple[str, ...]]) -> None:
        self._config = config
        self._path = path
        self._grants: dict[str, dict[str, RuntimeGrant]] = {}
        self._began: dict[str, tuple[str, Instant]] = {}
        self._ends = Timers()
        self._shields_anyone = any(self._runtime(node) != NO_RUNTIME for node in path)
        self.at: Instant = 0

    def replace(self, key: str, new: Workload | None) -> None:
        """Someone got a place, changed, or has none any more."""
        if not self._shields_anyone:
            return
        began = None if new is None else self._shielded_from(new)
        if began is not None:
            self._began[key] = began
        elif self._began.pop(key, None) is None:
            return
        self._ends.set(key, self._next_end(key))

    def advance(self, at: Instant) -> bool:
        """Ask for this instant from now on; whether a shield has run out since the one before."""
        self.at = at
        ended = self._ends.fired(at)
        for key in ended:
            self._ends.set(key, self._next_end(key))
        return bool(ended)

    def next_due(self) -> Instant | None:
        """When the next shield runs out."""
        return self._ends.next_due()

    def rule_protecting(self, workload: Workload, *, node: str) -> str:
        """The rule that shields a workload now from those who come through a ClusterQueue."""
        known = self._began.get(workload.key)
        if known is None:
            return ""
        theirs, began = known
        seconds, granter = self._granted(theirs, node)
        if seconds_after(began, seconds) <= self.at:
            return ""
        who = "its ClusterQueue" if granter == theirs else f"Cohort {granter.partition('/')[2]}"
        return f"it has not yet run for {seconds} s, which {who} grants it"

    def protected_in(self, theirs: str, *, node: str) -> list[str]:
        """Everyone in a ClusterQueue who is shielded now from those who come through another."""
        if not self._began:
            return []
        seconds, _ = self._granted(theirs, node)
        return [
            key
            for key, (queue, began) in self._began.items()
            if queue == theirs and seconds_after(began, seconds) > self.at
        ]

    def _shielded_from(self, workload: Workload) -> tuple[str, Instant] | None:
        if (
            workload.admission is None
            or not has_quota_reservation(workload)
            or is_evicting(workload)
        ):
            return None
        node = f"clusterqueue/{workload.admission.cluster_queue}"
        if not any(seconds for seconds, _ in self._grants_of(node).values()):
            return None
        return node, _began(workload)

    def _granted(self, theirs: str, mine: str) -> RuntimeGrant:
        grants = self._grants_of(theirs)
        if theirs == mine:
            return grants[WITHIN]
        outside = self._path.get(mine, ())
        below = [node for node in self._path.get(theirs, ()) if node not in outside]
        return grants[below[-1]] if below else NO_GRANT

    def _grants_of(self, node: str) -> dict[str, RuntimeGrant]:
        """What shields those of a ClusterQueue within it, and from outside of each node above."""
        known = self._grants.get(node)
        if known is None:
            within, outside = NO_GRANT, NO_GRANT
            known = self._grants[node] = {}
            for above in reversed(self._path.get(node, ())):
                runtime = self._runtime(above)
                within = (runtime.preempt_seconds, above) if runtime.preempt_seconds else within
                outside = (runtime.reclaim_seconds, above) if runtime.reclaim_seconds else outside
                known[above] = outside
            known[WITHIN] = within
        return known

    def _runtime(self, node: str) -> MinimumRuntime:
        kind, _, name = node.partition("/")
        if kind == "clusterqueue":
            return self._config.cluster_queues[name].spec.preemption.min_runtime
        cohort = self._config.cohorts.get(name)
        return cohort.spec.min_runtime if cohort else NO_RUNTIME

    def _next_end(self, key: str) -> Instant | None:
        known = self._began.get(key)
        if known is None:
            return None
        node, began = known
        ends = (seconds_after(began, seconds) for seconds, _ in self._grants_of(node).values())
        return min((end for end in ends if end > self.at), default=None)


def _began(workload: Workload) -> Instant:
    """When it started last, or got its place if it has not started yet."""
    admitted, reserved = condition(workload, "Admitted"), condition(workload, "QuotaReserved")
    found = admitted if admitted is not None and admitted.status else reserved
    return workload.created_at if found is None else found.last_transition_at
