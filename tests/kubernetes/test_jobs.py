"""Jobs that others create suspended: submitted, started and ungated once they are admitted."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headgate.domain.values.capabilities import JOB, lacking_capabilities
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.executor.assignments import AssignedPod, AssignedPodSet, Assignment, Order
from headgate.executor.substrates.kubernetes.job_manifests import (
    Job,
    convert_job,
    manifest_of,
    start_patch,
)
from tests.executors.pods import assignment_of, eventually, key_of
from tests.kubernetes.api_double import ApiDouble
from tests.kubernetes.builders import EXECUTOR, podded
from tests.kubernetes.job_controller import JOBSET, JobController, JobSetController
from tests.kubernetes.kubelet import Cluster
from tests.kubernetes.object_store import Object
from tests.kubernetes.test_cluster import Executor
from tests.manifests.readers import read

INDEX = "batch.kubernetes.io/job-completion-index"
MANAGED = {"headgate.dev/managed": "true"}


@pytest.fixture
def jobs(api: ApiDouble, cluster: Cluster) -> JobController:
    """A Job controller, and the namespace team-a with the label."""
    cluster.change(
        ("namespaces", "", "team-a"), lambda found: found["metadata"].update(labels=MANAGED)
    )
    return JobController(api)


@pytest.fixture
def executor(jobs: JobController, cluster: Cluster, tmp_path: Path) -> Iterator[Executor]:
    made = Executor(cluster, tmp_path)
    yield made
    made.close()


def submitted(executor: Executor) -> Any:
    """The manifest of the only Job that waits to be submitted."""
    ((job, manifest),) = eventually(executor.substrate.jobs.to_submit)
    executor.substrate.jobs.note_submitted(job, "team-a/train")
    return manifest


def admitted(manifest: Any, nodes: tuple[str, ...], attempt: int = 1) -> Assignment:
    """The assignment of a Job's workload, with a node for each index."""
    template = manifest["spec"]["template"]
    given = assignment_of(template, pods=len(nodes), hosts=nodes, attempt=attempt)
    pods = tuple(
        AssignedPod(index=index, rank=index, run=1, node=node) for index, node in enumerate(nodes)
    )
    (pod_set,) = given.pod_sets
    return msgspec.structs.replace(given, pod_sets=(msgspec.structs.replace(pod_set, pods=pods),))


def nodes_by_index(cluster: Cluster) -> dict[str, str]:
    return {
        pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]: pod["spec"].get(
            "nodeName", ""
        )
        for pod in cluster.pods()
    }


def test_a_suspended_job_of_a_managed_namespace_is_submitted_once(
    jobs: JobController, executor: Executor
) -> None:
    jobs.create("other", "default", template=podded())
    jobs.create("train", template=podded(), completions=2, parallelism=2, backoffLimit=3)
    manifest = submitted(executor)
    template = manifest["spec"]["template"]
    assert (manifest["kind"], manifest["metadata"]["name"]) == ("Job", "train")
    assert manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "main"
    assert manifest["spec"]["backoffLimit"] == 0
    assert "suspend" not in manifest["spec"]
    uid = jobs.job("train")["metadata"]["uid"]
    assert template["metadata"]["annotations"][JOB] == f"{EXECUTOR}/Job/team-a/train/{uid}"
    assert lacking_capabilities(template, frozenset(executor.substrate.capabilities)) == ()
    assert f"job.{EXECUTOR}" in lacking_capabilities(template, frozenset({"image", "command"}))
    assert executor.substrate.jobs.to_submit() == []


def test_pods_of_an_admitted_job_run_where_their_rank_is_placed(
    jobs: JobController, cluster: Cluster, executor: Executor
) -> None:
    jobs.create("train", template=podded(), completions=3, parallelism=3)
    nodes = ("host-2", "host-1", "host-2")
    executor.assign(admitted(submitted(executor), nodes))
    executor.until(lambda: len(executor.reports("finished")) == 3)
    assert {each.reason for each in executor.reports("finished")} == {"Completed"}
    assert nodes_by_index(cluster) == {str(index): node for index, node in enumerate(nodes)}
    assert jobs.job("train")["status"]["conditions"][0]["type"] == "Complete"
    assert len(cluster.starts) == 3


def test_a_job_that_is_not_admitted_starts_nothing(
    jobs: JobController, cluster: Cluster, executor: Executor
) -> None:
    jobs.create("train", template=podded())
    submitted(executor)
    executor.assign()
    for _ in range(3):
        executor.core.step()
        executor.substrate.wait(0.02)
    assert cluster.pods() == []


def test_an_eviction_suspends_the_job_and_the_next_attempt_starts_it_again(
    jobs: JobController, cluster: Cluster, executor: Executor
) -> None:
    jobs.create("train", template=podded(lasts=True), completions=2, parallelism=2)
    manifest = submitted(executor)
    given = admitted(manifest, ("host-1", "host-1"))
    executor.assign(given)
    executor.until(lambda: len(executor.reports("ready")) == 2)
    executor.assign(msgspec.structs.replace(given, eviction=Order(id="e1", reason="Preempted")))
    executor.until(lambda: len(executor.reports("stopped")) == 2)
    assert cluster.processes == set()
    assert jobs.job("train")["spec"]["suspend"] is True
    executor.assign(admitted(manifest, ("host-2", "host-2"), attempt=2))
    executor.until(lambda: len([e for e in executor.reports("ready") if e.attempt == 2]) == 2)
    assert set(nodes_by_index(cluster).values()) == {"host-2"}


def test_a_failed_pod_is_replaced_by_its_job_within_the_run(
    api: ApiDouble, jobs: JobController, cluster: Cluster, executor: Executor
) -> None:
    jobs.create("train", template=podded(exit_code=3), completions=1, backoffLimit=2)
    executor.assign(admitted(submitted(executor), ("host-1",)))
    report = executor.end()
    assert report.reason == "Error"
    assert report.exit_code == 3
    assert "BackoffLimitExceeded" in report.message
    assert len(cluster.starts) == 3


def test_an_executor_that_starts_again_takes_over_the_pods_of_jobs(
    jobs: JobController, cluster: Cluster, tmp_path: Path
) -> None:
    first = Executor(cluster, tmp_path)
    jobs.create("train", template=podded(lasts=True))
    given = admitted(submitted(first), ("host-1",))
    first.assign(given)
    first.until(lambda: bool(first.reports("ready")))
    first.close()
    second = Executor(cluster, tmp_path)
    second.assign(given)
    for _ in range(3):
        second.core.step()
    run = second.substrate.observe()[key_of().name]
    second.close()
    assert run.state == "Running"
    assert len(cluster.starts) == 1


def test_a_deleted_job_ends_its_run_and_is_withdrawn(
    jobs: JobController, cluster: Cluster, executor: Executor
) -> None:
    jobs.create("train", template=podded(lasts=True))
    executor.assign(admitted(submitted(executor), ("host-1",)))
    executor.until(lambda: bool(executor.reports("ready")))
    jobs.delete("train")
    executor.until(lambda: bool(executor.reports("finished")))
    (report,) = executor.reports("finished")
    assert report.reason == "Error"
    withdrawn = executor.substrate.jobs
    assert withdrawn.to_withdraw() == ["team-a/train"]
    assert withdrawn.to_withdraw() == ["team-a/train"], "asked for until the server has answered"
    withdrawn.note_withdrawn("team-a/train")
    assert withdrawn.to_withdraw() == []


def test_pods_of_a_job_tolerate_the_taints_and_select_the_hostname_of_their_node(
    jobs: JobController, cluster: Cluster, executor: Executor
) -> None:
    """The label of a node may differ from its name, and its flavor accepts its taints."""
    gpu = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}

    def change(found: Object) -> None:
        found["metadata"]["labels"]["kubernetes.io/hostname"] = "h2.example.com"
        found["spec"]["taints"] = [gpu]

    cluster.change_node("host-2", change)
    own = {"key": "own", "operator": "Exists"}
    jobs.create("train", template=podded(tolerations=[own]))
    executor.until(lambda: executor.substrate.nodes()[1].taints != [])
    executor.assign(admitted(submitted(executor), ("host-2",)))
    assert executor.end().reason == "Completed"
    (pod,) = cluster.pods()
    assert pod["spec"]["nodeName"] == "host-2"
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "h2.example.com"}
    assert pod["spec"]["tolerations"] == [own, {**gpu, "operator": "Equal"}]


def test_pods_of_a_job_set_run_where_their_global_index_is_placed(
    api: ApiDouble, jobs: JobController, cluster: Cluster, tmp_path: Path
) -> None:
    """JobSet numbers its Jobs over all replicated Jobs, and each Job its pods."""
    controller = JobSetController(api)
    executor = Executor(cluster, tmp_path)
    of_worker = {"parallelism": 2, "completions": 2, "template": podded()}
    controller.create(
        "train",
        driver={"template": {"spec": {"template": podded()}}},
        worker={"replicas": 2, "template": {"spec": of_worker}},
    )
    manifest = submitted(executor)
    nodes = ("host-1", "host-2", "host-1", "host-1", "host-2")
    pods = [
        AssignedPod(index=rank - min(rank, 1), rank=rank, run=1, node=node)
        for rank, node in enumerate(nodes)
    ]
    given = assignment_of({}, pods=len(nodes), hosts=nodes)
    templates = [
        each["template"]["spec"]["template"] for each in manifest["spec"]["replicatedJobs"]
    ]
    pod_sets = tuple(
        AssignedPodSet(name=name, template=template, pods=tuple(part))
        for name, template, part in zip(
            ("driver", "worker"), templates, (pods[:1], pods[1:]), strict=True
        )
    )
    executor.assign(msgspec.structs.replace(given, pod_sets=pod_sets))
    executor.until(lambda: len(executor.reports("finished")) == 5)
    executor.close()
    labels = [pod["metadata"]["labels"] for pod in cluster.pods()]
    by_index = sorted(
        (int(each[f"{JOBSET}/job-global-index"]), int(each[INDEX]), each["headgate.dev/rank"])
        for each in labels
    )
    assert by_index == [(0, 0, "0"), (1, 0, "1"), (1, 1, "2"), (2, 0, "3"), (2, 1, "4")]
    ran = {
        pod["metadata"]["labels"]["headgate.dev/rank"]: pod["spec"]["nodeName"]
        for pod in cluster.pods()
    }
    assert ran == {str(rank): node for rank, node in enumerate(nodes)}
    job_set = api.do(lambda: api.store.find("jobsets", "team-a", "train"))
    assert job_set is not None
    assert job_set["status"]["conditions"][0]["type"] == "Completed"


def has_told_ends(executor: Executor, count: int) -> bool:
    return len(executor.reports("finished")) == count


def test_completions_of_replicas_run_in_the_places_of_their_jobs(
    api: ApiDouble, jobs: JobController, cluster: Cluster, tmp_path: Path
) -> None:
    """Of two Jobs with two completions each the indices are 0 and 1, and 2 and 3."""
    controller = JobSetController(api)
    executor = Executor(cluster, tmp_path)
    spec = {"parallelism": 1, "completions": 2, "template": podded()}
    controller.create("train", worker={"replicas": 2, "template": {"spec": spec}})
    manifest = submitted(executor)
    template = manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    given = assignment_of(template, pods=2, hosts=())
    for ended, indices in ((2, (0, 2)), (4, (1, 3))):
        pods = tuple(
            AssignedPod(index=index, rank=index, run=1, node=node)
            for index, node in zip(indices, ("host-1", "host-2"), strict=True)
        )
        worker = AssignedPodSet(name="worker", template=template, pods=pods)
        executor.assign(msgspec.structs.replace(given, pod_sets=(worker,), world_size=None))
        executor.until(partial(has_told_ends, executor, ended))
    executor.close()
    ran = {
        (pod["metadata"]["labels"][f"{JOBSET}/job-index"], pod["metadata"]["labels"][INDEX]): (
            pod["metadata"]["labels"]["headgate.dev/rank"],
            pod["spec"]["nodeName"],
        )
        for pod in cluster.pods()
    }
    assert ran == {
        ("0", "0"): ("0", "host-1"), ("0", "1"): ("1", "host-1"),
        ("1", "0"): ("2", "host-2"), ("1", "1"): ("3", "host-2"),
    }  # fmt: skip
    job_set = api.do(lambda: api.store.find("jobsets", "team-a", "train"))
    assert job_set is not None
    assert job_set["status"]["conditions"][0]["type"] == "Completed"


def test_a_job_that_kubernetes_refuses_to_start_fails_with_its_words(
    jobs: JobController, cluster: Cluster, executor: Executor
) -> None:
    jobs.create("train", template=podded())
    given = admitted(submitted(executor), ("host-1",))
    started = {"startTime": "2020-01-01T00:00:00Z"}
    cluster.change(("jobs", "team-a", "train"), lambda found: found.update(status=started))
    executor.assign(given)
    report = executor.end()
    assert report.reason == "StartFailed"
    assert "a job that has not stopped yet" in report.message
    assert cluster.pods() == []


def test_a_job_of_which_a_pod_cannot_be_placed_is_suspended_again(
    jobs: JobController, cluster: Cluster, executor: Executor
) -> None:
    template = podded(nodeSelector={"kubernetes.io/hostname": "host-1"})
    jobs.create("train", template=template, completions=2, parallelism=2)
    executor.assign(admitted(submitted(executor), ("host-1", "host-2")))
    executor.until(lambda: len(executor.reports("finished")) == 2)
    assert {each.reason for each in executor.reports("finished")} <= {"StartFailed", "Completed"}
    failed = [each for each in executor.reports("finished") if each.reason == "StartFailed"]
    assert all("refused to place" in each.message for each in failed)
    assert failed
    assert jobs.job("train")["spec"]["suspend"] is True


CONTAINER = {
    "name": "c", "image": "i", "command": ["train"], "imagePullPolicy": "IfNotPresent",
    "resources": {"requests": {"cpu": "1"}},
    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
}  # fmt: skip
DEFAULTED = {
    "metadata": {"creationTimestamp": None},
    "spec": {
        "containers": [CONTAINER], "dnsPolicy": "ClusterFirst", "restartPolicy": "Never",
        "schedulerName": "default-scheduler", "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    },
}  # fmt: skip
"""A template with the fields that the API server fills in."""


@pytest.mark.parametrize(
    ("kind", "spec", "pods"),
    [
        (
            "Job",
            {
                "backoffLimit": 6, "completionMode": "Indexed", "completions": 2, "parallelism": 2,
                "manualSelector": False, "podReplacementPolicy": "TerminatingOrFailed",
                "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}},
                "suspend": True, "template": DEFAULTED,
            },
            {"main": 2},
        ),
        (
            "JobSet",
            {
                "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
                "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
                "successPolicy": {"operator": "All"}, "suspend": True,
                "replicatedJobs": [
                    {
                        "name": "worker", "replicas": 2, "groupName": "default",
                        "template": {
                            "metadata": {"creationTimestamp": None},
                            "spec": {"completions": 3, "parallelism": 3, "template": DEFAULTED},
                        },
                    }
                ],
            },
            {"worker": 6},
        ),
    ],
)  # fmt: skip
def test_what_a_server_fills_in_is_read_as_part_of_a_workload(
    kind: str, spec: Any, pods: dict[str, int]
) -> None:
    """Fields that the API server or the webhook of JobSet sets break no rule of reading."""
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    metadata = {"name": "train", "namespace": "team-a", "uid": "u-1", "resourceVersion": "7"}
    suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": ""}
    found = {
        "metadata": {**metadata, "labels": labels, "managedFields": [{"manager": "kubectl"}]},
        "spec": spec,
        "status": {"conditions": [suspended], "ready": 0, "uncountedTerminatedPods": {}},
    }
    _, _, job = convert_job(kind, json.dumps(found).encode())
    read_back = read(manifest_of(job, EXECUTOR))
    assert isinstance(read_back.spec, WorkloadSpec)
    assert {each.name: each.count for each in read_back.spec.pod_sets} == pods
    assert read_back.spec.ignored == ()
    assert job.is_suspended
    assert not job.has_ended


def test_a_job_set_is_started_as_it_was_read_with_all_its_templates_gated() -> None:
    replicated = [
        {"name": name, "replicas": 2, "template": {"spec": {"template": podded()}}}
        for name in ("driver", "worker")
    ]
    job_set = Job(
        kind="JobSet",
        metadata=msgspec.convert(
            {"name": "train", "namespace": "team-a", "uid": "u-1", "resourceVersion": "7"},
            Job.__annotations__["metadata"],
        ),
        spec={"suspend": True, "replicatedJobs": replicated},
    )
    patch = start_patch(job_set, EXECUTOR)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert patch["spec"]["suspend"] is False
    for each in patch["spec"]["replicatedJobs"]:
        template = each["template"]["spec"]["template"]
        assert template["spec"]["schedulingGates"] == [{"name": "headgate.dev/placed"}]
        assert template["metadata"]["labels"]["headgate.dev/executor"] == EXECUTOR
    manifest = manifest_of(job_set, EXECUTOR)
    assert manifest["apiVersion"] == "jobset.x-k8s.io/v1alpha2"
    submitted_templates = [
        each["template"]["spec"]["template"] for each in manifest["spec"]["replicatedJobs"]
    ]
    assert {each["metadata"]["annotations"][JOB] for each in submitted_templates} == {
        f"{EXECUTOR}/JobSet/team-a/train/u-1"
    }
    assert "schedulingGates" not in submitted_templates[0]["spec"]


def test_a_job_that_ran_before_it_was_taken_over_is_followed_to_its_end(
    jobs: JobController, cluster: Cluster, executor: Executor
) -> None:
    template = podded(lasts=True)
    jobs.create("train", template=template, completions=2, parallelism=2, suspend=False)
    before = len(cluster.pods())
    reference = f"{EXECUTOR}/Job/team-a/train/{jobs.job('train')['metadata']['uid']}"
    metadata = {**template.get("metadata", {}), "annotations": {JOB: reference}}
    manifest = {"spec": {"template": {**template, "metadata": metadata}}}
    eventually(lambda: executor.substrate.jobs._find("Job/team-a/train"))  # noqa: SLF001
    executor.assign(admitted(manifest, ("host-1", "host-2")))
    for _ in range(3):
        executor.core.step()
        executor.substrate.wait(0.02)
    assert executor.reports("finished") == []
    assert jobs.job("train")["spec"]["suspend"] is False
    assert len(cluster.pods()) == before
    ended = [{"type": "Complete", "status": "True"}]
    cluster.change(
        ("jobs", "team-a", "train"),
        lambda found: found.setdefault("status", {}).update(conditions=ended),
    )
    executor.until(lambda: len(executor.reports("finished")) == 2)
    assert {each.reason for each in executor.reports("finished")} == {"Completed"}
