"""Job and JobSet manifests."""

from typing import Any

from headgate.adapters.manifests.parse import as_written, named
from headgate.domain.rejection import InvalidObject, violation
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.specs import (
    PodIndex,
    PriorityClassReference,
    SliceLayer,
    TopologyRequest,
)
from tests.manifests.readers import a_manifest, read, refused
from tests.manifests.workloads import TEMPLATE

JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  generateName: sample-
  namespace: team-a
  labels:
    kueue.x-k8s.io/queue-name: lq
    kueue.x-k8s.io/priority-class: high
    kueue.x-k8s.io/max-exec-time-seconds: "3600"
  annotations: {kueue.x-k8s.io/job-min-parallelism: "4"}
spec:
  parallelism: 8
  completions: 6
  suspend: true
  template:
    metadata:
      annotations:
        kueue.x-k8s.io/podset-required-topology: cloud/rack
        kueue.x-k8s.io/podset-slice-required-topology-constraints: |
          [{"topology": "cloud/rack", "size": 3}]
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
"""


def test_a_job_is_a_workload_of_the_pods_that_run_at_once() -> None:
    found = read(JOB)
    (pod_set,) = found.spec.pod_sets
    assert (found.kind, found.source) == ("Workload", "batch/v1 Job")
    assert (pod_set.name, pod_set.count, pod_set.min_count) == ("main", 6, 4)
    assert pod_set.scheduling.requests == {"cpu": 1000}
    assert pod_set.topology_request == TopologyRequest(
        required="cloud/rack", slice_layers=(SliceLayer(level="cloud/rack", size=3),)
    )
    assert found.spec.queue_name == "lq"
    assert found.spec.priority_class == PriorityClassReference(name="high")
    assert found.spec.maximum_execution_time_seconds == 3600
    assert found.annotations["headgate.dev/submitted-as"] == "batch/v1 Job"
    assert named(found, "x7k").name == "sample-x7k"


def test_what_is_wrong_with_a_job_is_reported_where_it_stands_in_the_job() -> None:
    found = read(JOB.replace('"size": 3', '"size": 40').replace("lq", "No!"))
    problem = InvalidObject("ObjectInvalid", violations=workload_violations(found.spec))
    annotations = "/spec/template/metadata/annotations"
    assert [v.pointer for v in as_written(problem, found).violations] == [
        "/metadata/labels/kueue.x-k8s.io~1queue-name",
        f"{annotations}/kueue.x-k8s.io~1podset-slice-size",
    ]


def test_what_cannot_be_read_of_a_job_is_told_there_too() -> None:
    text = JOB.replace("parallelism: 8", "parallelism: -8").replace('"3600"', '"soon"')
    text = text.replace('[{"topology": "cloud/rack", "size": 3}]', "{}").replace(
        "suspend", "supend"
    )
    annotations = "/spec/template/metadata/annotations"
    assert sorted(refused(text)) == [
        "/metadata/annotations/kueue.x-k8s.io~1job-min-parallelism",
        "/metadata/labels/kueue.x-k8s.io~1max-exec-time-seconds",
        "/spec/parallelism",
        "/spec/supend",
        f"{annotations}/kueue.x-k8s.io~1podset-slice-required-topology-constraints",
    ]


def test_a_job_set_has_a_pod_set_for_each_replicated_job() -> None:
    def replicated(name: str, replicas: int, parallelism: int) -> dict[str, Any]:
        job = {"parallelism": parallelism, "completions": parallelism, "template": TEMPLATE}
        return {"name": name, "replicas": replicas, "template": {"spec": job}}

    job_set = a_manifest(
        "JobSet",
        "jobset.x-k8s.io/v1alpha2",
        metadata={"labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        spec={"replicatedJobs": [replicated("leader", 1, 1), replicated("workers", 2, 4)]},
    )
    found = read(job_set)
    assert [(s.name, s.count) for s in found.spec.pod_sets] == [("leader", 1), ("workers", 8)]
    assert found.spec.pod_sets[1].pod_index == PodIndex(
        label="batch.kubernetes.io/job-completion-index",
        sub_group_label="jobset.sigs.k8s.io/job-index",
        sub_group_count=2,
    )
    assert found.spec.queue_name == "lq"
    same = [replicated("a", 1, 1), replicated("a", 1, 1)]
    bad = job_set | {"spec": {"replicatedJobs": same, "networks": {}}}
    assert sorted(refused(bad)) == ["/spec/networks", "/spec/replicatedJobs/1/name"]


def test_a_class_that_does_not_exist_is_reported_where_the_job_names_it() -> None:
    def place(job: str) -> str:
        wrong = violation("/spec/priorityClassRef/name", "PriorityClassNotFound", name="high")
        problem = InvalidObject("ObjectInvalid", violations=(wrong,))
        return as_written(problem, read(job)).violations[0].pointer

    assert place(JOB) == "/metadata/labels/kueue.x-k8s.io~1priority-class"
    unlabelled = JOB.replace("    kueue.x-k8s.io/priority-class: high\n", "")
    of_pods = unlabelled.replace(
        "restartPolicy: Never", "restartPolicy: Never\n      priorityClassName: high"
    )
    assert place(of_pods) == "/spec/template/spec/priorityClassName"
