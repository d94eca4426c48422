"""Workload, Job and JobSet manifests."""

from typing import Any

import pytest

from headgate.adapters.manifests.desired import as_written, named
from headgate.domain.rejection import InvalidObject
from headgate.domain.spec_rules import spec_violations
from headgate.domain.values.selectors import (
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    Toleration,
)
from headgate.domain.workloads.specs import (
    EvictionPolicy,
    PriorityClassReference,
    SliceLayer,
    TopologyRequest,
    WorkloadSpec,
)
from tests.builders.workloads import a_template
from tests.manifests.reading import a_manifest, read, refused

TEMPLATE = a_template()


def a_workload_manifest(
    pod_set: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    pod_sets = [{"template": TEMPLATE} | (pod_set or {})]
    return a_manifest("Workload", metadata=metadata or {}, spec={"podSets": pod_sets} | spec)


def spec_of(*args: Any, **spec: Any) -> WorkloadSpec:
    found: WorkloadSpec = read(a_workload_manifest(*args, **spec)).spec
    return found


def requests_of(spec: dict[str, Any]) -> dict[str, int]:
    return spec_of({"template": {"spec": spec}}).pod_sets[0].scheduling.requests


def asking(**requests: Any) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def test_a_workload_has_the_defaults_of_kueue() -> None:
    found = read(a_workload_manifest())
    (pod_set,) = found.spec.pod_sets
    assert (pod_set.name, pod_set.count, pod_set.min_count) == ("main", 1, None)
    assert pod_set.template == TEMPLATE
    assert (found.spec.active, found.spec.preemptibility) == (True, "Preemptible")
    assert (found.namespace, found.keeps) == ("default", ("priority",))


def test_a_workload_is_read_in_full() -> None:
    spec = spec_of(
        {"name": "w", "count": 4, "minCount": 2, "disruptionMode": "Single"},
        queueName="lq",
        priorityClassRef={
            "group": "kueue.x-k8s.io",
            "kind": "WorkloadPriorityClass",
            "name": "high",
        },
        priority=5,
        preemptionPriorityClassName="higher",
        preemptibility="SemiPreemptible",
        canPreempt=False,
        active=False,
        maximumExecutionTimeSeconds=60,
    )
    (pod_set,) = spec.pod_sets
    assert (pod_set.name, pod_set.count, pod_set.min_count) == ("w", 4, 2)
    assert (pod_set.disruption_mode, spec.queue_name, spec.priority) == ("Single", "lq", 5)
    assert spec.priority_class == PriorityClassReference(name="high")
    assert spec.preemption_priority_class_name == "higher"
    assert (spec.preemptibility, spec.can_preempt, spec.active) == ("SemiPreemptible", False, False)
    assert spec.maximum_execution_time_seconds == 60


def test_a_stated_priority_is_not_resolved_again() -> None:
    assert read(a_workload_manifest(priority=0)).keeps == ()


def test_a_priority_class_is_named_in_any_of_three_ways() -> None:
    pods = PriorityClassReference(group="scheduling.k8s.io", kind="PriorityClass", name="high")
    assert spec_of(priorityClassName="high").priority_class == PriorityClassReference(name="high")
    source = "scheduling.k8s.io/priorityclass"
    old = spec_of(priorityClassName="high", priorityClassSource=source)
    assert old.priority_class == pods
    template = {"spec": TEMPLATE["spec"] | {"priorityClassName": "high"}}
    assert spec_of({"template": template}).priority_class == pods
    found = refused(a_workload_manifest(priorityClassName="a", priorityClassRef={"name": "b"}))
    assert list(found) == ["/spec/priorityClassName"]
    wrong = {"name": "a", "kind": "PriorityClass", "group": "kueue.x-k8s.io"}
    assert list(refused(a_workload_manifest(priorityClassRef=wrong))) == [
        "/spec/priorityClassRef/group"
    ]


def test_preemptibility_comes_from_the_spec_then_labels_then_templates() -> None:
    label = "kueue.x-k8s.io/preemptibility"
    metadata = {"labels": {label: "non-preemptible"}}
    assert spec_of(None, metadata).preemptibility == "NonPreemptible"
    assert spec_of(None, metadata, preemptibility="Preemptible").preemptibility == "Preemptible"
    marked = TEMPLATE | {"metadata": {"labels": {label: "NonPreemptible"}}}
    assert spec_of({"template": marked}).preemptibility == "NonPreemptible"
    assert spec_of(None, {"labels": {label: "maybe"}}).preemptibility == "Preemptible"
    two = [{"name": "a", "template": marked}, {"name": "b", "template": TEMPLATE}]
    assert spec_of(podSets=two).preemptibility == "Preemptible"


def test_a_label_may_keep_a_workload_from_preempting() -> None:
    label = {"labels": {"kueue.x-k8s.io/can-preempt": "false"}}
    assert not spec_of(None, label).can_preempt
    assert spec_of(None, label, canPreempt=True).can_preempt


def test_admission_gates_are_read_as_they_are() -> None:
    gated = {"annotations": {"kueue.x-k8s.io/admission-gated-by": "x.io/a,x.io/b"}}
    found = read(a_workload_manifest(None, gated))
    assert found.annotations == gated["annotations"]


def test_containers_are_added_up() -> None:
    two = [asking(cpu="500m", memory="1Gi"), asking(cpu=1)]
    assert requests_of({"containers": two}) == {"cpu": 1500, "memory": 2**30}


def test_limits_stand_in_for_missing_requests() -> None:
    container = {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "gpu": 1}}}
    assert requests_of({"containers": [container]}) == {"cpu": 1000, "gpu": 1}


def test_initialisation_counts_where_it_is_hungrier() -> None:
    pod = {"containers": [asking(cpu=1)], "initContainers": [asking(cpu=3), asking(cpu=2)]}
    assert requests_of(pod) == {"cpu": 3000}


def test_sidecars_count_beside_containers_and_beside_later_initialisation() -> None:
    sidecar = asking(cpu=1) | {"restartPolicy": "Always"}
    pod = {"containers": [asking(cpu=2)], "initContainers": [asking(cpu=3), sidecar]}
    assert requests_of(pod) == {"cpu": 3000}
    pod = {"containers": [asking(cpu=2)], "initContainers": [sidecar, asking(cpu=3)]}
    assert requests_of(pod) == {"cpu": 4000}
    pod = {"containers": [asking(cpu=5)], "initContainers": [sidecar, asking(cpu=3)]}
    assert requests_of(pod) == {"cpu": 6000}


def test_overhead_comes_on_top() -> None:
    pod = {"containers": [asking(cpu=1)], "overhead": {"cpu": "250m", "memory": "64Mi"}}
    assert requests_of(pod) == {"cpu": 1250, "memory": 64 * 2**20}


def test_requests_of_the_whole_pod_replace_those_of_its_containers() -> None:
    pod = {
        "containers": [asking(cpu=1, gpu=1)],
        "resources": {"requests": {"cpu": 4}, "limits": {"memory": "1Gi"}},
    }
    assert requests_of(pod) == {"cpu": 4000, "gpu": 1, "memory": 2**30}


def test_a_sum_of_parts_is_rounded_up_once() -> None:
    assert requests_of({"containers": [asking(cpu="100u")] * 15}) == {"cpu": 2}


@pytest.mark.parametrize(
    ("resources", "pointer"),
    [
        ({"requests": {"cpu": "one"}}, "/requests/cpu"),
        ({"requests": {"cpu": True}}, "/requests/cpu"),
        ({"requests": {"cpu": -1}}, "/requests/cpu"),
        ({"limits": {"pods": 1}}, "/limits/pods"),
        ({"requests": {"cpu": 2}, "limits": {"cpu": 1}}, "/requests"),
        ({"request": {}}, "/request"),
        ({"requests": []}, "/requests"),
    ],
)
def test_bad_resources_are_told_where_they_stand(resources: dict[str, Any], pointer: str) -> None:
    template = {"spec": {"containers": [{"resources": resources}]}}
    place = "/spec/podSets/0/template/spec/containers/0/resources"
    assert list(refused(a_workload_manifest({"template": template}))) == [place + pointer]


def test_misspelt_fields_of_pods_are_found_and_known_ones_kept() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "restartPolicy": "Never",
            "nodeSelectr": {},
            "containers": [{"name": "c", "image": "i", "comand": ["x"]}],
        },
    }
    found = refused(a_workload_manifest({"template": template}))
    pod = "/spec/podSets/0/template/spec"
    assert list(found) == [f"{pod}/containers/0/comand", f"{pod}/nodeSelectr"]
    assert "Did you mean command?" in found[f"{pod}/containers/0/comand"]


def test_a_pod_set_has_a_template_with_a_container() -> None:
    manifest = a_manifest("Workload", spec={"podSets": [{"name": "main"}]})
    assert "/spec/podSets/0/template" in refused(manifest)
    empty = a_workload_manifest({"template": {"spec": {}}})
    assert list(refused(empty)) == ["/spec/podSets/0/template/spec/containers"]


def test_nodes_are_chosen_by_selector_tolerations_and_affinity() -> None:
    pod = TEMPLATE["spec"] | {
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 5}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["5"]}]}
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "preference": {"matchFields": []}}
                ],
            },
            "podAffinity": {},
        },
    }
    found = refused(a_workload_manifest({"template": {"spec": pod}}, typo=1))
    assert list(found) == ["/spec/typo"]
    scheduling = spec_of({"template": {"spec": pod}}).pod_sets[0].scheduling
    greater = Requirement(key="a", operator="Gt", values=("5",))
    assert scheduling.node_selector == {"pool": "gpu"}
    assert scheduling.tolerations == (Toleration(key="gpu", operator="Exists", seconds=5),)
    assert scheduling.affinity == (NodeSelectorTerm(match_expressions=(greater,)),)
    assert scheduling.preferred_affinity == (PreferredTerm(weight=7, term=NodeSelectorTerm()),)


def topology_of(**request: Any) -> TopologyRequest | None:
    found: TopologyRequest | None = (
        spec_of({"count": 8, "topologyRequest": request}).pod_sets[0].topology_request
    )
    return found


def test_topology_requests_are_read_in_every_form() -> None:
    assert topology_of(required="rack") == TopologyRequest(required="rack")
    assert topology_of(unconstrained=False) is None
    assert topology_of(podIndexLabel="i") is None
    one = topology_of(podSetSliceRequiredTopology="rack", podSetSliceSize=4)
    assert one == TopologyRequest(slice_layers=(SliceLayer(level="rack", size=4),))
    many = topology_of(
        preferred="block",
        balanced=True,
        podsetSliceRequiredTopologyConstraints=[
            {"topology": "block", "size": 4},
            {"topology": "rack", "size": "2"},
        ],
    )
    assert many is not None
    assert many.slice_layers == (
        SliceLayer(level="block", size=4),
        SliceLayer(level="rack", size=2),
    )


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"podSetSliceRequiredTopology": "rack"}, "podSetSliceSize"),
        ({"podSetSliceSize": 2}, "podSetSliceSize"),
        (
            {"podSetSliceSize": 2, "podsetSliceRequiredTopologyConstraints": []},
            "podsetSliceRequiredTopologyConstraints",
        ),
        ({"require": "rack"}, "require"),
    ],
)
def test_half_a_topology_request_is_refused(request_: dict[str, Any], field: str) -> None:
    found = refused(a_workload_manifest({"count": 8, "topologyRequest": request_}))
    assert f"/spec/podSets/0/topologyRequest/{field}" in found


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


def test_what_is_wrong_with_a_job_is_told_where_it_stands_in_the_job() -> None:
    found = read(JOB.replace('"size": 3', '"size": 4').replace("lq", "No!"))
    problem = InvalidObject("x", remedy="", violations=spec_violations(found.kind, found.spec))
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
    assert found.spec.queue_name == "lq"
    same = [replicated("a", 1, 1), replicated("a", 1, 1)]
    bad = job_set | {"spec": {"replicatedJobs": same, "networks": {}}}
    assert sorted(refused(bad)) == ["/spec/networks", "/spec/replicatedJobs/1/name"]


@pytest.mark.parametrize("seconds", [2**31, 10**18, -(2**31) - 1])
def test_an_integer_that_kubernetes_could_not_hold_is_refused(seconds: int) -> None:
    manifest = a_workload_manifest(maximumExecutionTimeSeconds=seconds)
    assert list(refused(manifest)) == ["/spec/maximumExecutionTimeSeconds"]


def test_each_setting_says_where_it_was_read() -> None:
    label = "kueue.x-k8s.io/preemptibility"
    assert spec_of(None, {"labels": {label: "NonPreemptible"}}).preemptibility_source == "Label"
    marked = TEMPLATE | {"metadata": {"labels": {label: "NonPreemptible"}}}
    assert spec_of({"template": marked}).preemptibility_source == "PodTemplates"
    assert spec_of(preemptibility="Preemptible").preemptibility_source == "Spec"
    assert spec_of().preemptibility_source is None


def test_a_word_that_means_nothing_and_templates_that_differ_are_told() -> None:
    label = "kueue.x-k8s.io/preemptibility"
    marked = TEMPLATE | {"metadata": {"labels": {label: "NonPreemptible"}}}
    two = [{"name": "a", "template": marked}, {"name": "b", "template": TEMPLATE}]
    spec = spec_of(None, {"labels": {label: "maybe"}}, podSets=two)
    assert spec.preemptibility_source is None
    assert [text.split(label)[0] for text in spec.ignored] == [
        "The label ",
        "The pod templates do not agree on the label ",
    ]


def test_the_words_of_the_founding_documents_for_units_are_understood() -> None:
    assert spec_of({"disruptionMode": "Pod"}).pod_sets[0].disruption_mode == "Single"
    assert spec_of({"disruptionMode": "PodGroup"}).pod_sets[0].disruption_mode == "All"


def test_gates_and_a_policy_for_leaving_are_read() -> None:
    policy = {"mode": "Soft", "gracePeriodSeconds": 90, "requireAck": True, "handler": "ckpt"}
    spec = spec_of(preemptionGates=[{"name": "a"}], evictionPolicy=policy | {"onDeadline": "Wait"})
    assert spec.preemption_gates == ("a",)
    assert spec.eviction_policy == EvictionPolicy(
        grace_period_seconds=90, require_ack=True, handler="ckpt", on_deadline="Wait"
    )
    careless = spec_of(evictionPolicy={"requireAck": True})
    assert [found.pointer for found in spec_violations("Workload", careless)] == [
        "/spec/evictionPolicy/requireAck"
    ]
