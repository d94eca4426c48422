"""Cohorts of one resource in one flavor with running workloads, as written in preemption.md §7.

`name@queue` has a size and a priority, as in the worked examples.
"""

from typing import Any

from headgate.domain.kinds.queue_settings import BorrowWithinCohort, ClusterQueuePreemption
from headgate.domain.rounds.state import is_open
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.events import WorkloadAdmitted, WorkloadQuotaReserved
from tests.builders.world import World, quotas

Victims = dict[str, str]
"""The names of victims, with the reason of each preemption."""


def policies(
    within: Any = "Never", reclaim: Any = "Never", borrowing_up_to: int | str | None = None
) -> ClusterQueuePreemption:
    """Returns the three preemption policies; `borrowing_up_to` is the threshold, "any" for none."""
    if borrowing_up_to is None:
        borrow = BorrowWithinCohort()
    elif isinstance(borrowing_up_to, str):
        borrow = BorrowWithinCohort(policy="LowerPriority")
    else:
        borrow = BorrowWithinCohort(policy="LowerPriority", max_priority_threshold=borrowing_up_to)
    return ClusterQueuePreemption(
        within_cluster_queue=within, reclaim_within_cohort=reclaim, borrow_within_cohort=borrow
    )


class Cohorts(World):
    """A world with gpus in the flavor `default`."""

    def __init__(self) -> None:
        super().__init__()
        self.flavor()

    def queue(
        self,
        name: str,
        nominal: int,
        rules: ClusterQueuePreemption | None = None,
        *,
        cohort: str = "all",
        limits: tuple[int | None, int | None] = (None, None),
        **spec: Any,
    ) -> None:
        """Adds a ClusterQueue; `limits` are its borrowing and lending limits."""
        self.cluster_queue(
            name,
            quotas(default=(nominal, *limits)),
            cohort_name=cohort,
            preemption=rules or policies(),
            **spec,
        )

    def owns(self, cohort: str, nominal: int = 0, parent: str = "") -> None:
        """Adds a cohort with quota of its own."""
        self.cohort(cohort, parent, quotas(default=nominal) if nominal else ())

    def runs(self, name: str, size: int, priority: int = 0, **spec: Any) -> str:
        """Adds an admitted workload `name@queue`, each a second after the one before."""
        key = self.asks(name, size, priority, **spec)
        queue = name.partition("@")[2]
        given = PodSetAssignment(
            name="main", flavors={"gpu": "default"}, resource_usage={"gpu": size}, count=1
        )
        admission = Admission(cluster_queue=queue, pod_set_assignments=(given,))
        self.record(f"workload/{key}", WorkloadQuotaReserved(admission=admission))
        self.record(f"workload/{key}", WorkloadAdmitted(waited_seconds=0))
        self.wait(1)
        return key

    def asks(self, name: str, size: int, priority: int = 0, **spec: Any) -> str:
        """`name@queue` waits."""
        short, _, queue = name.partition("@")
        return self.submit(short, queue, {"gpu": size}, priority=priority, **spec)

    def victims_of(self, name: str) -> Victims:
        """Returns the victims of the open round of a workload."""
        return {
            victim.workload.removeprefix("team/"): victim.reason
            for found in self.cluster_state.rounds.values()
            if found.preemptor == f"team/{name}" and is_open(found)
            for victim in found.victims
        }

    def victims_for(self, name: str, size: int, priority: int = 0, **spec: Any) -> Victims:
        """Submits `name@queue` and returns the victims of its preemption."""
        self.asks(name, size, priority, **spec)
        self.settle()
        return self.victims_of(name.partition("@")[0])
