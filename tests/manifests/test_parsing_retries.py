"""retryPolicy, and what Jobs and JobSets say of failures, completions and their end."""

from typing import Any

import pytest
import yaml

from headgate.adapters.manifests.parse import as_written
from headgate.domain.rejection import InvalidObject
from headgate.domain.values.message import message
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.specs import RetryPolicy, RetryRule, SuccessRule, sub_group_size
from headgate.messages.catalogue import remedy_of
from tests.manifests.readers import a_manifest, read, refused
from tests.manifests.workloads import TEMPLATE


def a_job(**spec: Any) -> Any:
    return read(a_manifest("Job", "batch/v1", spec={"template": TEMPLATE, **spec})).spec


def a_job_set(*jobs: dict[str, Any], replicas: int = 1, **spec: Any) -> Any:
    replicated = [
        {
            "name": f"job-{number}",
            "replicas": replicas,
            "template": {"spec": {"template": TEMPLATE, **job}},
        }
        for number, job in enumerate(jobs)
    ]
    body = {"replicatedJobs": replicated, **spec}
    return read(a_manifest("JobSet", "jobset.x-k8s.io/v1alpha2", spec=body)).spec


def violations_of(**spec: Any) -> dict[str, str]:
    pod_set = {"count": 2, "template": TEMPLATE, **spec.pop("podSet", {})}
    found = read(a_manifest("Workload", spec={"podSets": [pod_set], **spec}))
    return {v.pointer: v.message.code for v in workload_violations(found.spec)}


def test_a_job_without_a_word_on_failures_retries_six_times_as_in_kubernetes() -> None:
    assert a_job().retry_policy == RetryPolicy(limit=6)
    assert a_job(backoffLimit=2).retry_policy.limit == 2
    by_index = a_job(backoffLimitPerIndex=1, maxFailedIndexes=3).retry_policy
    assert (by_index.limit, by_index.limit_per_index, by_index.max_failed_indexes) == (None, 1, 3)


def test_a_workload_without_a_policy_has_none() -> None:
    pod_sets = [{"template": TEMPLATE}]
    assert read(a_manifest("Workload", spec={"podSets": pod_sets})).spec.retry_policy is None
    found = read(a_manifest("Workload", spec={"podSets": pod_sets, "retryPolicy": {}}))
    assert found.spec.retry_policy == RetryPolicy(limit=6)


def test_rules_of_a_pod_failure_policy_become_rules_of_retries() -> None:
    container = TEMPLATE["spec"]["containers"][0]["name"]
    rules = [
        {
            "action": "FailJob",
            "onExitCodes": {"containerName": container, "operator": "In", "values": [42]},
        },
        {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [1]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
    ]
    found = a_job(podFailurePolicy={"rules": rules})
    assert found.retry_policy.rules == (
        RetryRule(action="FailWorkload", on_exit_codes=(42,)),
        RetryRule(action="RetryPod", on_exit_codes=(1,), excludes_exit_codes=True),
        RetryRule(action="Ignore", on_reasons=("NodeLost", "Evicted")),
    )
    assert found.ignored == ()


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (
            {
                "action": "FailJob",
                "onExitCodes": {"containerName": "x", "operator": "In", "values": [1]},
            },
            message("FailureRuleOfContainer", number=0, container="x"),
        ),
        (
            {"action": "FailJob", "onPodConditions": [{"type": "Ready", "status": "False"}]},
            message("FailureRuleOfCondition", number=0, condition="Ready=False"),
        ),
    ],
)
def test_a_rule_without_an_equal_meaning_is_told_and_left_out(rule: Any, told: Any) -> None:
    found = a_job(podFailurePolicy={"rules": [rule]})
    assert found.retry_policy.rules == ()
    assert found.ignored == (told,)


def test_completions_above_parallelism_are_kept_and_others_mean_as_many_pods() -> None:
    (indexed,) = a_job(parallelism=4, completions=20, completionMode="Indexed").pod_sets
    assert (indexed.count, indexed.completions) == (4, 20)
    (gang,) = a_job(parallelism=4, completions=4).pod_sets
    assert (gang.count, gang.completions) == (4, None)
    queue = a_job(parallelism=4)
    assert queue.ignored == (message("JobWithoutCompletions", pods=4),)


def test_replicas_of_a_job_set_complete_as_often_as_all_their_jobs_together() -> None:
    success = {"rules": [{"succeededIndexes": "0"}]}
    job = {"parallelism": 2, "completions": 3, "successPolicy": success}
    found = a_job_set(job, replicas=3)
    (pods,) = found.pod_sets
    assert (pods.count, pods.completions) == (6, 9)
    assert sub_group_size(pods) == 3
    assert found.success_rules == ()
    assert found.ignored == (message("FieldWithoutEqual", field="successPolicy of replicas"),)
    (gang,) = a_job_set({"parallelism": 2, "completions": 2}, replicas=3).pod_sets
    assert (gang.count, gang.completions) == (6, None)


def test_deadline_and_lifetime_of_a_job_are_those_of_its_workload() -> None:
    found = a_job(activeDeadlineSeconds=90, ttlSecondsAfterFinished=0)
    assert found.maximum_execution_time_seconds == 90
    assert found.ttl_seconds_after_finished == 0
    policy = {"rules": [{"succeededIndexes": "0-2,5", "succeededCount": 2}]}
    assert a_job(completions=9, successPolicy=policy).success_rules == (
        SuccessRule(indexes=((0, 2), (5, 5)), count=2),
    )


def test_a_job_set_restarts_as_a_whole_and_succeeds_with_the_jobs_it_names() -> None:
    found = a_job_set(
        {"backoffLimit": 0},
        {"backoffLimit": 0},
        failurePolicy={
            "maxRestarts": 3,
            "rules": [{"action": "FailJobSet", "targetReplicatedJobs": ["job-0"]}],
        },
        successPolicy={"operator": "All", "targetReplicatedJobs": ["job-1"]},
        ttlSecondsAfterFinished=5,
    )
    assert found.retry_policy == RetryPolicy(
        limit=3,
        rules=(
            RetryRule(action="FailWorkload", pod_sets=("job-0",)),
            RetryRule(action="RetryWorkload"),
        ),
    )
    assert found.success_rules == (SuccessRule(pod_sets=("job-1",)),)
    assert found.ttl_seconds_after_finished == 5
    assert found.ignored == ()


def test_what_jobs_of_a_job_set_say_each_for_itself_is_told() -> None:
    found = a_job_set({"backoffLimit": 1}, {"backoffLimit": 4})
    assert found.retry_policy.limit == 1
    assert found.ignored == (message("BackoffLimitsDiffer", limit=1),)


@pytest.mark.parametrize(
    ("fields", "pointer", "code"),
    [
        ({"retryPolicy": {"limit": -1}}, "/spec/retryPolicy/limit", "NotInRange"),
        (
            {"retryPolicy": {"maxFailedIndexes": 1}},
            "/spec/retryPolicy/maxFailedIndexes",
            "LimitPerIndexMissing",
        ),
        (
            {"retryPolicy": {"rules": [{"action": "FailIndex"}]}},
            "/spec/retryPolicy/rules/0/action",
            "LimitPerIndexMissing",
        ),
        (
            {"retryPolicy": {"rules": [{"action": "Ignore"}] * 21}},
            "/spec/retryPolicy/rules",
            "TooMany",
        ),
        (
            {
                "retryPolicy": {
                    "rules": [{"action": "Ignore", "onSignals": [9], "onReasons": ["Error"]}]
                }
            },
            "/spec/retryPolicy/rules/0",
            "RetryRuleOfSeveralConditions",
        ),
        (
            {"retryPolicy": {"rules": [{"action": "Ignore", "podSets": ["x"]}]}},
            "/spec/retryPolicy/rules/0/podSets/0",
            "NotOneOf",
        ),
        ({"podSet": {"completions": 1}}, "/spec/podSets/0/completions", "NotInRange"),
        ({"successPolicy": {"rules": [{}]}}, "/spec/successPolicy/rules/0", "SuccessRuleEmpty"),
        (
            {"successPolicy": {"rules": [{"succeededIndexes": "2"}]}},
            "/spec/successPolicy/rules/0/succeededIndexes",
            "NotInRange",
        ),
        ({"ttlSecondsAfterFinished": -1}, "/spec/ttlSecondsAfterFinished", "NotInRange"),
    ],
)
def test_a_policy_that_means_nothing_is_refused_at_its_field(
    fields: Any, pointer: str, code: str
) -> None:
    found = violations_of(**fields)
    assert found == {pointer: code}


def test_what_cannot_be_read_of_a_policy_is_told_with_a_remedy() -> None:
    rules = [{"action": "Ignor", "onSignals": ["KILL"]}, {"onReasons": ["Nowhere"]}]
    spec = {
        "podSets": [{"template": TEMPLATE}],
        "retryPolicy": {"limt": 1, "rules": rules},
        "successPolicy": {"rules": [{"succeededIndexes": "4-2"}]},
    }
    assert sorted(refused(a_manifest("Workload", spec=spec))) == [
        "/spec/retryPolicy/limt",
        "/spec/retryPolicy/rules/0/action",
        "/spec/retryPolicy/rules/0/onSignals",
        "/spec/retryPolicy/rules/1/action",
        "/spec/retryPolicy/rules/1/onReasons/0",
        "/spec/successPolicy/rules/0/succeededIndexes",
    ]


def test_a_rule_that_a_job_breaks_is_told_where_the_job_has_it() -> None:
    job = a_manifest("Job", "batch/v1", spec={"template": TEMPLATE, "backoffLimit": -1})
    found = read(yaml.safe_dump(job))
    problem = InvalidObject("ObjectInvalid", violations=workload_violations(found.spec))
    (told,) = as_written(problem, found).violations
    assert told.pointer == "/spec/backoffLimit"
    assert remedy_of(told.message)
