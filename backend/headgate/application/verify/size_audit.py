"""How many pods each workload still needs of what it was given, counted anew (queueing.md §3.3)."""

from msgspec.structs import replace

from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.pods.eviction_units import without_pods
from headgate.domain.workloads.pods.trimmed_assignments import needed_admission
from headgate.domain.workloads.preemption_events import WorkloadShrunk
from headgate.domain.workloads.specs import WorkloadSpec


class SizeAudit:
    """What workloads were given at first, and their pods that have ended by now."""

    def __init__(self) -> None:
        self._given: dict[str, Admission] = {}
        self._ended: dict[str, dict[str, int]] = {}

    def reserved(self, key: str, admission: Admission) -> None:
        """This is what a workload has just been given."""
        self._given[key] = admission

    def ended(self, key: str, pods: dict[str, int]) -> None:
        """So many of its pods, by pod set, have ended."""
        self._ended[key] = pods

    def shrunk(self, key: str, event: WorkloadShrunk) -> None:
        """It has lost pods for good, and is as if it had been given fewer."""
        given = self._given[key]
        self._given[key] = without_pods(given, event.pods, event.counts, event.later)

    def forget(self, key: str) -> None:
        """The workload is gone; another of its name begins anew."""
        self._given.pop(key, None)
        self._ended.pop(key, None)

    def now(self, key: str, spec: WorkloadSpec, held: Admission) -> Admission:
        """`held`, at its present places, with the counts and usage of the pods it needs by now."""
        needed = needed_admission(self._given[key], spec.pod_sets, self._ended.get(key, {}))
        sizes = {given.name: given for given in needed.pod_set_assignments}
        return replace(
            held,
            pod_set_assignments=tuple(
                replace(
                    given,
                    count=sizes[given.name].count,
                    resource_usage=sizes[given.name].resource_usage,
                )
                for given in held.pod_set_assignments
            ),
        )
