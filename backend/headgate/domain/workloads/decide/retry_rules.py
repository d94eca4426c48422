"""Violations of retry policies, success rules and completions (Kubernetes: validation of Jobs)."""

from collections.abc import Iterator

from headgate.domain.field_rules import (
    count_violations,
    duplicate_violations,
    range_violations,
    shown,
)
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.index_ranges import count_of
from headgate.domain.workloads.specs import (
    RetryPolicy,
    RetryRule,
    SuccessRule,
    WorkloadSpec,
    index_count,
)

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
        yield from _policy_violations(spec, spec.retry_policy)
    yield from count_violations(_SUCCESS, len(spec.success_rules), MAX_SUCCESS_RULES)
    for index, rule in enumerate(spec.success_rules):
        yield from _success_violations(spec, child(_SUCCESS, index), rule)
    yield from range_violations(_TTL, spec.ttl_seconds_after_finished, 0, MAX_RETRIES)


def _policy_violations(spec: WorkloadSpec, policy: RetryPolicy) -> Iterator[Violation]:
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
        yield from _pod_set_violations(spec, place, rule.pod_sets)
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
    yield from _pod_set_violations(spec, place, rule.pod_sets)
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


def _pod_set_violations(
    spec: WorkloadSpec, place: str, named: tuple[str, ...]
) -> Iterator[Violation]:
    names = tuple(pod_set.name for pod_set in spec.pod_sets)
    entries = [(child(place, "podSets", index), name) for index, name in enumerate(named)]
    yield from duplicate_violations(entries)
    for pointer, name in entries:
        if name not in names:
            yield violation(pointer, "NotOneOf", value=shown(name), choices=names)
