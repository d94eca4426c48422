"""Rules for the spec of a workload (reference queueing.md §1.7, preemption.md §6.2)."""

from collections.abc import Iterator

from headgate.domain.metadata import label_violations, violation_of
from headgate.domain.priorities.rules import HIGHEST_PRIORITY, LOWEST_PRIORITY
from headgate.domain.rejection import Violation
from headgate.domain.selection_rules import (
    node_term_violations,
    term_violations,
    toleration_violations,
)
from headgate.domain.values.amounts import MAX_AMOUNT
from headgate.domain.values.names import (
    broken_rule_of_dns_label,
    broken_rule_of_label_key,
    broken_rule_of_name,
)
from headgate.domain.values.pointers import child
from headgate.domain.workloads.rules.preemption import preemption_setting_violations
from headgate.domain.workloads.rules.topology import group_violations, topology_violations
from headgate.domain.workloads.specs import PodSet, WorkloadSpec

MAX_POD_SETS = 18
MAX_PODS = 1_000_000

_POD_SETS = "/spec/podSets"
_AFFINITY = "template/spec/affinity/nodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def workload_violations(spec: WorkloadSpec) -> tuple[Violation, ...]:
    """What is wrong with a workload taken by itself."""
    found = [
        *_list_violations(spec),
        *_spec_violations(spec),
        *preemption_setting_violations(spec),
    ]
    for index, pod_set in enumerate(spec.pod_sets):
        place = child(_POD_SETS, index)
        found += _pod_set_violations(place, pod_set)
        found += _template_violations(child(place, "template", "metadata"), pod_set)
        found += _scheduling_violations(place, pod_set)
        if pod_set.topology_request is not None:
            found += topology_violations(child(place, "topologyRequest"), pod_set)
    found += group_violations(_POD_SETS, spec.pod_sets)
    return tuple(found)


def _list_violations(spec: WorkloadSpec) -> Iterator[Violation]:
    count = len(spec.pod_sets)
    if not 1 <= count <= MAX_POD_SETS:
        yield Violation(
            pointer=_POD_SETS,
            rule=f"A workload has 1 to {MAX_POD_SETS} pod sets; this one has {count}.",
            remedy="Describe its pods in that many sets.",
        )
    seen: dict[str, int] = {}
    for index, pod_set in enumerate(spec.pod_sets):
        first = seen.setdefault(pod_set.name, index)
        if first != index:
            yield Violation(
                pointer=child(_POD_SETS, index, "name"),
                rule=f"Pod set {index} has the name of pod set {first}: {pod_set.name}.",
                remedy="Give every pod set a name of its own.",
            )
    partial = [i for i, pod_set in enumerate(spec.pod_sets) if pod_set.min_count is not None]
    for index in partial[1:]:
        yield Violation(
            pointer=child(_POD_SETS, index, "minCount"),
            rule="At most one pod set of a workload has a minCount.",
            remedy=f"Keep the one of pod set {partial[0]} only, or this one only.",
        )


def _spec_violations(spec: WorkloadSpec) -> Iterator[Violation]:
    if spec.queue_name:
        found = violation_of("/spec/queueName", spec.queue_name, broken_rule_of_name)
        if found:
            yield found
    seconds = spec.maximum_execution_time_seconds
    if seconds is not None and seconds < 1:
        yield Violation(
            pointer="/spec/maximumExecutionTimeSeconds",
            rule="A maximum execution time is at least one second.",
            remedy="Give a longer time, or none for no limit.",
        )
    if not LOWEST_PRIORITY <= spec.priority <= HIGHEST_PRIORITY:
        yield Violation(
            pointer="/spec/priority",
            rule=f"A priority lies between {LOWEST_PRIORITY} and {HIGHEST_PRIORITY}.",
            remedy="Choose a number in this range, or name a priority class.",
        )
    has_core = any(pod_set.min_count is not None for pod_set in spec.pod_sets)
    if spec.preemptibility == "SemiPreemptible" and not has_core:
        yield Violation(
            pointer="/spec/preemptibility",
            rule="SemiPreemptible keeps the minCount of a pod set and gives up the rest.",
            remedy="Set minCount on a pod set, or choose Preemptible or NonPreemptible.",
        )


def _pod_set_violations(place: str, pod_set: PodSet) -> Iterator[Violation]:
    found = violation_of(child(place, "name"), pod_set.name.lower(), broken_rule_of_dns_label)
    if found:
        yield found
    if not 0 <= pod_set.count <= MAX_PODS:
        yield Violation(
            pointer=child(place, "count"),
            rule=f"A pod set has 0 to {MAX_PODS} pods.",
            remedy="Give a count in this range.",
        )
    if pod_set.min_count is not None and not 1 <= pod_set.min_count <= max(1, pod_set.count):
        yield Violation(
            pointer=child(place, "minCount"),
            rule=f"minCount lies between 1 and the count of the pod set, {pod_set.count}.",
            remedy="Lower minCount, or remove it for all or nothing.",
        )


def _template_violations(place: str, pod_set: PodSet) -> Iterator[Violation]:
    """Labels and annotations that Kubernetes would refuse on the pods later."""
    metadata = pod_set.template.get("metadata") or {}
    yield from label_violations(child(place, "labels"), metadata.get("labels") or {})
    for key in metadata.get("annotations") or {}:
        found = violation_of(child(place, "annotations", key), key, broken_rule_of_label_key)
        if found:
            yield found


def _scheduling_violations(place: str, pod_set: PodSet) -> Iterator[Violation]:
    scheduling = pod_set.scheduling
    pod = child(place, "template", "spec")
    for resource, amount in scheduling.requests.items():
        if resource == "pods":
            yield Violation(
                pointer=pod,
                rule="A pod cannot ask for the resource pods: each is one, and is counted so.",
                remedy="Remove pods from its requests and limits.",
            )
        if amount * max(1, pod_set.count) > MAX_AMOUNT:
            yield Violation(
                pointer=pod,
                rule=f"All pods of a set ask for at most {MAX_AMOUNT} of {resource}.",
                remedy="Give a smaller amount or count.",
            )
        if amount < 0:
            yield Violation(
                pointer=pod,
                rule=f"A pod asks for at least 0 of {resource}.",
                remedy="Give an amount that is not negative.",
            )
    yield from label_violations(child(pod, "nodeSelector"), scheduling.node_selector)
    yield from toleration_violations(child(pod, "tolerations"), scheduling.tolerations)
    affinity = f"{place}/{_AFFINITY}"
    yield from term_violations(f"{affinity}/{_REQUIRED}", scheduling.affinity)
    for index, preferred in enumerate(scheduling.preferred_affinity):
        wish = f"{affinity}/{_PREFERRED}/{index}"
        yield from node_term_violations(f"{wish}/preference", preferred.term)
        if not 1 <= preferred.weight <= 100:  # noqa: PLR2004  (the range of Kubernetes)
            yield Violation(
                pointer=f"{wish}/weight",
                rule="The weight of a wish lies between 1 and 100.",
                remedy="Choose a number in this range.",
            )
