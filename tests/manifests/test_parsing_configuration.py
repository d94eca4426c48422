"""Manifests of queues, flavors, topologies, nodes and policies."""

from typing import Any

import pytest

from headgate.adapters.manifests.parse import Desired, Refused, parse, parse_object
from headgate.domain.kinds.admission_check import AdmissionCheckSpec, CheckParameters
from headgate.domain.kinds.cluster_queue import (
    AdmissionCheckRule,
    ClusterQueueSpec,
    CohortSpec,
    FlavorFungibility,
)
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.priority_classes import DisruptionBudgetSpec, WorkloadPriorityClassSpec
from headgate.domain.kinds.queue_settings import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    FlavorQuotas,
    ResourceGroup,
    ResourceQuota,
)
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import TopologySpec
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.rejection import InvalidObject
from headgate.domain.values.selectors import LabelSelector, Requirement, Taint, Toleration
from tests.manifests.readers import a_manifest, read, refused

FULL_CLUSTER_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: gpu
  labels: {tier: "1"}
spec:
  cohortName: all
  queueingStrategy: StrictFIFO
  namespaceSelector:
    matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [team-a]}]
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: spot
      resources:
      - {name: cpu, nominalQuota: 9, borrowingLimit: 500m, lendingLimit: 0.5}
      - {name: memory, nominalQuota: 36Gi}
  flavorFungibility: {whenCanBorrow: TryNextFlavor, preference: PreemptionOverBorrowing}
  preemption:
    withinClusterQueue: LowerPriority
    reclaimWithinCohort: Any
    borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 100}
  admissionChecksStrategy:
    admissionChecks: [{name: quota-check, onFlavors: [spot]}]
  stopPolicy: Hold
  fairSharing: {weight: 1500m}
  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}
  waitForPodsReady:
    timeout: 5m
    recoveryTimeoutSeconds: 60
    requeuingStrategy: {timestamp: Creation, backoffLimitCount: 3, backoffBaseSeconds: 10}
"""


def test_a_cluster_queue_is_read_in_full() -> None:
    found = read(FULL_CLUSTER_QUEUE)
    assert (found.kind, found.name, found.labels) == ("ClusterQueue", "gpu", {"tier": "1"})
    assert (found.stream_kind, found.keeps) == ("clusterqueue", ())
    quotas = (
        ResourceQuota(name="cpu", nominal_quota=9000, borrowing_limit=500, lending_limit=500),
        ResourceQuota(name="memory", nominal_quota=36 * 2**30),
    )
    assert found.spec == ClusterQueueSpec(
        cohort_name="all",
        queueing_strategy="StrictFIFO",
        namespace_selector=LabelSelector(
            match_expressions=(
                Requirement(key="kubernetes.io/metadata.name", operator="In", values=("team-a",)),
            )
        ),
        resource_groups=(
            ResourceGroup(
                covered_resources=("cpu", "memory"),
                flavors=(FlavorQuotas(name="spot", resources=quotas),),
            ),
        ),
        flavor_fungibility=FlavorFungibility(
            when_can_borrow="TryNextFlavor", preference="PreemptionOverBorrowing"
        ),
        preemption=ClusterQueuePreemption(
            within_cluster_queue="LowerPriority",
            reclaim_within_cohort="Any",
            borrow_within_cohort=BorrowWithinCohort(
                policy="LowerPriority", max_priority_threshold=100
            ),
        ),
        admission_checks=(AdmissionCheckRule(name="quota-check", on_flavors=("spot",)),),
        stop_policy="Hold",
        fair_weight_milli=1500,
        admission_mode="UsageBasedAdmissionFairSharing",
        wait_for_pods_ready=WaitForPodsReady(
            timeout_seconds=300,
            recovery_timeout_seconds=60,
            requeuing_strategy=RequeuingStrategy(
                timestamp="Creation", backoff_limit_count=3, backoff_base_seconds=10
            ),
        ),
    )


def test_what_is_left_out_has_the_defaults_of_kueue() -> None:
    found = read(a_manifest("ClusterQueue", spec={}))
    assert found.spec == ClusterQueueSpec()
    assert found.spec.namespace_selector is None
    assert found.keeps == ("stop_policy",)


def test_an_empty_selector_is_not_a_missing_one() -> None:
    found = read(a_manifest("ClusterQueue", spec={"namespaceSelector": {}}))
    assert found.spec.namespace_selector == LabelSelector()


def test_null_is_as_good_as_absent() -> None:
    found = read(a_manifest("ClusterQueue", spec={"cohortName": None, "preemption": None}))
    assert found.spec == ClusterQueueSpec()


def test_the_older_version_has_older_names() -> None:
    old = a_manifest(
        "ClusterQueue",
        "kueue.x-k8s.io/v1beta1",
        spec={
            "cohort": "all",
            "admissionChecks": ["one"],
            "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
        },
    )
    assert read(old).spec == ClusterQueueSpec(
        cohort_name="all",
        admission_checks=(AdmissionCheckRule(name="one"),),
        flavor_fungibility=FlavorFungibility(when_can_preempt="MayStopSearch"),
    )
    assert "/spec/cohort" in refused(
        a_manifest("ClusterQueue", "kueue.x-k8s.io/v1beta1", spec={"cohort": "No!", "typo": 1})
    )


def test_all_problems_of_reading_and_of_rules_are_told_at_once() -> None:
    found = refused(
        a_manifest(
            "ClusterQueue",
            metadata={"name": "No!", "lables": {}},
            spec={
                "cohortNam": "all",
                "queueingStrategy": "FIFO",
                "stopPolicy": 5,
                "namespaceSelector": [],
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [
                            {
                                "name": "spot",
                                "resources": [
                                    {"name": "cpu", "nominalQuota": "9 cores", "lendingLimit": 1}
                                ],
                            }
                        ],
                    },
                    "text",
                ],
                "preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}},
            },
        )
    )
    quota = "/spec/resourceGroups/0/flavors/0/resources/0"
    assert sorted(found) == [
        "/metadata/lables",
        "/metadata/name",
        "/spec/cohortNam",
        "/spec/namespaceSelector",
        "/spec/preemption/borrowWithinCohort/policy",
        "/spec/queueingStrategy",
        f"{quota}/lendingLimit",
        f"{quota}/nominalQuota",
        "/spec/resourceGroups/1",
        "/spec/stopPolicy",
    ]
    assert "Did you mean cohortName?" in found["/spec/cohortNam"]
    assert "Did you mean labels?" in found["/metadata/lables"]
    assert "StrictFIFO" in found["/spec/queueingStrategy"]


def test_what_kueue_has_and_we_do_not_serve_is_refused() -> None:
    spec: dict[str, Any] = {
        "concurrentAdmissionPolicy": {"migration": {"mode": "Sometimes"}, "mode": "x"},
        "waitForPodsReady": {"blockAdmission": True},
        "fairSharing": {"weight": "1n"},
    }
    assert sorted(refused(a_manifest("ClusterQueue", spec=spec))) == [
        "/spec/concurrentAdmissionPolicy/migration/mode",
        "/spec/concurrentAdmissionPolicy/mode",
        "/spec/fairSharing/weight",
        "/spec/waitForPodsReady/blockAdmission",
    ]


def test_concurrent_admission_is_kept_without_effect_and_told() -> None:
    """As in Kueue with the gate off, its default."""
    spec: dict[str, Any] = {"namespaceSelector": {}}
    policy = {"migration": {"mode": "RetainFirstAdmission", "constraints": {}}}
    found = read(a_manifest("ClusterQueue", spec={**spec, "concurrentAdmissionPolicy": policy}))
    assert found.spec == read(a_manifest("ClusterQueue", spec=spec)).spec
    (told,) = found.warnings
    assert (told.pointer, told.message.code) == (
        "/spec/concurrentAdmissionPolicy",
        "ConcurrentAdmissionOff",
    )
    assert b"RetainFirstAdmission" in found.written


def test_local_queues_live_in_a_namespace() -> None:
    manifest = a_manifest("LocalQueue", spec={"clusterQueue": "gpu"})
    assert read(manifest).namespace == "default"
    assert read(manifest).spec == LocalQueueSpec(cluster_queue="gpu")
    (elsewhere,) = parse(
        b'{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",'
        b'"metadata":{"name":"x"},"spec":{"clusterQueue":"gpu"}}',
        namespace="t",
    )
    assert elsewhere.namespace == "t"
    assert "/spec/clusterQueue" in refused(a_manifest("LocalQueue", spec={}))


def test_cluster_objects_have_no_namespace() -> None:
    manifest = a_manifest("Cohort", metadata={"namespace": "team-a"}, spec={})
    assert list(refused(manifest)) == ["/metadata/namespace"]


def test_a_cohort_is_read_under_both_names_of_its_parent() -> None:
    assert read(a_manifest("Cohort", spec={"parentName": "root"})).spec.parent_name == "root"
    assert read(a_manifest("Cohort", spec={"parent": "root"})).spec.parent_name == "root"
    assert read(a_manifest("Cohort")).spec == CohortSpec()


def test_a_resource_flavor_is_read_in_full() -> None:
    spec = {
        "nodeLabels": {"pool": "gpu"},
        "nodeTaints": [{"key": "gpu", "value": "yes", "effect": "NoExecute"}],
        "tolerations": [{"operator": "Exists"}, {"key": "a", "effect": "NoSchedule"}],
        "topologyName": "racks",
    }
    assert read(a_manifest("ResourceFlavor", spec=spec)).spec == ResourceFlavorSpec(
        node_labels={"pool": "gpu"},
        node_taints=(Taint(key="gpu", value="yes", effect="NoExecute"),),
        tolerations=(Toleration(operator="Exists"), Toleration(key="a", effect="NoSchedule")),
        topology_name="racks",
    )


def test_labels_must_be_texts() -> None:
    found = refused(a_manifest("ResourceFlavor", spec={"nodeLabels": {"gpu": True}}))
    assert "Put it in quotes" in found["/spec/nodeLabels/gpu"]


def test_a_topology_is_its_levels() -> None:
    spec = {"levels": [{"nodeLabel": "cloud/block"}, {"nodeLabel": "kubernetes.io/hostname"}]}
    assert read(a_manifest("Topology", spec=spec)).spec == TopologySpec(
        levels=("cloud/block", "kubernetes.io/hostname")
    )


def test_a_node_is_read_with_what_its_status_says_of_capacity() -> None:
    node = a_manifest(
        "Node",
        "v1",
        spec={"providerID": "x", "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        status={
            "allocatable": {"cpu": "96", "memory": "1Ti", "pods": 110},
            "conditions": [{"type": "Ready", "status": "False", "reason": "x"}],
            "nodeInfo": {"anything": "goes"},
        },
    )
    found = read(node)
    assert found.spec == NodeSpec(
        taints=(Taint(key="gpu"),),
        ready=False,
        allocatable={"cpu": 96_000, "memory": 2**40, "pods": 110},
    )
    reported = ("draining", "not_ready_since", "lease_seconds", "heard_at")
    registered = ("executor", "registered_labels", "registered_taints", "devices")
    kept = ("unschedulable", "used_by_others", *reported, *registered, "is_executor_lost")
    assert found.keeps == kept


def test_priority_classes_of_both_groups_become_ours() -> None:
    ours = a_manifest("WorkloadPriorityClass", value=100, globalDefault=True, maxProtectionDelta=5)
    assert read(ours).spec == WorkloadPriorityClassSpec(
        value=100, global_default=True, max_protection_delta=5
    )
    theirs = a_manifest("PriorityClass", "scheduling.k8s.io/v1", value=-5, preemptionPolicy="Never")
    assert read(theirs).kind == "WorkloadPriorityClass"
    assert read(theirs).spec == WorkloadPriorityClassSpec(value=-5, preemption_policy="Never")
    assert list(refused(a_manifest("WorkloadPriorityClass"))) == ["/value"]


def test_a_check_leaves_its_activity_to_its_controller() -> None:
    spec = {
        "controllerName": "example.com/c",
        "parameters": {"apiGroup": "g", "kind": "K", "name": "n"},
    }
    found = read(a_manifest("AdmissionCheck", spec=spec))
    assert found.keeps == ("active",)
    assert found.spec == AdmissionCheckSpec(
        controller_name="example.com/c",
        parameters=CheckParameters(api_group="g", kind="K", name="n"),
    )


def test_budgets_and_namespaces_are_read() -> None:
    spec = {"selector": {"matchLabels": {"app": "x"}}, "unit": "Pod", "minAvailable": 2}
    budget = read(a_manifest("DisruptionBudget", "headgate.dev/v1", spec=spec))
    assert budget.spec == DisruptionBudgetSpec(
        selector=LabelSelector(match_labels={"app": "x"}), unit="Pod", min_available=2
    )
    assert read(a_manifest("Namespace", "v1", spec={"finalizers": ["kubernetes"]})).name == "x"
    assert "/spec/selector" in refused(
        a_manifest("DisruptionBudget", "headgate.dev/v1", spec={"minAvailable": 2})
    )


@pytest.mark.parametrize(
    ("manifest", "pointer", "told"),
    [
        ({"kind": "ClusterQueu", "apiVersion": "v1"}, "/kind", "Did you mean ClusterQueue?"),
        ({"kind": "Zebra", "apiVersion": "v1"}, "/kind", "Known kinds: ClusterQueue"),
        ({}, "/kind", "Known kinds:"),
        (a_manifest("Cohort", "v1"), "/apiVersion", "kueue.x-k8s.io/v1beta2"),
        (a_manifest("Node", "kueue.x-k8s.io/v1beta2"), "/apiVersion", "v1, headgate.dev/v1"),
    ],
)
def test_unknown_kinds_and_versions_are_told_what_is_accepted(
    manifest: dict[str, Any], pointer: str, told: str
) -> None:
    assert told in refused(manifest)[pointer]


def test_one_bad_document_does_not_spoil_the_others() -> None:
    text = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: a}\n---\n5\n"
    good, bad = parse(text.encode())
    assert isinstance(good, Desired)
    assert isinstance(bad, Refused)
    assert bad.line == 4


def test_lists_are_opened() -> None:
    cohort = a_manifest("Cohort")
    bare = {"metadata": {"name": "y"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [cohort, cohort, 5]}
    assert [type(one) for one in parse(str(listed).encode())] == [Desired, Desired, Refused]
    typed = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "CohortList", "items": [bare]}
    (found,) = parse(str(typed).encode())
    assert (found.kind, found.name) == ("Cohort", "y")


def test_one_object_of_one_kind_is_asked_for_by_name() -> None:
    body = b"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: a}\n"
    assert parse_object(body, "Cohort").name == "a"
    for kind, many in (("Topology", body), ("Cohort", body + b"---\n" + body), ("Cohort", b"")):
        with pytest.raises(InvalidObject):
            parse_object(many, kind)


def test_what_the_server_keeps_is_passed_over() -> None:
    metadata = {
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
        "creationTimestamp": None,
        "managedFields": [{}],
    }
    found = read(a_manifest("Cohort", metadata=metadata, status={"any": "thing"}))
    assert (found.uid, found.resource_version) == ("u", "7")


def test_what_the_server_sets_is_well_formed_where_it_is_given() -> None:
    metadata = {
        "name": "all",
        "creationTimestamp": "yesterday",
        "deletionTimestamp": 5,
        "generation": "3",
    }
    assert list(refused(a_manifest("Cohort", metadata=metadata, spec={}))) == [
        "/metadata/creationTimestamp",
        "/metadata/deletionTimestamp",
        "/metadata/generation",
    ]


def test_a_name_or_the_beginning_of_one_is_needed() -> None:
    assert list(refused(a_manifest("Cohort", metadata={"name": ""}))) == ["/metadata/name"]
    found = read(a_manifest("Cohort", metadata={"name": "", "generateName": "c-"}))
    assert (found.name, found.generate_name) == ("", "c-")


def test_both_maximum_retry_conditions_of_kep_1282_are_read_by_either_name() -> None:
    given = {"maxBackOffRetryCount": 3, "maxBackOffRetryTimeout": 600, "backoffResetAfter": "1h"}
    given |= {"backoffLimitCounts": "Timeouts", "maxBackOffRetryTimeoutFrom": "QueueOrderTimestamp"}
    spec = {"namespaceSelector": {}, "waitForPodsReady": {"requeuingStrategy": given}}
    waits = read(a_manifest("ClusterQueue", spec=spec)).spec.wait_for_pods_ready
    assert waits.requeuing_strategy == RequeuingStrategy(
        backoff_limit_count=3,
        retry_limit_seconds=600,
        reset_after_seconds=3600,
        backoff_limit_counts="Timeouts",
        retry_limit_from="QueueOrderTimestamp",
    )


def test_the_two_names_of_the_count_may_not_disagree() -> None:
    given = {"maxBackOffRetryCount": 3, "backoffLimitCount": 4}
    spec = {"namespaceSelector": {}, "waitForPodsReady": {"requeuingStrategy": given}}
    assert list(refused(a_manifest("ClusterQueue", spec=spec))) == [
        "/spec/waitForPodsReady/requeuingStrategy/maxBackOffRetryCount"
    ]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x.example/",
        "https://",
        "https://user:word@x.example/",
        "https://x.example/#part",
        "https://x.example:99999/",
        "https://x.example/a b",
        "//x.example/",
    ],
)
def test_what_is_no_address_of_a_receiver_is_refused(url: str) -> None:
    found = refused(a_manifest("Webhook", "headgate.dev/v1", spec={"url": url}))
    assert list(found) == ["/spec/url"]
