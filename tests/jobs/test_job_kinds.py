"""Kinds of jobs become the workloads that Kueue's integrations make of them (issue: job kinds)."""

from pathlib import Path

import pytest

from headgate.adapters.manifests.job_kinds import JOB_KINDS_BY_NAME
from headgate.adapters.manifests.parse import Desired, parse
from headgate.adapters.manifests.registry import MANIFEST_KINDS
from headgate.domain.kinds.registry import JOB_KINDS
from headgate.domain.workloads.specs import NO_RETRIES, RetryRule, SuccessRule
from headgate.messages.catalogue import text_of
from tests.jobs.__main__ import REFUSED, main
from tests.jobs.manifests import EXAMPLES, GPU, POD
from tests.manifests.readers import read, refused

GIB = 1 << 30
MIB = 1 << 20


@pytest.mark.parametrize("kind", JOB_KINDS)
def test_a_job_has_the_pod_sets_that_kueue_makes_of_it(kind: str) -> None:
    example = EXAMPLES[kind]
    found = read(example.manifest)
    assert found.kind == "Workload"
    assert tuple((one.name, one.count) for one in found.spec.pod_sets) == example.pod_sets
    assert found.spec.queue_name == "lq"
    assert found.labels["headgate.dev/kind"] == kind
    assert found.annotations["headgate.dev/submitted-as"].endswith(f" {kind}")


def test_the_registry_names_every_kind_of_job() -> None:
    workloads = {kind.name for kind in MANIFEST_KINDS.values() if kind.becomes == "Workload"}
    assert {*JOB_KINDS, "Workload"} == workloads
    assert set(JOB_KINDS) == set(EXAMPLES)


def test_the_table_of_kinds_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*JOB_KINDS, *REFUSED]


def test_the_document_of_jobs_names_every_kind_and_what_runs_it() -> None:
    text = Path("docs/executors/jobs.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    told = {row.split("`")[1]: row.split("|")[3].strip() for row in rows}
    expected = (
        {
            name: "its own controller" if name in JOB_KINDS_BY_NAME else "executors"
            for name in JOB_KINDS
        }
        | {"PyTorchJob": "executors"}
        | dict.fromkeys(REFUSED, "refused")
    )
    assert told == expected


@pytest.mark.parametrize("kind", sorted(JOB_KINDS_BY_NAME))
def test_pods_of_another_controller_are_started_by_no_executor_that_lacks_it(kind: str) -> None:
    found = read(EXAMPLES[kind].manifest)
    own = f"controller.{kind}"
    is_ours = JOB_KINDS_BY_NAME[kind].run_by == "executors"
    assert {own in one.needs for one in found.spec.pod_sets} == {not is_ours}


def test_the_class_of_the_run_policy_goes_before_those_of_the_templates() -> None:
    manifest = EXAMPLES["TFJob"].manifest
    named = manifest.replace("suspend: true", "schedulingPolicy: {priorityClass: high}")
    of_pods = named.replace(POD, f"priorityClassName: low, {POD}")
    reference = read(of_pods).spec.priority_class
    assert reference is not None
    assert (reference.kind, reference.name) == ("PriorityClass", "high")


def test_a_pytorch_job_ends_with_its_master_and_is_retried_as_its_roles_say() -> None:
    manifest = EXAMPLES["PyTorchJob"].manifest.replace(
        "    Worker:\n", "    Worker:\n      restartPolicy: Never\n"
    )
    limited = manifest.replace("suspend: true", "backoffLimit: 2, activeDeadlineSeconds: 60")
    spec = read(limited).spec
    assert spec.success_rules == (SuccessRule(pod_sets=("master",), indexes=((0, 0),)),)
    assert spec.retry_policy.limit == 2
    assert spec.retry_policy.rules == (RetryRule(action="FailWorkload", pod_sets=("worker",)),)
    assert spec.maximum_execution_time_seconds == 60


def test_a_role_that_no_job_of_the_kind_has_is_refused() -> None:
    manifest = EXAMPLES["PyTorchJob"].manifest.replace("Worker:", "Wroker:")
    (text,) = refused(manifest).values()
    assert "Unknown field Wroker" in text
    assert "Worker" in text


def test_a_ray_job_must_end_its_cluster_and_scale_nothing() -> None:
    manifest = EXAMPLES["RayJob"].manifest
    broken = manifest.replace("shutdownAfterJobFinishes: true", "clusterSelector: {ray: x}")
    scaled = broken.replace("headGroupSpec:", "enableInTreeAutoscaling: true\n    headGroupSpec:")
    assert sorted(refused(scaled)) == [
        "/spec/clusterSelector",
        "/spec/rayClusterSpec/enableInTreeAutoscaling",
        "/spec/shutdownAfterJobFinishes",
    ]
    by_http = manifest.replace("entrypoint: python x.py", "submissionMode: HTTPMode")
    assert "submitter" not in {one.name for one in read(by_http).spec.pod_sets}


def test_executors_of_spark_request_memory_with_their_overhead() -> None:
    driver, executor = read(EXAMPLES["SparkApplication"].manifest).spec.pod_sets
    # Python: 40 % of the memory, and never less than 384 MiB.
    assert driver.scheduling.requests == {"cpu": 1_000, "memory": (512 + 384) * MIB}
    assert executor.scheduling.requests == {
        "cpu": 2_000,
        "memory": (2048 + int(0.4 * 2048)) * MIB,
        "nvidia.com/gpu": 1,
    }


def test_settings_of_spark_count_where_no_field_says_more() -> None:
    manifest = EXAMPLES["SparkApplication"].manifest + (
        '  sparkConf: {spark.executor.memoryOverhead: 1g, spark.driver.memory: "2048",'
        ' spark.kubernetes.executor.request.cores: 500m, spark.memory.offHeap.enabled: "true",'
        " spark.memory.offHeap.size: 1gb, spark.executor.pyspark.memory: 256m}\n"
    )
    driver, executor = read(manifest).spec.pod_sets
    assert executor.scheduling.requests["cpu"] == 500
    assert executor.scheduling.requests["memory"] == 2 * GIB + GIB + GIB + 256 * MIB
    assert driver.scheduling.requests["memory"] == 512 * MIB + 384 * MIB


def test_what_spark_cannot_read_is_told() -> None:
    manifest = EXAMPLES["SparkApplication"].manifest.replace("memory: 512m", "memory: lots")
    dynamic = f"{manifest}  dynamicAllocation: {{enabled: true}}\n"
    assert sorted(refused(dynamic)) == ["/spec/driver/memory", "/spec/dynamicAllocation/enabled"]


def test_a_leader_worker_set_without_a_leader_is_one_pod_set() -> None:
    manifest = EXAMPLES["LeaderWorkerSet"].manifest.replace(
        f"    leaderTemplate: {{spec: {{{POD}}}}}\n", ""
    )
    assert [(one.name, one.count) for one in read(manifest).spec.pod_sets] == [("main", 8)]


def a_pod(name: str, *, total: int, body: str = POD) -> str:
    """A pod of the group `g`."""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n"
        f"  labels: {{kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/pod-group-name: g}}\n"
        f'  annotations: {{kueue.x-k8s.io/pod-group-total-count: "{total}"}}\n'
        f"spec:\n  restartPolicy: Never\n  {body}\n"
    )


def test_pods_of_a_group_are_one_workload() -> None:
    """KEP-2724, Alpha: pod groups; equal pods are one pod set."""
    text = "---\n".join([a_pod("a", total=3), a_pod("b", total=3, body=GPU), a_pod("c", total=3)])
    found = read(text)
    assert (found.name, found.labels["headgate.dev/kind"]) == ("g", "Pod")
    assert [one.count for one in found.spec.pod_sets] == [2, 1]
    assert found.spec.retry_policy == NO_RETRIES


def test_a_group_of_which_pods_are_missing_is_refused() -> None:
    text = "---\n".join([a_pod("a", total=3), a_pod("b", total=3)])
    (told,) = refused(text).values()
    assert told.startswith("Group g has 2 pods in the request; 3 announced")


def test_koordinators_label_makes_a_group_too() -> None:
    """KOO-18."""
    ours, theirs = "kueue.x-k8s.io/pod-group-name", "pod-group.scheduling.sigs.k8s.io"
    text = "---\n".join(a_pod(name, total=9).replace(ours, theirs) for name in "ab")
    assert [one.count for one in read(text).spec.pod_sets] == [2]


def test_other_documents_stay_beside_a_group_in_their_order() -> None:
    text = "---\n".join([a_pod("a", total=2), EXAMPLES["Job"].manifest, a_pod("b", total=2)])
    found = parse(text.encode())
    assert [one.name for one in found if isinstance(one, Desired)] == ["g", "x"]


def test_a_pod_that_kubernetes_would_start_again_says_that_it_is_not() -> None:
    (told,) = read(EXAMPLES["Pod"].manifest).spec.ignored
    assert "not started again" in text_of(told)
