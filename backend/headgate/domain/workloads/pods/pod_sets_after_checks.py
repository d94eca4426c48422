"""Pod sets with what admission checks add to them, as hosts are chosen for them."""

from msgspec.structs import replace

from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate, PodSetUpdateConflict
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.admission_checks import merged_pod_set_updates


def pod_sets_after_checks(workload: Workload) -> dict[str, PodSet]:
    """Each pod set by name with the node selectors and tolerations that its checks have told.

    Where checks contradict each other none is added: such a workload never starts.
    """
    if not workload.checks:
        return {pod_set.name: pod_set for pod_set in workload.spec.pod_sets}
    try:
        updates = {update.name: update for update in merged_pod_set_updates(workload)}
    except PodSetUpdateConflict:
        updates = {}
    return {
        pod_set.name: _with(pod_set, updates.get(pod_set.name))
        for pod_set in workload.spec.pod_sets
    }


def _with(pod_set: PodSet, update: PodSetUpdate | None) -> PodSet:
    if update is None:
        return pod_set
    scheduling = replace(
        pod_set.scheduling,
        node_selector={**pod_set.scheduling.node_selector, **update.node_selector},
        tolerations=(*pod_set.scheduling.tolerations, *update.tolerations),
    )
    return replace(pod_set, scheduling=scheduling)
