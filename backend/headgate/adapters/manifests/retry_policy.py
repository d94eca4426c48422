"""retryPolicy, successPolicy and completions, as workloads and Jobs say them.

Jobs and JobSets say the same in Kubernetes' fields. Where one of these has no equal meaning here, a
message tells so; nothing is left out in silence.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec

from headgate.adapters.manifests.fields import Fields
from headgate.domain.field_rules import shown
from headgate.domain.values.index_ranges import IndexRanges, ranges_from_text, text_of_ranges
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.specs import (
    PodReason,
    PodSet,
    RetryAction,
    RetryPolicy,
    RetryRule,
    SuccessRule,
    WorkloadSpec,
)

FAILURE_REASONS: tuple[str, ...] = tuple(
    reason for reason in get_args(PodReason) if reason != "Completed"
)


def with_retries(fields: Fields, spec: WorkloadSpec) -> WorkloadSpec:
    """The spec with what a Workload says of failures and of its end."""
    return msgspec.structs.replace(
        spec,
        retry_policy=read_retry_policy(fields),
        success_rules=read_success_rules(fields),
        ttl_seconds_after_finished=fields.optional_integer("ttlSecondsAfterFinished"),
    )


def read_retry_policy(spec: Fields) -> RetryPolicy | None:
    """The retryPolicy of a Workload; without a limit it is Job's, with one per index none."""
    fields = spec.child("retryPolicy")
    if fields is None:
        return None
    usual = RetryPolicy()
    by_index = fields.optional_integer("limitPerIndex")
    limit = fields.optional_integer("limit")
    read = RetryPolicy(
        limit=usual.limit if limit is None and by_index is None else limit,
        limit_per_index=by_index,
        max_failed_indexes=fields.optional_integer("maxFailedIndexes"),
        backoff_base_seconds=fields.integer("backoffBaseSeconds", usual.backoff_base_seconds),
        backoff_max_seconds=fields.integer("backoffMaxSeconds", usual.backoff_max_seconds),
        rules=tuple(_rule(rule) for rule in fields.children("rules")),
    )
    fields.reject_unknown()
    return read


def _rule(fields: Fields) -> RetryRule:
    fields.require("action")
    codes = fields.child("onExitCodes")
    operator = codes.choice("operator", ("In", "NotIn"), "In") if codes else "In"
    values = _numbers(codes, "values") if codes else ()
    if codes is not None:
        codes.require("values")
        codes.reject_unknown()
    read = RetryRule(
        action=fields.choice("action", get_args(RetryAction), "RetryPod"),
        on_exit_codes=values,
        excludes_exit_codes=operator == "NotIn",
        on_signals=_numbers(fields, "onSignals"),
        on_reasons=fields.words("onReasons", FAILURE_REASONS),
        pod_sets=fields.texts("podSets"),
    )
    fields.reject_unknown()
    return read


def _numbers(fields: Fields, name: str) -> tuple[int, ...]:
    values = fields.raw(name)
    if values is None:
        return ()
    if isinstance(values, list) and all(type(value) is int for value in values):
        return tuple(values)
    fields.note(name, "NotIntegers")
    return ()


def read_success_rules(spec: Fields) -> tuple[SuccessRule, ...]:
    """The rules of the successPolicy of a Workload or a Job."""
    policy = spec.child("successPolicy")
    if policy is None:
        return ()
    found = []
    for fields in policy.children("rules"):
        found.append(
            SuccessRule(
                pod_sets=fields.texts("podSets"),
                indexes=_indexes(fields, "succeededIndexes"),
                count=fields.optional_integer("succeededCount"),
            )
        )
        fields.reject_unknown()
    policy.reject_unknown()
    return tuple(found)


def _indexes(fields: Fields, name: str) -> IndexRanges:
    text = fields.text(name)
    found = ranges_from_text(text) if text else ()
    if found is None:
        fields.note(name, "NotIndexRanges", value=shown(text))
        return ()
    return found


def rendered_retries(spec: WorkloadSpec) -> dict[str, Any]:
    """The fields of a spec that say how a workload is retried, completed and deleted."""
    rendered: dict[str, Any] = {}
    policy = spec.retry_policy
    if policy is not None:
        limits = {
            "limit": policy.limit,
            "limitPerIndex": policy.limit_per_index,
            "maxFailedIndexes": policy.max_failed_indexes,
        }
        rendered["retryPolicy"] = {
            **{name: limit for name, limit in limits.items() if limit is not None},
            "backoffBaseSeconds": policy.backoff_base_seconds,
            "backoffMaxSeconds": policy.backoff_max_seconds,
            "rules": [_rendered_rule(rule) for rule in policy.rules],
        }
    if spec.success_rules:
        rules = [_rendered_success(rule) for rule in spec.success_rules]
        rendered["successPolicy"] = {"rules": rules}
    if spec.ttl_seconds_after_finished is not None:
        rendered["ttlSecondsAfterFinished"] = spec.ttl_seconds_after_finished
    return rendered


def _rendered_rule(rule: RetryRule) -> dict[str, Any]:
    rendered: dict[str, Any] = {"action": rule.action}
    if rule.on_exit_codes:
        operator = "NotIn" if rule.excludes_exit_codes else "In"
        rendered["onExitCodes"] = {"operator": operator, "values": list(rule.on_exit_codes)}
    lists: Mapping[str, Sequence[object]] = {
        "onSignals": rule.on_signals,
        "onReasons": rule.on_reasons,
        "podSets": rule.pod_sets,
    }
    return rendered | {name: list(values) for name, values in lists.items() if values}


def _rendered_success(rule: SuccessRule) -> dict[str, Any]:
    rendered: dict[str, Any] = {"podSets": list(rule.pod_sets)} if rule.pod_sets else {}
    if rule.indexes:
        rendered["succeededIndexes"] = text_of_ranges(rule.indexes)
    if rule.count is not None:
        rendered["succeededCount"] = rule.count
    return rendered


class JobPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What one Job says of failures and of its end; `ignored` tells what has no equal here."""

    retries: RetryPolicy
    success_rules: tuple[SuccessRule, ...] = ()
    completions: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    ignored: tuple[Message, ...] = ()


JOB_ACTIONS: Mapping[str, RetryAction] = {
    "FailJob": "FailWorkload",
    "FailIndex": "FailIndex",
    "Count": "RetryPod",
    "Ignore": "Ignore",
}


def read_job_policy(spec: Fields, containers: Sequence[str], *, parallelism: int) -> JobPolicy:
    """What a Job's spec says; `containers` are the names of its pods' containers."""
    limit = spec.optional_integer("backoffLimit")
    by_index = spec.optional_integer("backoffLimitPerIndex")
    completions = spec.optional_integer("completions")
    spec.choice("completionMode", ("NonIndexed", "Indexed"), "NonIndexed")
    ignored: list[Message] = []
    if completions is None and parallelism > 1:
        ignored.append(message("JobWithoutCompletions", pods=parallelism))
    usual = RetryPolicy()
    policy = RetryPolicy(
        limit=usual.limit if limit is None and by_index is None else limit,
        limit_per_index=by_index,
        max_failed_indexes=spec.optional_integer("maxFailedIndexes"),
        rules=tuple(_job_rules(spec, containers, ignored)),
    )
    if spec.choice("podReplacementPolicy", ("TerminatingOrFailed", "Failed"), None) == (
        "TerminatingOrFailed"
    ):
        ignored.append(message("FieldWithoutEqual", field="podReplacementPolicy"))
    return JobPolicy(
        retries=policy,
        success_rules=read_success_rules(spec),
        completions=completions,
        active_deadline_seconds=spec.optional_integer("activeDeadlineSeconds"),
        ttl_seconds_after_finished=spec.optional_integer("ttlSecondsAfterFinished"),
        ignored=tuple(ignored),
    )


def _job_rules(
    spec: Fields, containers: Sequence[str], ignored: list[Message]
) -> Iterator[RetryRule]:
    """The rules of a podFailurePolicy that have an equal here, in order."""
    policy = spec.child("podFailurePolicy")
    if policy is None:
        return
    for number, fields in enumerate(policy.children("rules")):
        fields.require("action")
        action = JOB_ACTIONS[fields.choice("action", tuple(JOB_ACTIONS), "Count")]
        codes = fields.child("onExitCodes")
        if codes is not None:
            yield from _exit_code_rule(codes, action, containers, number, ignored)
        if fields.has("onPodConditions"):
            yield from _condition_rule(fields, action, number, ignored)
        fields.reject_unknown()
    policy.reject_unknown()


def _exit_code_rule(
    codes: Fields,
    action: RetryAction,
    containers: Sequence[str],
    number: int,
    ignored: list[Message],
) -> Iterator[RetryRule]:
    """The rule, unless its container is not the one that gives the pod its exit code."""
    container = codes.text("containerName")
    operator = codes.choice("operator", ("In", "NotIn"), "In")
    values = _numbers(codes, "values")
    codes.reject_unknown()
    if container and container not in containers[:1]:
        ignored.append(message("FailureRuleOfContainer", number=number, container=shown(container)))
        return
    yield RetryRule(action=action, on_exit_codes=values, excludes_exit_codes=operator == "NotIn")


def _condition_rule(
    fields: Fields, action: RetryAction, number: int, ignored: list[Message]
) -> Iterator[RetryRule]:
    """DisruptionTarget is the loss of a node; no other condition is known of pods here."""
    for condition in fields.children("onPodConditions"):
        kind = condition.required_text("type")
        status = condition.text("status", "True")
        condition.reject_unknown()
        if (kind, status) == ("DisruptionTarget", "True") and action != "RetryPod":
            yield RetryRule(action=action, on_reasons=("NodeLost", "Evicted"))
        else:
            condition_text = shown(f"{kind}={status}")
            ignored.append(
                message("FailureRuleOfCondition", number=number, condition=condition_text)
            )


def with_completions(
    pod_set: PodSet, job: JobPolicy, *, replicas: int = 1
) -> tuple[PodSet, JobPolicy]:
    """The pod set with its Jobs' completions, where fewer run at a time or it may be reduced.

    Indices are those of all replicas, one after another, so that no rule of one Job names them.
    """
    if replicas > 1 and job.success_rules:
        told = message("FieldWithoutEqual", field="successPolicy of replicas")
        job = msgspec.structs.replace(job, success_rules=(), ignored=(*job.ignored, told))
    completions, at_once = job.completions, pod_set.count // max(1, replicas)
    if completions is None or (completions <= at_once and pod_set.min_count is None):
        return pod_set, job
    return msgspec.structs.replace(pod_set, completions=completions * replicas or None), job


def policy_of_job_set(spec: Fields, jobs: Mapping[str, JobPolicy]) -> JobPolicy:
    """What a JobSet and its Jobs say together; each restart of a JobSet retries the workload."""
    ignored = [found for job in jobs.values() for found in job.ignored]
    limits = {job.retries.limit for job in jobs.values()}
    known = [limit for limit in limits if limit is not None]
    rules = [
        msgspec.structs.replace(rule, pod_sets=(name,))
        for name, job in jobs.items()
        for rule in job.retries.rules
    ]
    failures = spec.child("failurePolicy")
    limit = min(known, default=None)
    if failures is not None:
        limit = failures.integer("maxRestarts", 0)
        rules += _job_set_rules(failures, ignored)
        rules.append(RetryRule(action="RetryWorkload"))
        if limits - {0}:
            ignored.append(message("BackoffLimitOfJobSet"))
    elif len(limits) > 1:
        ignored.append(message("BackoffLimitsDiffer", limit=limit))
    by_index = {job.retries.limit_per_index for job in jobs.values()}
    if limit is None and len(by_index) > 1:
        limit = RetryPolicy().limit
    failed = {job.retries.max_failed_indexes for job in jobs.values()}
    if len(by_index) > 1 or len(failed) > 1:
        ignored.append(message("LimitsPerIndexDiffer"))
    deadlines = [job.active_deadline_seconds for job in jobs.values()]
    if any(job.ttl_seconds_after_finished is not None for job in jobs.values()):
        ignored.append(message("FieldWithoutEqual", field="ttlSecondsAfterFinished of Jobs"))
    own_rules = [
        msgspec.structs.replace(rule, pod_sets=(name,))
        for name, job in jobs.items()
        for rule in job.success_rules
    ]
    if own_rules and len(jobs) > 1:
        ignored.append(message("FieldWithoutEqual", field="successPolicy of Jobs"))
    return JobPolicy(
        retries=RetryPolicy(
            limit=limit,
            limit_per_index=by_index.pop() if len(by_index) == 1 else None,
            max_failed_indexes=failed.pop() if len(failed) == 1 else None,
            rules=tuple(rules),
        ),
        success_rules=(
            tuple(own_rules) if own_rules and len(jobs) == 1 else _job_set_success(spec, jobs)
        ),
        active_deadline_seconds=min((n for n in deadlines if n is not None), default=None),
        ttl_seconds_after_finished=spec.optional_integer("ttlSecondsAfterFinished"),
        ignored=tuple(ignored),
    )


JOB_SET_ACTIONS: Mapping[str, RetryAction] = {
    "FailJobSet": "FailWorkload",
    "RestartJobSet": "RetryWorkload",
}


def _job_set_rules(failures: Fields, ignored: list[Message]) -> Iterator[RetryRule]:
    """The rules of a JobSet's failurePolicy that have an equal here, in order."""
    failures.pass_over("restartStrategy")
    for number, fields in enumerate(failures.children("rules")):
        action = fields.required_text("action")
        targets = fields.texts("targetReplicatedJobs")
        reasons = fields.texts("onJobFailureReasons")
        patterns = fields.texts("onJobFailureMessagePatterns")
        fields.ignore("name")
        fields.reject_unknown()
        if action in JOB_SET_ACTIONS and not reasons and not patterns:
            yield RetryRule(action=JOB_SET_ACTIONS[action], pod_sets=targets)
        else:
            ignored.append(message("FailureRuleOfJobSet", number=number, action=shown(action)))
    failures.reject_unknown()


def _job_set_success(spec: Fields, jobs: Mapping[str, JobPolicy]) -> tuple[SuccessRule, ...]:
    """A JobSet's successPolicy: all of the named Jobs, or any one of them."""
    policy = spec.child("successPolicy")
    if policy is None:
        return ()
    operator = policy.choice("operator", ("All", "Any"), "All")
    named = policy.texts("targetReplicatedJobs") or tuple(jobs)
    policy.reject_unknown()
    if operator == "Any":
        return tuple(SuccessRule(pod_sets=(name,)) for name in named)
    return () if set(named) == set(jobs) else (SuccessRule(pod_sets=named),)


def policy_of_pytorch_job(spec: Fields) -> JobPolicy:
    """What a PyTorchJob says of failures; it has succeeded once its master has."""
    fields = spec.child_or_empty("runPolicy")
    replicas = spec.child_or_empty("pytorchReplicaSpecs")
    rules, ignored = [], list[Message]()
    for role in ("Master", "Worker"):
        policy = replicas.child_or_empty(role).text("restartPolicy", "OnFailure")
        names = (role.lower(),)
        if policy == "Never":
            rules.append(RetryRule(action="FailWorkload", pod_sets=names))
        elif policy == "ExitCode":
            # Kubeflow: codes up to 127 are final, greater ones are those of signals.
            final = tuple(range(1, 128))
            rules.append(RetryRule(action="FailWorkload", on_exit_codes=final, pod_sets=names))
    for field in ("elasticPolicy", "nprocPerNode"):
        if spec.has(field):
            ignored.append(message("FieldWithoutEqual", field=field))
    main = "master" if replicas.has("Master") else "worker"
    return JobPolicy(
        retries=RetryPolicy(limit=fields.optional_integer("backoffLimit"), rules=tuple(rules)),
        success_rules=(SuccessRule(pod_sets=(main,), indexes=((0, 0),)),),
        active_deadline_seconds=fields.optional_integer("activeDeadlineSeconds"),
        ttl_seconds_after_finished=fields.optional_integer("ttlSecondsAfterFinished"),
        ignored=tuple(ignored),
    )
