"""Violations of a workload's spec and annotations, at submission and when they are changed.

Sources: queueing.md §1.7, §3.12; preemption.md §6.2, traps T18 and T24. Kueue: workload_webhook.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from headgate.domain.kinds.workload_priority_class import MAX_PRIORITY, MIN_PRIORITY
from headgate.domain.metadata import label_violations, violation_of
from headgate.domain.rejection import Violation, violation
from headgate.domain.selection_rules import (
    node_term_violations,
    term_violations,
    toleration_violations,
)
from headgate.domain.values.names import (
    MAX_LABEL_LENGTH,
    broken_rule_of_dns_label,
    broken_rule_of_label_key,
    broken_rule_of_name,
)
from headgate.domain.values.pointers import child
from headgate.domain.values.quantities import MAX_AMOUNT
from headgate.domain.workloads.decide.topology_rules import group_violations, topology_violations
from headgate.domain.workloads.specs import (
    ADMISSION_GATES,
    ELASTIC,
    REPLACES,
    Annotations,
    EvictionPolicy,
    PodSet,
    PriorityClassReference,
    WorkloadSpec,
    admission_gates,
    is_elastic,
    replaced_key,
)
from headgate.domain.workloads.state import Workload, is_admitted

MAX_POD_SETS = 18
MAX_PODS = 1_000_000

_POD_SETS = "/spec/podSets"
_AFFINITY = "template/spec/affinity/nodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def workload_violations(spec: WorkloadSpec) -> tuple[Violation, ...]:
    """Violations of a spec by itself, without regard to queues, classes or LimitRanges."""
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
        yield violation(
            _POD_SETS,
            "Stated",
            rule=f"A workload has 1 to {MAX_POD_SETS} pod sets; this one has {count}.",
            remedy="Describe its pods in that many sets.",
        )
    seen: dict[str, int] = {}
    for index, pod_set in enumerate(spec.pod_sets):
        first = seen.setdefault(pod_set.name, index)
        if first != index:
            yield violation(
                child(_POD_SETS, index, "name"),
                "Stated",
                rule=f"Pod set {index} has the name of pod set {first}: {pod_set.name}.",
                remedy="Give every pod set a name of its own.",
            )
    partial = [i for i, pod_set in enumerate(spec.pod_sets) if pod_set.min_count is not None]
    for index in partial[1:]:
        yield violation(
            child(_POD_SETS, index, "minCount"),
            "Stated",
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
        yield violation(
            "/spec/maximumExecutionTimeSeconds",
            "Stated",
            rule="A maximum execution time is at least one second.",
            remedy="Give a longer time, or none for no limit.",
        )
    if not MIN_PRIORITY <= spec.priority <= MAX_PRIORITY:
        yield violation(
            "/spec/priority",
            "Stated",
            rule=f"A priority lies between {MIN_PRIORITY} and {MAX_PRIORITY}.",
            remedy="Choose a number in this range, or name a priority class.",
        )
    has_core = any(pod_set.min_count is not None for pod_set in spec.pod_sets)
    if spec.preemptibility == "SemiPreemptible" and not has_core:
        yield violation(
            "/spec/preemptibility",
            "Stated",
            rule="SemiPreemptible keeps the minCount of a pod set and gives up the rest.",
            remedy="Set minCount on a pod set, or choose Preemptible or NonPreemptible.",
        )


def _pod_set_violations(place: str, pod_set: PodSet) -> Iterator[Violation]:
    found = violation_of(child(place, "name"), pod_set.name.lower(), broken_rule_of_dns_label)
    if found:
        yield found
    if not 0 <= pod_set.count <= MAX_PODS:
        yield violation(
            child(place, "count"),
            "Stated",
            rule=f"A pod set has 0 to {MAX_PODS} pods.",
            remedy="Give a count in this range.",
        )
    if pod_set.min_count is not None and not 1 <= pod_set.min_count <= max(1, pod_set.count):
        yield violation(
            child(place, "minCount"),
            "Stated",
            rule=f"minCount lies between 1 and the count of the pod set, {pod_set.count}.",
            remedy="Lower minCount, or remove it for all or nothing.",
        )


def _template_violations(place: str, pod_set: PodSet) -> Iterator[Violation]:
    """Labels and annotations of the pod template that Kubernetes would refuse on pods."""
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
            yield violation(
                pod,
                "Stated",
                rule="A pod cannot ask for the resource pods: each is one, and is counted so.",
                remedy="Remove pods from its requests and limits.",
            )
        if amount * max(1, pod_set.count) > MAX_AMOUNT:
            yield violation(
                pod,
                "Stated",
                rule=f"All pods of a set ask for at most {MAX_AMOUNT} of {resource}.",
                remedy="Give a smaller amount or count.",
            )
        if amount < 0:
            yield violation(
                pod,
                "Stated",
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
            yield violation(
                f"{wish}/weight",
                "Stated",
                rule="The weight of a wish lies between 1 and 100.",
                remedy="Choose a number in this range.",
            )


MAX_GRACE_SECONDS = 86_400


MAX_PREEMPTION_GATES = 8


MAX_HANDLER_LENGTH = 253


def preemption_setting_violations(spec: WorkloadSpec) -> Iterator[Violation]:
    """Violations of the preemption gates and the eviction policy."""
    yield from _gate_violations(spec.preemption_gates)
    if spec.eviction_policy is not None:
        yield from _policy_violations(spec.eviction_policy)


def _gate_violations(gates: tuple[str, ...]) -> Iterator[Violation]:
    pointer = "/spec/preemptionGates"
    if len(gates) > MAX_PREEMPTION_GATES:
        yield violation(
            pointer,
            "Stated",
            rule=f"A workload has at most {MAX_PREEMPTION_GATES} preemption gates.",
            remedy=f"Remove {len(gates) - MAX_PREEMPTION_GATES} of them.",
        )
    for index, gate in enumerate(gates):
        broken = broken_rule_of_label_key(gate)
        if broken:
            yield violation(
                child(pointer, index, "name"),
                "Stated",
                rule=broken,
                remedy="Name the gate like a label: example.com/gate.",
            )
        if gate in gates[:index]:
            yield violation(
                child(pointer, index, "name"),
                "Stated",
                rule=f"Gate {gate} is listed twice.",
                remedy="Name each gate once.",
            )


def _policy_violations(policy: EvictionPolicy) -> Iterator[Violation]:
    pointer = "/spec/evictionPolicy"
    if not 0 <= policy.grace_period_seconds <= MAX_GRACE_SECONDS:
        yield violation(
            f"{pointer}/gracePeriodSeconds",
            "Stated",
            rule=f"A grace period has 0 to {MAX_GRACE_SECONDS} seconds.",
            remedy="Give fewer, and let the handler report progress to get more.",
        )
    if len(policy.handler) > MAX_HANDLER_LENGTH:
        yield violation(
            f"{pointer}/handler",
            "Stated",
            rule=f"A handler's name has at most {MAX_HANDLER_LENGTH} characters.",
            remedy="Choose a shorter name.",
        )
    if policy.require_ack and not policy.handler:
        yield violation(
            f"{pointer}/requireAck",
            "Stated",
            rule="Only a handler can acknowledge an eviction.",
            remedy="Name the handler, or leave requireAck out.",
        )


def annotation_violations(
    annotations: Annotations, before: Annotations | None = None
) -> Iterator[Violation]:
    """Violations of the admission gates; `before` are the annotations of an existing workload.

    Gates can only be removed from an existing workload.
    """
    gates = admission_gates(annotations)
    pointer = child("/metadata/annotations", ADMISSION_GATES)
    for gate in gates:
        if len(gate) > MAX_LABEL_LENGTH or "/" not in gate or broken_rule_of_label_key(gate):
            yield violation(
                pointer,
                "Stated",
                rule=f"{gate!r:.80} is no gate: a gate is a domain, a slash and a name, with at "
                f"most {MAX_LABEL_LENGTH} characters.",
                remedy="Write it like example.com/gate, several with commas between them.",
            )
    if len(set(gates)) < len(gates):
        yield violation(
            pointer,
            "Stated",
            rule="A gate is listed twice.",
            remedy="List each gate once.",
        )
    added = [] if before is None else [g for g in gates if g not in admission_gates(before)]
    if added:
        yield violation(
            pointer,
            "Stated",
            rule=f"Gates are only ever removed once a workload exists; {added[0]} would be new.",
            remedy="Remove it, and hold the workload to keep it from starting.",
        )


_ANNOTATIONS = "/metadata/annotations"


def elastic_violations(
    key: str, annotations: Annotations, spec: WorkloadSpec
) -> Iterator[Violation]:
    """Violations of an elastic workload, or of one that replaces a workload slice."""
    other = replaced_key(annotations)
    namespace = key.partition("/")[0]
    if other and not other.startswith(f"{namespace}/"):
        yield violation(
            child(_ANNOTATIONS, REPLACES),
            "Stated",
            rule="A slice replaces a workload of its own namespace.",
            remedy=f"Name it like {namespace}/its-name.",
        )
    if not other and not is_elastic(annotations):
        return
    marked = child(_ANNOTATIONS, REPLACES if other else ELASTIC)
    if any(pod_set.min_count is not None for pod_set in spec.pod_sets):
        yield violation(
            marked,
            "Stated",
            rule="An elastic workload starts with all its pods: it has no minCount.",
            remedy="Remove minCount, or the annotation.",
        )


def is_scale_down(before: tuple[PodSet, ...], after: tuple[PodSet, ...]) -> bool:
    """Whether the pod sets differ only in counts, and no count is higher."""
    return len(before) == len(after) and all(
        new == replace(old, count=new.count) and new.count <= old.count
        for old, new in zip(before, after, strict=True)
    )


def change_violations(workload: Workload, after: WorkloadSpec) -> tuple[Violation, ...]:
    """Changes of the spec that are forbidden with quota reserved, or once admitted."""
    if workload.admission is None:
        return ()
    return (
        *_frozen_with_quota(workload.spec, after),
        *_frozen_class(workload.spec.priority_class, after.priority_class),
        *_frozen_once_admitted(workload, after),
    )


def _frozen_with_quota(before: WorkloadSpec, after: WorkloadSpec) -> Iterator[Violation]:
    frozen = (
        ("/spec/podSets", "podSets", not is_scale_down(before.pod_sets, after.pod_sets)),
        ("/spec/queueName", "queueName", before.queue_name != after.queue_name),
        ("/spec/preemptibility", "preemptibility", before.preemptibility != after.preemptibility),
        (
            "/spec/preemptionGates",
            "preemptionGates",
            before.preemption_gates != after.preemption_gates,
        ),
    )
    for pointer, field, differs in frozen:
        if differs:
            yield _too_late(pointer, f"{field} cannot change while the workload has quota.")
    if before.priority_class is None and before.priority != after.priority:
        yield _too_late("/spec/priority", "priority cannot change while the workload has quota.")


def _frozen_class(
    before: PriorityClassReference | None, after: PriorityClassReference | None
) -> Iterator[Violation]:
    pointer = "/spec/priorityClassRef"
    if (before is None) != (after is None):
        yield _too_late(pointer, "A priority class cannot come or go while there is quota.")
    if before is None or after is None:
        return
    if (before.group, before.kind) != (after.group, after.kind):
        yield _too_late(pointer, "The kind of priority class cannot change while there is quota.")
    elif before.kind == "PriorityClass" and before.name != after.name:
        yield _too_late(
            f"{pointer}/name", "A PriorityClass of pods cannot change while there is quota."
        )


def _frozen_once_admitted(workload: Workload, after: WorkloadSpec) -> Iterator[Violation]:
    before = workload.spec.maximum_execution_time_seconds
    if is_admitted(workload) and before != after.maximum_execution_time_seconds:
        yield _too_late(
            "/spec/maximumExecutionTimeSeconds",
            "maximumExecutionTimeSeconds cannot change while the workload is admitted.",
        )


def _too_late(pointer: str, rule: str) -> Violation:
    return violation(
        pointer,
        "Stated",
        rule=rule,
        remedy="Change it back, or requeue or deactivate the workload before changing it.",
    )
