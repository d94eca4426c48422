"""Violations of a workload's spec and annotations, at submission and when they are changed.

Sources: queueing.md §1.7, §3.12; preemption.md §6.2, traps P18 and P24; for retry policies, success
rules and completions Kubernetes: validation of Jobs. Kueue: workload_webhook.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from headgate.domain.field_rules import (
    MAX_LABEL_LENGTH,
    broken_rule_of_dns_label,
    broken_rule_of_label_key,
    count_violations,
    duplicate_violations,
    label_violations,
    length_violations,
    name_violations,
    node_term_violations,
    optional_name_violations,
    range_violations,
    shown,
    term_violations,
    toleration_violations,
)
from headgate.domain.kinds.priority_classes import MAX_PRIORITY, MIN_PRIORITY
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.index_ranges import count_of
from headgate.domain.values.message import Amount
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
    RetryPolicy,
    RetryRule,
    SuccessRule,
    WorkloadSpec,
    admission_gates,
    index_count,
    is_elastic,
    replaced_key,
)
from headgate.domain.workloads.state import Workload, is_admitted

MAX_POD_SETS = 18
MAX_PODS = 1_000_000
MAX_TERM_WEIGHT = 100

_POD_SETS = "/spec/podSets"
_ANNOTATIONS = "/metadata/annotations"
_AFFINITY = "template/spec/affinity/nodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def workload_violations(spec: WorkloadSpec) -> tuple[Violation, ...]:
    """Violations of a spec, without regard to queues, classes or LimitRanges."""
    found = [
        *_list_violations(spec),
        *_spec_violations(spec),
        *preemption_setting_violations(spec),
        *retry_violations(spec),
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
    yield from count_violations(_POD_SETS, len(spec.pod_sets), MAX_POD_SETS, 1)
    yield from duplicate_violations(
        (child(_POD_SETS, index, "name"), pod_set.name)
        for index, pod_set in enumerate(spec.pod_sets)
    )
    partial = [i for i, pod_set in enumerate(spec.pod_sets) if pod_set.min_count is not None]
    for index in partial[1:]:
        yield violation(child(_POD_SETS, index, "minCount"), "MinCountRepeated")


def _spec_violations(spec: WorkloadSpec) -> Iterator[Violation]:
    yield from optional_name_violations("/spec/queueName", spec.queue_name)
    seconds = spec.maximum_execution_time_seconds
    yield from range_violations("/spec/maximumExecutionTimeSeconds", seconds, 1)
    yield from range_violations("/spec/priority", spec.priority, MIN_PRIORITY, MAX_PRIORITY)
    has_core = any(pod_set.min_count is not None for pod_set in spec.pod_sets)
    if spec.preemptibility == "SemiPreemptible" and not has_core:
        yield violation("/spec/preemptibility", "MinCountMissing")


def _pod_set_violations(place: str, pod_set: PodSet) -> Iterator[Violation]:
    count = pod_set.count
    yield from name_violations(child(place, "name"), pod_set.name.lower(), broken_rule_of_dns_label)
    yield from range_violations(child(place, "count"), count, 0, MAX_PODS)
    yield from range_violations(child(place, "minCount"), pod_set.min_count, 0, count)


def _template_violations(place: str, pod_set: PodSet) -> Iterator[Violation]:
    """Labels and annotations of the pod template that Kubernetes would refuse on pods."""
    metadata = pod_set.template.get("metadata") or {}
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    # What is no mapping is refused where the manifest is read, and told beside these.
    if isinstance(labels, dict):
        yield from label_violations(child(place, "labels"), labels)
    for key in annotations if isinstance(annotations, dict) else ():
        yield from name_violations(child(place, "annotations", key), key, broken_rule_of_label_key)


def _scheduling_violations(place: str, pod_set: PodSet) -> Iterator[Violation]:
    scheduling = pod_set.scheduling
    pod = child(place, "template", "spec")
    for resource, amount in scheduling.requests.items():
        if resource == "pods":
            yield violation(pod, "PodsNotRequestable")
        if amount * max(1, pod_set.count) > MAX_AMOUNT:
            yield violation(pod, "RequestsNotCountable", maximum=Amount(resource, MAX_AMOUNT))
        if amount < 0:
            yield violation(pod, "RequestNegative", resource=resource)
    yield from label_violations(child(pod, "nodeSelector"), scheduling.node_selector)
    yield from toleration_violations(child(pod, "tolerations"), scheduling.tolerations)
    affinity = f"{place}/{_AFFINITY}"
    yield from term_violations(f"{affinity}/{_REQUIRED}", scheduling.affinity)
    for index, preferred in enumerate(scheduling.preferred_affinity):
        term = f"{affinity}/{_PREFERRED}/{index}"
        yield from node_term_violations(f"{term}/preference", preferred.term)
        yield from range_violations(f"{term}/weight", preferred.weight, 1, MAX_TERM_WEIGHT)


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
    yield from count_violations(pointer, len(gates), MAX_PREEMPTION_GATES)
    named = [(child(pointer, index, "name"), gate) for index, gate in enumerate(gates)]
    for place, gate in named:
        yield from name_violations(place, gate, broken_rule_of_label_key)
    yield from duplicate_violations(named)


def _policy_violations(policy: EvictionPolicy) -> Iterator[Violation]:
    pointer = "/spec/evictionPolicy"
    grace = policy.grace_period_seconds
    yield from range_violations(f"{pointer}/gracePeriodSeconds", grace, 0, MAX_GRACE_SECONDS)
    yield from length_violations(f"{pointer}/handler", policy.handler, MAX_HANDLER_LENGTH)
    if policy.require_ack and not policy.handler:
        yield violation(f"{pointer}/requireAck", "HandlerMissing")


def annotation_violations(
    annotations: Annotations, before: Annotations | None = None
) -> Iterator[Violation]:
    """Violations of the admission gates; `before` are the annotations of an existing workload.

    Gates can only be removed from an existing workload.
    """
    gates = admission_gates(annotations)
    pointer = child(_ANNOTATIONS, ADMISSION_GATES)
    for gate in gates:
        if len(gate) > MAX_LABEL_LENGTH or "/" not in gate or broken_rule_of_label_key(gate):
            maximum = MAX_LABEL_LENGTH
            yield violation(pointer, "AdmissionGateInvalid", value=shown(gate), maximum=maximum)
    yield from duplicate_violations((pointer, gate) for gate in gates)
    added = [] if before is None else [g for g in gates if g not in admission_gates(before)]
    if added:
        yield violation(pointer, "AdmissionGateAdded", value=added[0])


def elastic_violations(
    key: str, annotations: Annotations, spec: WorkloadSpec
) -> Iterator[Violation]:
    """Violations of an elastic workload, or of one that replaces a workload slice."""
    other = replaced_key(annotations)
    namespace = key.partition("/")[0]
    if other and not other.startswith(f"{namespace}/"):
        yield violation(child(_ANNOTATIONS, REPLACES), "SliceOfNamespace", namespace=namespace)
    if not other and not is_elastic(annotations):
        return
    place = child(_ANNOTATIONS, REPLACES if other else ELASTIC)
    if any(pod_set.min_count is not None for pod_set in spec.pod_sets):
        yield violation(place, "ElasticMinCount")
    if other and any(pod_set.completions is not None for pod_set in spec.pod_sets):
        yield violation(place, "ElasticCompletions")


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
    frozen = {
        "podSets": not is_scale_down(before.pod_sets, after.pod_sets),
        "queueName": before.queue_name != after.queue_name,
        "preemptibility": before.preemptibility != after.preemptibility,
        "preemptionGates": before.preemption_gates != after.preemption_gates,
        "priority": before.priority_class is None and before.priority != after.priority,
    }
    for field, differs in frozen.items():
        if differs:
            yield violation(f"/spec/{field}", "ImmutableWithQuota")


def _frozen_class(
    before: PriorityClassReference | None, after: PriorityClassReference | None
) -> Iterator[Violation]:
    pointer = "/spec/priorityClassRef"
    if before is None or after is None:
        if before is not after:
            yield violation(pointer, "ImmutableWithQuota")
    elif (before.group, before.kind) != (after.group, after.kind):
        yield violation(pointer, "ImmutableWithQuota")
    elif before.kind == "PriorityClass" and before.name != after.name:
        yield violation(f"{pointer}/name", "ImmutableWithQuota")


def _frozen_once_admitted(workload: Workload, after: WorkloadSpec) -> Iterator[Violation]:
    before = workload.spec.maximum_execution_time_seconds
    if is_admitted(workload) and before != after.maximum_execution_time_seconds:
        yield violation("/spec/maximumExecutionTimeSeconds", "ImmutableWhileAdmitted")


MAX_COMPLETIONS = 1_000_000
MAX_RETRY_RULES = 20
MAX_EXIT_CODES = 255
MAX_EXIT_CODE = 255
MAX_SIGNALS = 64
MAX_SUCCESS_RULES = 20
MAX_INDEX_RANGES = 1_000
MAX_BACKOFF_SECONDS = 86_400
MAX_RETRIES = 2**31 - 1

_POLICY = "/spec/retryPolicy"
_SUCCESS = "/spec/successPolicy/rules"
_TTL = "/spec/ttlSecondsAfterFinished"


def retry_violations(spec: WorkloadSpec) -> Iterator[Violation]:
    """Violations of how a workload is retried, completed and deleted once it has finished."""
    for index, pod_set in enumerate(spec.pod_sets):
        place = child("/spec/podSets", index, "completions")
        least = max(1, pod_set.count)
        yield from range_violations(place, pod_set.completions, least, MAX_COMPLETIONS)
    if spec.retry_policy is not None:
        yield from _retry_policy_violations(spec, spec.retry_policy)
    yield from count_violations(_SUCCESS, len(spec.success_rules), MAX_SUCCESS_RULES)
    for index, rule in enumerate(spec.success_rules):
        yield from _success_violations(spec, child(_SUCCESS, index), rule)
    yield from range_violations(_TTL, spec.ttl_seconds_after_finished, 0, MAX_RETRIES)


def _retry_policy_violations(spec: WorkloadSpec, policy: RetryPolicy) -> Iterator[Violation]:
    yield from range_violations(f"{_POLICY}/limit", policy.limit, 0, MAX_RETRIES)
    by_index, failed = policy.limit_per_index, policy.max_failed_indexes
    yield from range_violations(f"{_POLICY}/limitPerIndex", by_index, 0, MAX_RETRIES)
    yield from range_violations(f"{_POLICY}/maxFailedIndexes", failed, 0, MAX_COMPLETIONS)
    if by_index is None and failed is not None:
        yield violation(f"{_POLICY}/maxFailedIndexes", "LimitPerIndexMissing")
    base, longest = policy.backoff_base_seconds, policy.backoff_max_seconds
    yield from range_violations(f"{_POLICY}/backoffBaseSeconds", base, 0, MAX_BACKOFF_SECONDS)
    yield from range_violations(f"{_POLICY}/backoffMaxSeconds", longest, 0, MAX_BACKOFF_SECONDS)
    rules = f"{_POLICY}/rules"
    yield from count_violations(rules, len(policy.rules), MAX_RETRY_RULES)
    for index, rule in enumerate(policy.rules):
        place = child(rules, index)
        yield from _rule_violations(place, rule)
        yield from _named_pod_set_violations(spec, place, rule.pod_sets)
        if rule.action == "FailIndex" and by_index is None:
            yield violation(child(place, "action"), "LimitPerIndexMissing")


def _rule_violations(place: str, rule: RetryRule) -> Iterator[Violation]:
    conditions = (rule.on_exit_codes, rule.on_signals, rule.on_reasons)
    if sum(bool(given) for given in conditions) > 1:
        yield violation(place, "RetryRuleOfSeveralConditions")
    codes = child(place, "onExitCodes", "values")
    yield from count_violations(codes, len(rule.on_exit_codes), MAX_EXIT_CODES)
    for index, code in enumerate(rule.on_exit_codes):
        least = 0 if rule.excludes_exit_codes else 1
        yield from range_violations(child(codes, index), code, least, MAX_EXIT_CODE)
    signals = child(place, "onSignals")
    yield from count_violations(signals, len(rule.on_signals), MAX_SIGNALS)
    for index, number in enumerate(rule.on_signals):
        yield from range_violations(child(signals, index), number, 1, MAX_SIGNALS)


def _success_violations(spec: WorkloadSpec, place: str, rule: SuccessRule) -> Iterator[Violation]:
    yield from _named_pod_set_violations(spec, place, rule.pod_sets)
    if not rule.pod_sets and not rule.indexes and rule.count is None:
        yield violation(place, "SuccessRuleEmpty")
    sizes = [
        index_count(pod_set)
        for pod_set in spec.pod_sets
        if not rule.pod_sets or pod_set.name in rule.pod_sets
    ]
    smallest = min(sizes, default=0)
    indexes = child(place, "succeededIndexes")
    yield from count_violations(indexes, len(rule.indexes), MAX_INDEX_RANGES)
    if rule.indexes:
        yield from range_violations(indexes, rule.indexes[-1][1], 0, max(0, smallest - 1))
    most = count_of(rule.indexes) if rule.indexes else smallest
    yield from range_violations(child(place, "succeededCount"), rule.count, 1, max(1, most))


def _named_pod_set_violations(
    spec: WorkloadSpec, place: str, named: tuple[str, ...]
) -> Iterator[Violation]:
    names = tuple(pod_set.name for pod_set in spec.pod_sets)
    entries = [(child(place, "podSets", index), name) for index, name in enumerate(named)]
    yield from duplicate_violations(entries)
    for pointer, name in entries:
        if name not in names:
            yield violation(pointer, "NotOneOf", value=shown(name), choices=names)
