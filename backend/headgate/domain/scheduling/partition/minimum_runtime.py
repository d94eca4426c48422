"""Protects workloads from preemption until they have run for `minRuntime`: preemption.md §6.6.

Within a ClusterQueue its own grant counts, or that of the nearest Cohort above that grants any.
From outside the grant counts of the child, on the victim's side, of the lowest common Cohort, or
of the nearest Cohort above. So no workload is evicted again and again before it has made progress.
Pending workloads are requeued when a protection ends.
"""

from collections.abc import Mapping
from typing import TypeAlias

from headgate.domain.kinds.queue_settings import MinimumRuntime
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.instants import Instant, Timers, seconds_after
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.predicates import has_quota_reservation, is_evicting
from headgate.domain.workloads.state import Workload, condition

RuntimeGrant: TypeAlias = tuple[int, str]
"""How many seconds, and the ClusterQueue or Cohort that grants them."""

NO_GRANT: RuntimeGrant = (0, "")
NO_RUNTIME = MinimumRuntime()
WITHIN = ""


class MinimumRuntimeIndex:
    """The protected admitted workloads and the ends of their protection, as of `at`.

    `path` is each ClusterQueue and Cohort with its ancestors up to the root.
    """

    def __init__(self, config: ObjectSet, path: Mapping[str, tuple[str, ...]]) -> None:
        self._config = config
        self._path = path
        self._grants: dict[str, dict[str, RuntimeGrant]] = {}
        self._began: dict[str, tuple[str, Instant]] = {}
        self._ends = Timers()
        self._grants_any = any(self._runtime(node) != NO_RUNTIME for node in path)
        self.at: Instant = 0

    def replace(self, key: str, new: Workload | None) -> None:
        """Index a workload that was admitted, changed, or is admitted no more."""
        if not self._grants_any:
            return
        began = None if new is None else self._protected_since(new)
        if began is not None:
            self._began[key] = began
        elif self._began.pop(key, None) is None:
            return
        self._ends.set(key, self._next_end(key))

    def advance(self, at: Instant) -> bool:
        """Move to an instant; whether a protection has ended since the one before."""
        self.at = at
        ended = self._ends.fired(at)
        for key in ended:
            self._ends.set(key, self._next_end(key))
        return bool(ended)

    def next_due(self) -> Instant | None:
        """Return when the next protection ends."""
        return self._ends.next_due()

    def rule_protecting(self, workload: Workload, *, node: str) -> Message | None:
        """Return the rule that protects a workload from preemptors of a ClusterQueue, if any."""
        known = self._began.get(workload.key) if self._began else None
        if known is None:
            return None
        victim_node, began = known
        seconds, granter = self._granted(victim_node, node)
        if seconds_after(began, seconds) <= self.at:
            return None
        kind = "ClusterQueue" if granter == victim_node else "Cohort"
        name = granter.partition("/")[2]
        return message("WithinMinimumRuntime", minimum=seconds, kind=kind, name=name)

    def protected_in(self, victim_node: str, *, node: str) -> list[str]:
        """Return the workloads of a ClusterQueue protected now from preemptors of another."""
        if not self._began:
            return []
        seconds, _ = self._granted(victim_node, node)
        return [
            key
            for key, (queue, began) in self._began.items()
            if queue == victim_node and seconds_after(began, seconds) > self.at
        ]

    def _protected_since(self, workload: Workload) -> tuple[str, Instant] | None:
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

    def _granted(self, victim_node: str, preemptor_node: str) -> RuntimeGrant:
        grants = self._grants_of(victim_node)
        if victim_node == preemptor_node:
            return grants[WITHIN]
        outside = self._path.get(preemptor_node, ())
        below = [node for node in self._path.get(victim_node, ()) if node not in outside]
        return grants[below[-1]] if below else NO_GRANT

    def _grants_of(self, node: str) -> dict[str, RuntimeGrant]:
        """The grants of a ClusterQueue within it, and from outside of each node above it."""
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
    """When the workload was last admitted, or got its quota if it was not admitted yet."""
    admitted, reserved = condition(workload, "Admitted"), condition(workload, "QuotaReserved")
    found = admitted if admitted is not None and admitted.status else reserved
    return workload.created_at if found is None else found.last_transition_at
