"""Which workloads a list or a bulk action selects: one filter for states, rows and the past."""

from collections.abc import Container

import msgspec

from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.values.selectors import LabelSelector, matches_selector
from headgate.domain.workloads.state import Workload, phase_of


class WorkloadFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on workloads, all of which must hold; an empty one always holds."""

    namespaces: tuple[str, ...] | None = None
    phases: tuple[str, ...] = ()
    local_queue: str = ""
    cluster_queue: str = ""
    name_contains: str = ""
    owner: str = ""
    selector: LabelSelector | None = None

    def matches(self, workload: Workload, cluster_queue: str, keys: Container[str] = ()) -> bool:
        """Whether a workload matches; `cluster_queue` is the one it is listed under.

        Workloads of these keys match whatever their phase.
        """
        return (
            (self.namespaces is None or workload.namespace in self.namespaces)
            and self.local_queue in {"", workload.spec.queue_name}
            and self.cluster_queue in {"", cluster_queue}
            and self.name_contains in workload.name
            and self.owner in {"", owner_of(workload)}
            and (not self.phases or phase_of(workload) in self.phases or workload.key in keys)
            and (self.selector is None or matches_selector(workload.labels, self.selector))
        )


def owner_of(workload: Workload) -> str:
    """The user who owns a workload; empty where the log does not tell."""
    return workload.owner.user if workload.owner else ""


def listed_cluster_queue(config: ObjectSet, workload: Workload) -> str:
    """The ClusterQueue that a workload is listed under: of its admission, else of its LocalQueue.

    A nominated workload is listed under the ClusterQueue of its nomination.
    """
    given = workload.admission or workload.nomination
    return given.cluster_queue if given else cluster_queue_of(config, workload)
