"""Kinds of jobs become the workloads that Kueue's integrations make of them (issue: job kinds)."""

from pathlib import Path

import pytest

from headgate.adapters.manifests.job_kinds import JOB_KINDS_BY_NAME
from headgate.adapters.manifests.parse import Desired, parse
from headgate.adapters.manifests.registry import MANIFEST_KINDS
from headgate.domain.kinds.registry import JOB_KINDS
from headgate.domain.workloads.decide.spec_rules import elastic_violations
from headgate.domain.workloads.specs import NO_RETRIES, REPLACES, RetryRule, SuccessRule
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
    assert [line.split()[0] for line in lines] == [*JOB_KINDS, "CronJob", *REFUSED]


def test_the_document_of_jobs_names_every_kind_and_what_runs_it() -> None:
    text = Path("docs/executors/jobs.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    told = {row.split("`")[1]: row.split("|")[3].strip() for row in rows}
    expected = (
        {
            name: "its own controller" if name in JOB_KINDS_BY_NAME else "executors"
            for name in JOB_KINDS
        }
        | {"PyTorchJob": "executors", "CronJob": "executors, as Jobs"}
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


GROUPED = "{metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack, GROUP}}, "


def leader_worker_set(annotation: str) -> str:
    """Two groups of a leader and two workers that must share a rack each."""
    manifest = EXAMPLES["LeaderWorkerSet"].manifest.replace("size: 4", "size: 3")
    return manifest.replace("Template: {", f"Template: {GROUPED}".replace("GROUP", annotation))


def test_each_group_of_a_leader_worker_set_has_a_topology_group_of_its_own() -> None:
    """Kueue's sample of LeaderWorkerSets with topology: it makes a workload of each group."""
    found = read(leader_worker_set("kueue.x-k8s.io/podset-group-name: lws")).spec.pod_sets
    requests = [one.topology_request for one in found]
    assert [(one.name, one.count) for one in found] == [
        ("leader-0", 1), ("worker-0", 2), ("leader-1", 1), ("worker-1", 2),
    ]  # fmt: skip
    groups = [None if each is None else each.pod_set_group_name for each in requests]
    assert groups == ["lws-0", "lws-0", "lws-1", "lws-1"]
    assert {each.required for each in requests if each is not None} == {"rack"}


def test_groups_of_a_leader_worker_set_without_a_group_name_need_not_share_a_rack() -> None:
    found = read(leader_worker_set("a: b")).spec.pod_sets
    assert [(one.name, one.count) for one in found] == [
        ("leader-0", 1), ("worker-0", 2), ("leader-1", 1), ("worker-1", 2),
    ]  # fmt: skip


def test_one_group_of_a_leader_worker_set_keeps_the_names_that_kueue_gives() -> None:
    manifest = leader_worker_set("a: b").replace("replicas: 2", "replicas: 1")
    found = read(manifest).spec.pod_sets
    assert [(one.name, one.count) for one in found] == [("leader", 1), ("worker", 2)]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_pods_that_are_served_may_name_the_queue(kind: str) -> None:
    """Kueue's sample of Deployments: its plain pods take the queue of their own label."""
    named = "{metadata: {labels: {kueue.x-k8s.io/queue-name: of-pods}}, spec: {"
    manifest = EXAMPLES[kind].manifest.replace("template: {spec: {", f"template: {named}")
    assert read(manifest).spec.queue_name == "lq"
    unnamed = manifest.replace("labels: {kueue.x-k8s.io/queue-name: lq}", "labels: {app: x}", 1)
    assert read(unnamed).spec.queue_name == "of-pods"


def test_a_train_job_takes_nodes_and_resources_of_its_trainer() -> None:
    """Trainer gives resources to containers called node, and keeps those of initializers."""
    dataset, node = read(EXAMPLES["TrainJob"].manifest).spec.pod_sets
    assert (dataset.scheduling.requests, node.scheduling.requests) == (
        {"cpu": 1000},
        {"nvidia.com/gpu": 2},
    )
    other = EXAMPLES["TrainJob"].manifest.replace("name: node, image", "name: trainer, image")
    found = read(other)
    told = [each.pointer for each in found.warnings if each.message.code == "FieldWithoutEffect"]
    assert told == ["/spec/trainer/resourcesPerNode"]
    assert found.spec.pod_sets[1].scheduling.requests == {}


@pytest.mark.parametrize(
    ("mpi", "counts"), [("mpi: {}", [1, 4]), ("mpi: {runLauncherAsNode: true}", [1, 3])]
)
def test_a_launcher_may_be_one_of_the_nodes_of_a_train_job(mpi: str, counts: list[int]) -> None:
    manifest = EXAMPLES["TrainJob"].manifest.replace("torch: {}", mpi)
    launched = manifest.replace("dataset-initializer", "trainer").replace(
        "name: dataset", "name: l"
    )
    found = read(launched.replace("numNodes: 3", "numNodes: 4"))
    assert [one.count for one in found.spec.pod_sets] == counts


def test_patches_of_a_train_job_place_the_pods_of_the_job_they_name() -> None:
    patch = "  podTemplateOverrides:\n  - targetJobs: [{name: node}]\n"
    spec = "    spec: {nodeSelector: {zone: a}, tolerations: [{key: t, operator: Exists}]}\n"
    pods = "{template: {spec: {template: {spec: {nodeSelector: {rack: b}}}}}, name: node}"
    jobs = f"{{template: {{spec: {{replicatedJobs: [{pods}]}}}}}}"
    later = f"  runtimePatches: [{{manager: x, trainingRuntimeSpec: {jobs}}}]\n"
    dataset, node = read(f"{EXAMPLES['TrainJob'].manifest}{patch}{spec}{later}").spec.pod_sets
    assert node.scheduling.node_selector == {"zone": "a", "rack": "b"}
    assert [each.key for each in node.scheduling.tolerations] == ["t"]
    assert dataset.scheduling.node_selector == {}


def test_a_train_job_without_its_runtime_is_refused() -> None:
    _, job = EXAMPLES["TrainJob"].manifest.split("---\n")
    assert "ClusterTrainingRuntime torch does not exist" in refused(job)["/spec/runtimeRef"]


@pytest.mark.parametrize("kind", sorted({*JOB_KINDS} - {"AppWrapper", "PodGroup", "TrainJob"}))
def test_a_wrapped_job_has_the_pods_of_its_kind(kind: str) -> None:
    """AppWrapper: InferPodSets; the one that submits a RayJob is no part of its cluster."""
    lines = EXAMPLES[kind].manifest.splitlines()
    wrapped = "".join(f"      {line}\n" for line in lines)
    head = "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\n"
    metadata = "metadata: {name: w, labels: {kueue.x-k8s.io/queue-name: outer}}\n"
    found = read(f"{head}{metadata}spec:\n  components:\n  - template:\n{wrapped}")
    counts = [count for name, count in EXAMPLES[kind].pod_sets if name != "submitter"]
    pod_sets = found.spec.pod_sets
    assert [one.count for one in pod_sets] == counts
    assert [one.name for one in pod_sets] == [f"w-{number}" for number in range(len(counts))]
    assert found.spec.queue_name == "outer"


def test_a_wrapped_object_of_another_kind_must_name_its_pods() -> None:
    manifest = EXAMPLES["AppWrapper"].manifest.replace("kind: Job", "kind: Pipeline")
    assert [one.count for one in read(manifest).spec.pod_sets] == [2]
    unnamed = manifest.replace("podSets: [{replicas: 2, path: template.spec.template}]", "x: {}")
    assert "/spec/components/0/podSets" in refused(unnamed)


def test_an_elastic_job_runs_all_of_its_completions() -> None:
    """Kueue's sample of elastic Jobs: 3 pods at a time until 100 have succeeded."""
    manifest = EXAMPLES["Job"].manifest.replace(
        "parallelism: 3", "parallelism: 3\n  completions: 9"
    )
    elastic = manifest.replace(
        "labels:", "annotations: {kueue.x-k8s.io/elastic-job: 'true'}, labels:"
    )
    found = read(elastic)
    (pod_set,) = found.spec.pod_sets
    assert (pod_set.count, pod_set.completions, found.spec.ignored) == (3, 9, ())
    assert not list(elastic_violations("ns/x", found.annotations, found.spec))
    slice_of_it = {**found.annotations, REPLACES: "ns/other"}
    (broken,) = elastic_violations("ns/x", slice_of_it, found.spec)
    assert broken.message.code == "ElasticCompletions"
