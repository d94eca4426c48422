"""Whether pods may go where their runtime is (Kubernetes' RuntimeClass admission)."""

from collections.abc import Iterator

from headgate.domain.rejection import Violation
from headgate.domain.values.pointers import child
from headgate.domain.workloads.specs import PodSet, WorkloadSpec


def pod_runtime_violations(spec: WorkloadSpec) -> tuple[Violation, ...]:
    """Where pods ask for nodes which their RuntimeClass keeps them from.

    What the runtimes want is in the pod sets' `defaults` by then.
    """
    return tuple(
        violation
        for index, pod_set in enumerate(spec.pod_sets)
        for violation in _conflicts(child("/spec/podSets", index, "template", "spec"), pod_set)
    )


def _conflicts(place: str, pod_set: PodSet) -> Iterator[Violation]:
    if pod_set.defaults is None or not pod_set.defaults.node_selector:
        return
    pod = pod_set.template.get("spec") or {}
    stated = pod.get("nodeSelector") or {}
    for key, wanted in sorted(pod_set.defaults.node_selector.items()):
        if stated.get(key, wanted) != wanted:
            runtime = pod.get("runtimeClassName")
            yield Violation(
                pointer=child(place, "nodeSelector", key),
                rule=f"Pods of RuntimeClass {runtime} go to nodes with {key}={wanted}.",
                remedy=f"Remove {key} from the nodeSelector, or name another runtimeClassName.",
            )
