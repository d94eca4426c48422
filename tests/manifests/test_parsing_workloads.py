"""Workload manifests: what is said of the workload and of its pod sets."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.values.message import message
from headgate.domain.values.selectors import (
    LabelSelector,
    PodConstraints,
    PodTerm,
    Requirement,
    SpreadConstraint,
)
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.specs import (
    EvictionPolicy,
    PriorityClassReference,
    SliceLayer,
    TopologyRequest,
)
from tests.manifests.readers import read, refused
from tests.manifests.workloads import TEMPLATE, a_workload_manifest, spec_of


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


def test_a_word_of_the_spec_that_means_nothing_is_refused() -> None:
    """KAI, API 1: the enum of the field; labels fall back instead (KAI-8, KAI-9)."""
    found = refused(a_workload_manifest(preemptibility="maybe"))
    assert list(found) == ["/spec/preemptibility"]


def test_a_label_may_keep_a_workload_from_preempting() -> None:
    label = {"labels": {"kueue.x-k8s.io/can-preempt": "false"}}
    assert not spec_of(None, label).can_preempt
    assert spec_of(None, label, canPreempt=True).can_preempt


def test_admission_gates_are_read_as_they_are() -> None:
    gated = {"annotations": {"kueue.x-k8s.io/admission-gated-by": "x.io/a,x.io/b"}}
    found = read(a_workload_manifest(None, gated))
    assert found.annotations == gated["annotations"]


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


def test_a_word_that_means_nothing_and_templates_that_differ_are_reported() -> None:
    label = "kueue.x-k8s.io/preemptibility"
    marked = TEMPLATE | {"metadata": {"labels": {label: "NonPreemptible"}}}
    two = [{"name": "a", "template": marked}, {"name": "b", "template": TEMPLATE}]
    spec = spec_of(None, {"labels": {label: "maybe"}}, podSets=two)
    assert spec.preemptibility_source is None
    assert spec.ignored == (
        message("LabelNotUnderstood", label=label, value="maybe"),
        message("LabelsOfPodsDiffer", label=label),
    )


def test_the_words_of_the_founding_documents_for_units_are_understood() -> None:
    assert spec_of({"disruptionMode": "Pod"}).pod_sets[0].disruption_mode == "Single"
    assert spec_of({"disruptionMode": "PodGroup"}).pod_sets[0].disruption_mode == "All"
    assert spec_of({"preemptionMode": "Pod"}).pod_sets[0].disruption_mode == "Single"
    assert spec_of({"disruptionMode": "Replica"}).pod_sets[0].disruption_mode == "Replica"
    assert spec_of({"preemptionMode": "PodGroup"}).pod_sets[0].disruption_mode == "All"


def test_both_names_of_the_unit_may_stand_together_only_if_they_agree() -> None:
    agreed = spec_of({"preemptionMode": "Pod", "disruptionMode": "Single"})
    assert agreed.pod_sets[0].disruption_mode == "Single"
    torn = refused(a_workload_manifest({"preemptionMode": "Pod", "disruptionMode": "All"}))
    assert list(torn) == ["/spec/podSets/0/preemptionMode"]
    assert "must not differ" in torn["/spec/podSets/0/preemptionMode"]
    wrong = refused(a_workload_manifest({"preemptionMode": "Podgroup"}))
    assert "Did you mean PodGroup?" in wrong["/spec/podSets/0/preemptionMode"]


def test_the_label_of_kai_names_a_class_unless_kueues_own_field_does() -> None:
    pods = PriorityClassReference(group="scheduling.k8s.io", kind="PriorityClass", name="train")
    label = {"labels": {"priorityClassName": "train"}}
    marked = {"template": TEMPLATE | {"metadata": label}}
    assert spec_of(None, label).priority_class == spec_of(marked).priority_class == pods
    other = {"template": {"spec": TEMPLATE["spec"] | {"priorityClassName": "high"}}}
    assert spec_of(other, label).priority_class == pods
    own = spec_of(marked, label, priorityClassRef={"name": "urgent"})
    assert own.priority_class == PriorityClassReference(name="urgent")
    (place, *_) = read(a_workload_manifest(marked)).places
    written = "/spec/podSets/0/template/metadata/labels/priorityClassName"
    assert place == ("/spec/priorityClassRef/name", written)


def test_the_spellings_of_kai_are_understood() -> None:
    assert spec_of(preemptibility="non-preemptible").preemptibility == "NonPreemptible"
    assert spec_of(preemptibility="preemptible").preemptibility_source == "Spec"


@pytest.mark.parametrize(
    ("label", "word", "meaning"),
    [
        ("kai.scheduler/preemptibility", "non-preemptible", "NonPreemptible"),
        ("kai.scheduler/preemptibility", "semi-preemptible", "SemiPreemptible"),
        ("quota.scheduling.koordinator.sh/preemptible", "false", "NonPreemptible"),
        ("quota.scheduling.koordinator.sh/preemptible", "true", "Preemptible"),
    ],
)
def test_labels_of_other_schedulers_set_preemptibility(label: str, word: str, meaning: str) -> None:
    on_it = spec_of(None, {"labels": {label: word}})
    assert (on_it.preemptibility, on_it.preemptibility_source) == (meaning, "Label")
    marked = TEMPLATE | {"metadata": {"labels": {label: word}}}
    on_pods = spec_of({"template": marked})
    assert (on_pods.preemptibility, on_pods.preemptibility_source) == (meaning, "PodTemplates")


def test_our_own_label_counts_before_those_of_others_and_these_if_it_means_nothing() -> None:
    own, other = "kueue.x-k8s.io/preemptibility", "kai.scheduler/preemptibility"
    both = spec_of(None, {"labels": {own: "preemptible", other: "non-preemptible"}})
    assert (both.preemptibility, both.preemptibility_source) == ("Preemptible", "Label")
    spec = spec_of(None, {"labels": {own: "maybe", other: "non-preemptible"}})
    assert spec.preemptibility == "NonPreemptible"
    assert spec.ignored == (message("LabelNotUnderstood", label=own, value="maybe"),)


def test_a_label_of_koordinator_keeps_a_workload_from_preempting() -> None:
    label = {"labels": {"quota.scheduling.koordinator.sh/can-preempt": "false"}}
    assert not spec_of(None, label).can_preempt


def test_pods_that_never_preempt_keep_their_workload_from_it_whatever_else_is_said() -> None:
    never = {"template": {"spec": TEMPLATE["spec"] | {"preemptionPolicy": "Never"}}}
    spec = spec_of(never, canPreempt=True)
    assert (spec.can_preempt, spec.can_preempt_source) == (False, "PodTemplates")
    two = spec_of(podSets=[{"name": "a", **never}, {"name": "b", "template": TEMPLATE}])
    assert two.can_preempt
    assert two.ignored == (message("PreemptionPoliciesOfPodsDiffer"),)
    usual = {"template": {"spec": TEMPLATE["spec"] | {"preemptionPolicy": "PreemptLowerPriority"}}}
    assert spec_of(usual).can_preempt_source is None
    wrong = {"template": {"spec": TEMPLATE["spec"] | {"preemptionPolicy": "Sometimes"}}}
    assert list(refused(a_workload_manifest(wrong))) == [
        "/spec/podSets/0/template/spec/preemptionPolicy"
    ]


def test_gates_and_a_policy_for_leaving_are_read() -> None:
    policy = {"mode": "Soft", "gracePeriodSeconds": 90, "requireAck": True, "handler": "ckpt"}
    spec = spec_of(preemptionGates=[{"name": "a"}], evictionPolicy=policy | {"onDeadline": "Wait"})
    assert spec.preemption_gates == ("a",)
    assert spec.eviction_policy == EvictionPolicy(
        grace_period_seconds=90, require_ack=True, handler="ckpt", on_deadline="Wait"
    )
    careless = spec_of(evictionPolicy={"requireAck": True})
    assert [found.pointer for found in workload_violations(careless)] == [
        "/spec/evictionPolicy/requireAck"
    ]


CONSTRAINTS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: w, namespace: team}
spec:
  queueName: q
  podSets:
  - name: main
    count: 2
    template:
      metadata: {labels: {app: web, rev: "7"}}
      spec:
        containers: [{name: c, resources: {requests: {cpu: 1}}}]
        affinity:
          podAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: rack
              labelSelector: {matchLabels: {app: db}}
              namespaceSelector: {}
          podAntiAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: web}}
              matchLabelKeys: [rev, none]
              namespaces: [other]
            preferredDuringSchedulingIgnoredDuringExecution:
            - {weight: 1, podAffinityTerm: {topologyKey: rack}}
        topologySpreadConstraints:
        - {topologyKey: zone, maxSkew: 2, minDomains: 3, whenUnsatisfiable: DoNotSchedule,
           labelSelector: {matchLabels: {app: web}}, nodeTaintsPolicy: Honor}
        - {topologyKey: rack, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}
"""


def test_what_pods_require_of_the_pods_around_them_is_read() -> None:
    """Kubernetes: required inter-pod affinity, anti-affinity, spreading with DoNotSchedule."""
    (pod_set,) = read(CONSTRAINTS).spec.pod_sets
    web, db = LabelSelector(match_labels={"app": "web"}), LabelSelector(match_labels={"app": "db"})
    revision = Requirement(key="rev", operator="In", values=("7",))
    assert pod_set.scheduling.pod_constraints == PodConstraints(
        affinity=(PodTerm(topology_key="rack", selector=db, namespace_selector=LabelSelector()),),
        anti_affinity=(
            PodTerm(
                topology_key="kubernetes.io/hostname",
                selector=replace(web, match_expressions=(revision,)),
                namespaces=("other",),
            ),
        ),
        spread=(
            SpreadConstraint(
                topology_key="zone", max_skew=2, min_domains=3, selector=web, honors_taints=True
            ),
        ),
    )


def test_what_is_wrong_in_such_a_constraint_is_reported_where_it_stands() -> None:
    wrong = CONSTRAINTS.replace("maxSkew: 2", "maxSkew: 0").replace("topologyKey: rack\n", "x: 1\n")
    spec = "/spec/podSets/0/template/spec"
    terms = f"{spec}/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0"
    assert set(refused(wrong)) == {
        f"{terms}/topologyKey",
        f"{terms}/x",
        f"{spec}/topologySpreadConstraints/0/maxSkew",
    }


def test_specs_that_are_written_alike_are_read_once() -> None:
    first, second = read(a_workload_manifest()), read(a_workload_manifest(metadata={"name": "y"}))
    assert second.spec is first.spec
    assert second.digest == first.digest != b""


@pytest.mark.parametrize(
    "other",
    [
        a_workload_manifest({"count": 2}),
        a_workload_manifest(metadata={"labels": {"kueue.x-k8s.io/priority-class": "high"}}),
        a_workload_manifest(metadata={"annotations": {"a": "b"}}),
        a_workload_manifest(active=False),
    ],
)
def test_specs_that_are_written_otherwise_are_read_anew(other: dict[str, Any]) -> None:
    first, second = read(a_workload_manifest()), read(other)
    assert second.spec is not first.spec
    assert second.digest != first.digest


def test_the_warnings_of_a_spec_come_with_each_manifest() -> None:
    always = {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Always"}}}
    first, second = (read(a_workload_manifest(always)) for _ in range(2))
    assert second.spec is first.spec
    assert second.warnings == first.warnings != ()


def test_what_is_wrong_with_a_spec_is_told_each_time() -> None:
    wrong = a_workload_manifest({"cuont": 2})
    assert refused(wrong) == refused(wrong) != {}


def test_a_long_spec_is_not_kept() -> None:
    long = {"template": {**TEMPLATE, "metadata": {"annotations": {"note": "x" * 10_000}}}}
    first, second = (read(a_workload_manifest(long)) for _ in range(2))
    assert second.spec == first.spec
    assert (second.spec is first.spec, second.digest) == (False, b"")
