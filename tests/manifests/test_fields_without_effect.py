"""What is accepted without effect is named, once for each field (nothing in silence)."""

from typing import Any

import pytest

from headgate.adapters.manifests.feature_gates import FEATURE_GATES
from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.rejection import moved
from headgate.messages.catalogue import text_of
from tests.manifests.readers import a_manifest, read, refused
from tests.manifests.workloads import TEMPLATE


def a_configuration(**fields: Any) -> dict[str, Any]:
    """Kueue's Configuration with these fields."""
    return {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fields}


def told(manifest: dict[str, Any]) -> dict[str, str]:
    """The pointers of what has no effect, each with its text."""
    return {found.pointer: text_of(found.message) for found in read(manifest).warnings}


def a_job_set(replicated: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A JobSet of one replicated job."""
    job = {"name": "w", "template": {"spec": {"template": TEMPLATE}}} | (replicated or {})
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "x"},
        "spec": {"replicatedJobs": [job], **spec},
    }


def test_sections_about_kubernetes_are_named_one_by_one() -> None:
    given = {"webhook": {"port": 9443}, "metrics": {"bindAddress": ":8080"}, "tls": {}}
    assert told(a_configuration(**given)) == {
        "/webhook": "webhook has no effect here",
        "/metrics/bindAddress": "bindAddress has no effect here",
    }


def test_labels_of_workloads_part_no_figures() -> None:
    label = {"name": "team", "sourceKinds": ["Workload", "Cohort"]}
    given = a_configuration(metrics={"customLabels": [label]})
    pointer = "/metrics/customLabels/0/sourceKinds"
    assert told(given) == {pointer: "sourceKinds: Workload has no effect here"}
    (found,) = read(given).spec.metrics.custom_labels
    assert found.source_kinds == ("Cohort",)


def test_every_gate_of_kueue_is_in_the_table() -> None:
    assert len(FEATURE_GATES) == 114
    gate = FEATURE_GATES["PriorityBoost"]
    assert (gate.stage, gate.default, gate.effect) == ("Alpha", False, "Field")


@pytest.mark.parametrize("name", sorted(FEATURE_GATES))
def test_each_gate_is_honoured_or_warned_about_when_it_is_set(name: str) -> None:
    gate = FEATURE_GATES[name]
    usual = read(a_configuration()).spec
    effects = {
        value: bool(
            told(a_configuration(featureGates={name: value}))
            or read(a_configuration(featureGates={name: value})).spec != usual
        )
        for value in (True, False)
    }
    match gate.effect:
        case "NoOutcome":
            assert effects == {True: False, False: False}
        case "On":
            assert effects == {True: False, False: True}
        case "Field":
            assert any(effects.values())
        case _:
            assert effects == {True: True, False: False}


def test_a_gate_sets_its_field_unless_the_field_is_given() -> None:
    gates = {"TASProfileMixed": False, "TASFailedNodeReplacementFailFast": False}
    found = read(a_configuration(featureGates=gates)).spec.topology
    assert found == TopologyRules(profile="BestFit", fail_fast=False)
    own = a_configuration(featureGates=gates, topology={"profile": "Mixed"})
    assert read(own).spec.topology == TopologyRules(profile="Mixed", fail_fast=False)


def test_a_gate_that_kueue_does_not_have_is_refused() -> None:
    (text,) = refused(a_configuration(featureGates={"TASProfileMixd": True})).values()
    assert text == "Unknown feature gate TASProfileMixd Omit it, or write TASProfileMixed."
    assert refused(a_configuration(featureGates={"PriorityBoost": "yes"}))


def test_jobs_that_must_start_one_after_the_other_are_refused() -> None:
    after = [{"name": "v", "status": "Complete"}]
    manifest = a_job_set({"dependsOn": after}, startupPolicy={"startupPolicyOrder": "InOrder"})
    assert sorted(refused(manifest)) == [
        "/spec/replicatedJobs/0/dependsOn",
        "/spec/startupPolicy/startupPolicyOrder",
    ]
    at_once = read(a_job_set(startupPolicy={"startupPolicyOrder": "AnyOrder"}))
    assert at_once.warnings == ()


def test_fields_of_a_job_set_without_effect_are_named() -> None:
    found = told(a_job_set(network={"enableDNSHostnames": True}, suspend=True))
    assert found == {"/spec/network": "network has no effect here"}


def a_pod_spec(**fields: Any) -> dict[str, Any]:
    """A pod template of one container, with these fields."""
    return {"spec": {"containers": [{"name": "c"}], **fields}}


def a_job(template: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A Job of a template."""
    return a_manifest("Job", "batch/v1", spec={"template": template, **spec})


def test_fields_about_how_kubernetes_starts_pods_are_named_where_executors_start_them() -> None:
    container = {
        "name": "c",
        "terminationMessagePath": "/x",
        "ports": [{"containerPort": 80, "hostPort": 80}],
    }
    scratch = {"name": "s", "emptyDir": {"medium": "Memory"}}
    template = a_pod_spec(
        containers=[container],
        volumes=[scratch],
        dnsPolicy="None",
        enableServiceLinks=False,
        restartPolicy="Always",
        schedulerName="volcano",
    )
    spec = "/spec/template/spec"
    assert sorted(told(a_job(template))) == [
        f"{spec}/containers/0/ports/0/hostPort",
        f"{spec}/containers/0/terminationMessagePath",
        f"{spec}/dnsPolicy",
        f"{spec}/enableServiceLinks",
        f"{spec}/restartPolicy",
        f"{spec}/schedulerName",
        f"{spec}/volumes/0/emptyDir/medium",
    ]
    # A Deployment's pods are started by its controller, for which these say something.
    deployed = told(a_manifest("Deployment", "apps/v1", spec={"template": template}))
    assert deployed == {}


def test_what_kubernetes_adds_to_every_pod_is_not_named() -> None:
    container = {
        "name": "c",
        "imagePullPolicy": "Always",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    template = a_pod_spec(
        containers=[container],
        dnsPolicy="ClusterFirst",
        enableServiceLinks=True,
        restartPolicy="Never",
        schedulerName="default-scheduler",
        schedulingGates=[],
    )
    job = a_job(template, suspend=True, managedBy="kubernetes.io/job-controller")
    assert told(job) == {}


def test_a_workload_that_wants_restarts_is_told_to_say_how_often() -> None:
    pods = {"name": "main", "template": a_pod_spec(restartPolicy="OnFailure")}
    workload = a_manifest("Workload", spec={"podSets": [pods]})
    (found,) = told(workload).items()
    assert found[0] == "/spec/podSets/0/template/spec/restartPolicy"
    assert "without retryPolicy" in found[1]
    retried = {"podSets": [pods], "retryPolicy": {"limit": 2}}
    assert told(a_manifest("Workload", spec=retried)) == {}
    assert told(a_job(a_pod_spec(restartPolicy="OnFailure"))) == {}


def test_fields_of_a_job_about_its_controller_are_named() -> None:
    found = told(a_job(a_pod_spec(), managedBy="x.org/y", manualSelector=True, selector={"a": "b"}))
    assert found == {
        f"/spec/{field}": f"{field} has no effect here"
        for field in ("manualSelector", "selector", "managedBy")
    }


def test_what_a_controller_alone_reads_is_named_in_one_warning() -> None:
    spec = {
        "template": a_pod_spec(),
        "replicas": 2,
        "strategy": {"type": "Recreate"},
        "paused": True,
    }
    assert told(a_manifest("Deployment", "apps/v1", spec=spec)) == {
        "/spec": "Left to the controller of Deployment: paused, strategy"
    }


def test_what_neither_a_controller_nor_an_executor_reads_is_named() -> None:
    policy = {"backoffLimit": 2, "cleanPodPolicy": "All", "schedulingPolicy": {"minAvailable": 1}}
    spec = {"pytorchReplicaSpecs": {"Worker": {"template": a_pod_spec()}}, "runPolicy": policy}
    assert sorted(told(a_manifest("PyTorchJob", "kubeflow.org/v1", spec=spec))) == [
        "/spec/runPolicy/cleanPodPolicy",
        "/spec/runPolicy/schedulingPolicy/minAvailable",
    ]


def test_claims_of_devices_are_refused_because_pods_would_start_without_them() -> None:
    claiming = {"name": "c", "resources": {"claims": [{"name": "gpu"}]}}
    template = a_pod_spec(containers=[claiming], resourceClaims=[{"name": "gpu"}])
    found = refused(a_job(template, scheduling={"schedulingPolicy": {"basic": {}}}))
    spec = "/spec/template/spec"
    claims = "Resource claims are not supported Request a resource such as nvidia.com/gpu."
    assert found.pop("/spec/scheduling").startswith("scheduling of a Job belongs to kube-scheduler")
    assert found == {
        f"{spec}/resourceClaims": claims,
        f"{spec}/containers/0/resources/claims": claims,
    }


def test_the_place_of_a_rule_of_the_only_job_of_a_set_is_that_in_the_job() -> None:
    found = read(a_job_set())
    place = moved("/spec/retryPolicy/maxFailedIndexes", found.places)
    assert place == "/spec/replicatedJobs/0/template/spec/maxFailedIndexes"


@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_metadata_of_a_template_that_is_no_mapping_is_refused(part: str) -> None:
    template = {"metadata": {part: "x"}, **a_pod_spec()}
    found = refused(a_job(template))
    assert found == {
        f"/spec/template/metadata/{part}": "Must be a mapping Write its fields as key: value."
    }
