"""Pods that name another priority than their workload's (preemption.md §6.3, trap T27).

The workload's priority counts for all of them; that they differ is told, or refused where the
Configuration says so.
"""

from collections.abc import Iterator, Mapping

from headgate.domain.configured import Configured
from headgate.domain.priorities.specs import WorkloadPriorityClassSpec
from headgate.domain.rejection import Violation
from headgate.domain.values.pointers import child
from headgate.domain.workloads.preemption.events import DivergingPodSet
from headgate.domain.workloads.specs import PodSet, WorkloadSpec

Classes = Mapping[str, Configured[WorkloadPriorityClassSpec]]


def diverging_pod_sets(spec: WorkloadSpec, classes: Classes) -> tuple[DivergingPodSet, ...]:
    """The pod sets whose class has another value or policy; classes we do not know say nothing."""
    found = []
    for pod_set in spec.pod_sets:
        named = classes.get(class_of(pod_set))
        if named is None:
            continue
        theirs = (named.spec.value, named.spec.preemption_policy)
        if theirs != (spec.priority, spec.preemption_policy):
            found.append(DivergingPodSet(name=pod_set.name, priority=theirs[0], policy=theirs[1]))
    return tuple(found)


def divergence_violations(spec: WorkloadSpec, classes: Classes) -> Iterator[Violation]:
    """The same as broken rules."""
    diverging = {found.name: found for found in diverging_pod_sets(spec, classes)}
    for index, pod_set in enumerate(spec.pod_sets):
        found = diverging.get(pod_set.name)
        if found is not None:
            yield Violation(
                pointer=child("/spec/podSets", index, "priorityClassName"),
                rule=f"Its pods have priority {found.priority} and policy {found.policy}, the "
                f"workload {spec.priority} and {spec.preemption_policy}.",
                remedy="Give pods and workload the same class.",
            )


def unknown_class_violations(spec: WorkloadSpec, classes: Classes) -> Iterator[Violation]:
    """Pod sets that name a class themselves which does not exist."""
    for index, pod_set in enumerate(spec.pod_sets):
        name = pod_set.priority_class_name
        if name and name not in classes:
            yield Violation(
                pointer=child("/spec/podSets", index, "priorityClassName"),
                rule=f"There is no priority class {name}.",
                remedy="Name one that exists, or none: it is only compared with the workload's.",
            )


def class_of(pod_set: PodSet) -> str:
    """The class its pods name: in the pod set, or in their template."""
    if pod_set.priority_class_name:
        return pod_set.priority_class_name
    pod = pod_set.template.get("spec")
    return str(pod.get("priorityClassName") or "") if isinstance(pod, dict) else ""
