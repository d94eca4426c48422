"""What people bring along from Kueue is read as it is, or says what to write instead."""

import pytest

from headgate.adapters.manifests.parse import Desired, parse
from headgate.adapters.manifests.registry import INSTEAD
from headgate.domain.values.message import message
from tests.manifests.readers import a_manifest, refused

SET_UP = """
apiVersion: kueue.x-k8s.io/v1alpha1
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1alpha1
kind: Cohort
metadata: {name: team-ab}
spec:
  parent: all
  fairSharing: {weight: "0.75"}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: spot, resources: [{name: cpu, nominalQuota: 12, borrowingLimit: 1}]}]
---
kind: ResourceFlavor
apiVersion: kueue.x-k8s.io/v1beta1
metadata: {name: spot}
spec:
  nodeLabels: {instance-type: spot}
  nodeTaints: [{effect: NoSchedule, key: spot, value: "true"}]
  tolerations: [{key: spot-taint, operator: Exists, effect: NoSchedule}]
  topologyName: racks
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team-a}
spec:
  cohort: team-ab
  namespaceSelector:
    matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [team-a]}]
  queueingStrategy: BestEffortFIFO
  stopPolicy: None
  flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: Preempt}
  fairSharing: {weight: 3}
  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}
  preemption:
    reclaimWithinCohort: Any
    borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 100}
    withinClusterQueue: LowerPriority
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: spot
      resources:
      - {name: cpu, nominalQuota: "9", borrowingLimit: 1, lendingLimit: 1}
      - {name: memory, nominalQuota: 36Gi}
  admissionChecksStrategy:
    admissionChecks: [{name: provisioning, onFlavors: [spot]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: AdmissionCheck
metadata: {name: provisioning}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  retryDelayMinutes: 15
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: usual}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: team-a, name: main}
spec: {clusterQueue: team-a, stopPolicy: Hold, fairSharing: {weight: "2"}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: important}
value: 10000
description: For what cannot wait
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000000
globalDefault: false
---
apiVersion: config.kueue.x-k8s.io/v1beta1
kind: Configuration
namespace: kueue-system
health: {healthProbeBindAddress: ":8081"}
metrics: {bindAddress: ":8443", enableClusterQueueResources: true}
webhook: {port: 9443}
leaderElection: {leaderElect: true}
controller: {groupKindConcurrency: {Job.batch: 5}}
clientConnection: {qps: 50, burst: 100}
queueVisibility: {updateIntervalSeconds: 5}
waitForPodsReady:
  enable: true
  timeout: 5m
  requeuingStrategy: {timestamp: Eviction, backoffLimitCount: null, backoffBaseSeconds: 60}
integrations: {frameworks: [batch/job, pod], labelKeysToCopy: [team]}
"""
WORK = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: Workload
metadata:
  name: job-sample-7f173
  namespace: team-a
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: sample, uid: u}]
spec:
  active: true
  priorityClassSource: kueue.x-k8s.io/workloadpriorityclass
  priorityClassName: important
  priority: 10000
  queueName: main
  podSets:
  - name: main
    count: 3
    minCount: 2
    topologyRequest:
      required: example.com/rack
      podIndexLabel: batch.kubernetes.io/job-completion-index
    template:
      metadata: {creationTimestamp: null}
      spec:
        restartPolicy: Never
        containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
status: {conditions: [{type: QuotaReserved, status: "True"}]}
---
apiVersion: batch/v1
kind: Job
metadata:
  generateName: sample-
  labels: {kueue.x-k8s.io/queue-name: main, kueue.x-k8s.io/priority-class: important}
  annotations: {kueue.x-k8s.io/job-min-parallelism: "5"}
spec:
  parallelism: 20
  completions: 20
  completionMode: Indexed
  suspend: true
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, args: [pause], resources: {requests: {cpu: 1}}}]
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: sliced, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  network: {enableDNSHostnames: true}
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 8
        completions: 8
        template:
          metadata:
            annotations:
              kueue.x-k8s.io/podset-required-topology: example.com/block
              kueue.x-k8s.io/podset-slice-required-topology: example.com/rack
              kueue.x-k8s.io/podset-slice-size: "4"
          spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}
"""


@pytest.mark.parametrize("text", [SET_UP, WORK])
def test_manifests_for_kueue_are_read_as_they_are(text: str) -> None:
    found = parse(text.encode())
    assert len(found) == text.count("kind: ") - text.count(" kind: ")
    assert [one for one in found if not isinstance(one, Desired)] == []


@pytest.mark.parametrize(
    ("version", "kind", "told"),
    [
        ("apps/v1", "DaemonSet", "Workload with a pod set"),
        ("kueue.x-k8s.io/v1beta1", "MultiKueueConfig", "Omit it"),
        ("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", "nominalQuota"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "Known kinds"),
    ],
)
def test_kinds_of_others_are_told_what_serves_in_their_place(
    version: str, kind: str, told: str
) -> None:
    found = refused(a_manifest(kind, version))
    assert list(found) == ["/kind"]
    assert told in found["/kind"]
    assert "Did you mean" not in found["/kind"]


def test_no_kind_that_is_read_is_told_to_be_written_otherwise() -> None:
    for kind in INSTEAD:
        assert "is not supported" in refused(a_manifest(kind))["/kind"]


def test_a_manifest_without_a_version_is_told_which_to_write() -> None:
    told = refused("kind: Cohort\nmetadata: {name: x}\n")["/apiVersion"]
    assert told == "apiVersion is required Write apiVersion: kueue.x-k8s.io/v1beta2."


def test_a_misspelt_field_is_told_what_is_likely_meant() -> None:
    spec = {"queueingStrategy": "StrictFifo", "resourceGroup": [], "cohort": "a"}
    found = refused(a_manifest("ClusterQueue", spec=spec))
    assert "Did you mean StrictFIFO?" in found["/spec/queueingStrategy"]
    assert "Did you mean resourceGroups?" in found["/spec/resourceGroup"]


def test_a_misspelt_annotation_or_label_of_kueues_is_reported_though_it_is_accepted() -> None:
    text = WORK.replace("podset-required-topology", "podset-require-topology").replace(
        "kueue.x-k8s.io/job-min-parallelism", "kueue.x-k8s.io/of-our-own"
    )
    _, job, job_set = parse(text.encode())
    assert isinstance(job, Desired)
    assert isinstance(job_set, Desired)
    assert job.spec.ignored == (message("SettingIgnored", key="kueue.x-k8s.io/of-our-own"),)
    meant = "kueue.x-k8s.io/podset-required-topology"
    misspelt = "kueue.x-k8s.io/podset-require-topology"
    assert job_set.spec.ignored == (message("SettingMisspelled", key=misspelt, meant=meant),)


@pytest.mark.parametrize("text", [SET_UP, WORK])
def test_what_kueue_reads_or_writes_is_passed_over_in_silence(text: str) -> None:
    exported = text.replace(
        "labels: {", "labels: {kueue.x-k8s.io/podset: main, example.com/of-ours: x, "
    )
    for found in parse(exported.encode()):
        assert isinstance(found, Desired)
        assert getattr(found.spec, "ignored", ()) == ()
