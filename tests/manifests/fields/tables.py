"""Fields of Kueue's kinds and of the jobs of others, which no package has: a line each.

A line is a JSON pointer into the manifest and a value to try, as YAML; `@Name` stands for all
fields of a definition of Kubernetes. Sources: Kueue v0.20.0, `apis/kueue/v1beta2` and
`apis/config/v1beta2`; the API references of JobSet, LeaderWorkerSet, KubeRay, Kubeflow's training
operator, AppWrapper and Spark's operator.
"""

from typing import NamedTuple

POD = "{containers: [{name: c, command: [/bin/true], resources: {requests: {cpu: 1}}}]}"


class KindTable(NamedTuple):
    """The part of a manifest below its metadata that is accepted, and the fields beside it."""

    version: str
    base: str
    fields: str


_QUOTAS = """
/spec/resourceGroups [{coveredResources: [m], flavors: [{name: f, resources: [{name: m, nominalQuota: 4}]}]}]
/spec/resourceGroups/0/flavors/0/name other
/spec/resourceGroups/0/flavors/0/resources/0/name memory
/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota 7
/spec/resourceGroups/0/flavors/0/resources/0/borrowingLimit 3
/spec/resourceGroups/0/flavors/0/resources/0/lendingLimit 1
/spec/fairSharing/weight 2
"""
_GROUPS = """
resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]
"""
_REPLICA = """
/spec/{at}/replicas 5
/spec/{at}/template @PodTemplateSpec
/spec/{at}/restartPolicy ExitCode
"""
_RUN_POLICY = """
/spec/runPolicy/cleanPodPolicy All
/spec/runPolicy/ttlSecondsAfterFinished 7
/spec/runPolicy/activeDeadlineSeconds 7
/spec/runPolicy/backoffLimit 7
/spec/runPolicy/schedulingPolicy/minAvailable 1
/spec/runPolicy/schedulingPolicy/queue q
/spec/runPolicy/schedulingPolicy/minResources {cpu: 1}
/spec/runPolicy/schedulingPolicy/priorityClass high
/spec/runPolicy/schedulingPolicy/scheduleTimeoutSeconds 7
/spec/runPolicy/suspend true
/spec/runPolicy/managedBy other
"""


TRAINER = "trainer.kubeflow.org/v1alpha1"
_RUNTIME = f"""spec: {{template: {{spec: {{replicatedJobs: [
  {{name: node, template: {{spec: {{template: {{spec: {POD}}}}}}}}}]}}}}}}"""
_RUNTIME_FIELDS = """
/spec/mlPolicy/numNodes 3
/spec/mlPolicy/torch/numProcPerNode auto
/spec/mlPolicy/mpi/numProcPerNode 2
/spec/mlPolicy/mpi/mpiImplementation OpenMPI
/spec/mlPolicy/mpi/runLauncherAsNode true
/spec/podGroupPolicy/coscheduling/scheduleTimeoutSeconds 7
/spec/template/metadata {labels: {a: b}}
/spec/template/spec/replicatedJobs/0/replicas 2
/spec/template/spec/replicatedJobs/0/template/spec/parallelism 2
"""


def _kubeflow(field: str, roles: str, more: str = "", version: str = "v1") -> KindTable:
    specs = ", ".join(
        f"{role}: {{replicas: 1, template: {{spec: {POD}}}}}" for role in roles.split()
    )
    lines = "".join(_REPLICA.format(at=f"{field}/{role}") for role in roles.split())
    return KindTable(
        f"kubeflow.org/{version}", f"{{spec: {{{field}: {{{specs}}}}}}}", lines + _RUN_POLICY + more
    )


_RAY_FIELDS = """
/rayVersion 2.9.0
/enableInTreeAutoscaling true
/autoscalerOptions/idleTimeoutSeconds 7
/autoscalerOptions/upscalingMode Default
/headServiceAnnotations {a: b}
/gcsFaultToleranceOptions/redisAddress x
/suspend true
/managedBy other
/headGroupSpec/serviceType NodePort
/headGroupSpec/enableIngress true
/headGroupSpec/headService/metadata/name x
/headGroupSpec/resources {CPU: '4'}
/headGroupSpec/labels {a: b}
/headGroupSpec/rayStartParams {a: b}
/headGroupSpec/template @PodTemplateSpec
/workerGroupSpecs/0/suspend true
/workerGroupSpecs/0/groupName other
/workerGroupSpecs/0/replicas 5
/workerGroupSpecs/0/minReplicas 1
/workerGroupSpecs/0/maxReplicas 9
/workerGroupSpecs/0/idleTimeoutSeconds 7
/workerGroupSpecs/0/resources {CPU: '4'}
/workerGroupSpecs/0/labels {a: b}
/workerGroupSpecs/0/rayStartParams {a: b}
/workerGroupSpecs/0/scaleStrategy/workersToDelete [x]
/workerGroupSpecs/0/numOfHosts 3
/workerGroupSpecs/0/template @PodTemplateSpec
"""
_RAY_BASE = (
    f"{{headGroupSpec: {{template: {{spec: {POD}}}}},"
    f" workerGroupSpecs: [{{groupName: w, replicas: 2, template: {{spec: {POD}}}}}]}}"
)


def _ray(at: str) -> str:
    return _RAY_FIELDS.replace("\n/", f"\n/spec{at}/")


def _spark(role: str) -> str:
    return "".join(
        f"/spec/{role}/{line}\n"
        for line in (
            "cores 3", "coreLimit 3500m", "coreRequest 2500m", "memory 3g", "memoryLimit 4Gi",
            "memoryOverhead 1g", "gpu {name: nvidia.com/gpu, quantity: 2}", "image x",
            "configMaps [{name: x, path: /x}]", "secrets [{name: x, path: /x}]",
            "env [{name: a, value: b}]", "envVars {a: b}", "envFrom [{configMapRef: {name: x}}]",
            "envSecretKeyRefs {A: {name: x, key: y}}", "labels {a: b}", "annotations {a: b}",
            "volumeMounts [{name: x, mountPath: /x}]",
            "affinity {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:"
            " {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}",
            "tolerations [{key: a, operator: Exists}]", "podSecurityContext {runAsUser: 7}",
            "securityContext {runAsUser: 7}", "schedulerName other",
            "sidecars [{name: s, resources: {requests: {cpu: 1}}}]",
            "initContainers [{name: i, resources: {requests: {cpu: 9}}}]", "hostNetwork true",
            "nodeSelector {a: b}", "dnsConfig {nameservers: [x]}",
            "terminationGracePeriodSeconds 7", "serviceAccount x", "hostAliases [{ip: x}]",
            "shareProcessNamespace true", "priorityClassName high", "lifecycle {preStop: {}}",
            "javaOptions x", "ports [{name: x, containerPort: 7}]", "template @PodTemplateSpec",
        )
    )  # fmt: skip


TABLES: dict[str, KindTable] = {
    "ClusterQueue": KindTable(
        "kueue.x-k8s.io/v1beta2",
        f"spec:\n  cohortName: c\n  namespaceSelector: {{}}{_GROUPS.replace(chr(10), chr(10) + '  ')}",
        _QUOTAS
        + """
/spec/cohortName team
/spec/queueingStrategy StrictFIFO
/spec/namespaceSelector/matchLabels {a: b}
/spec/namespaceSelector/matchExpressions [{key: a, operator: Exists}]
/spec/flavorFungibility/whenCanBorrow TryNextFlavor
/spec/flavorFungibility/whenCanPreempt MayStopSearch
/spec/flavorFungibility {whenCanBorrow: TryNextFlavor, preference: PreemptionOverBorrowing}
/spec/preemption/reclaimWithinCohort Any
/spec/preemption {reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority}}
/spec/preemption/borrowWithinCohort/maxPriorityThreshold 3
/spec/preemption/withinClusterQueue LowerPriority
/spec/admissionChecksStrategy/admissionChecks [{name: c}]
/spec/admissionChecksStrategy/admissionChecks [{name: c, onFlavors: [f]}]
/spec/stopPolicy Hold
/spec/admissionScope/admissionMode UsageBasedAdmissionFairSharing
/spec/concurrentAdmissionPolicy/migration/mode TryPreferredFlavors
/spec/concurrentAdmissionPolicy/migration/constraints/lastAcceptableFlavorName f
""",
    ),
    "ProvisioningRequestConfig": KindTable(
        "kueue.x-k8s.io/v1beta2",
        "spec: {provisioningClassName: x.io}",
        """
/spec/provisioningClassName y.io
/spec/parameters {a: b}
/spec/managedResources [nvidia.com/gpu]
/spec/retryStrategy/backoffLimitCount 7
/spec/retryStrategy/backoffBaseSeconds 7
/spec/retryStrategy/backoffMaxSeconds 7
/spec/podSetMergePolicy IdenticalPodTemplates
/spec/podSetUpdates/nodeSelector [{key: a, valueFromProvisioningClassDetail: b}]
""",
    ),
    "TrainingRuntime": KindTable(TRAINER, _RUNTIME, _RUNTIME_FIELDS),
    "ClusterTrainingRuntime": KindTable(TRAINER, _RUNTIME, _RUNTIME_FIELDS),
    "TrainJob": KindTable(
        TRAINER,
        "spec: {runtimeRef: {name: torch}}",
        """
/spec/runtimeRef/name other
/spec/runtimeRef/kind TrainingRuntime
/spec/initializer/dataset/storageUri hf://x
/spec/initializer/model/storageUri hf://x
/spec/trainer/image i2
/spec/trainer/command [x]
/spec/trainer/args [x]
/spec/trainer/env [{name: A, value: b}]
/spec/trainer/numNodes 5
/spec/trainer/numProcPerNode 2
/spec/trainer/resourcesPerNode/requests {cpu: 7}
/spec/trainer/resourcesPerNode/limits {cpu: 7}
/spec/labels {a: b}
/spec/annotations {a: b}
/spec/suspend true
/spec/managedBy other
/spec/activeDeadlineSeconds 7
/spec/podTemplateOverrides [{targetJobs: [{name: node}], spec: {nodeSelector: {a: b}}}]
/spec/podTemplateOverrides [{targetJobs: [{name: node}], spec: {serviceAccountName: x}}]
/spec/runtimePatches [{manager: m, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {nodeSelector: {a: b}}}}}}]}}}}]
""",
    ),
    "Cohort": KindTable(
        "kueue.x-k8s.io/v1beta2",
        f"spec:\n  parentName: c{_GROUPS.replace(chr(10), chr(10) + '  ')}",
        _QUOTAS + "/spec/parentName team\n",
    ),
    "LocalQueue": KindTable(
        "kueue.x-k8s.io/v1beta2",
        "{spec: {clusterQueue: c}}",
        "/spec/clusterQueue other\n/spec/stopPolicy Hold\n/spec/fairSharing/weight 2\n",
    ),
    "ResourceFlavor": KindTable(
        "kueue.x-k8s.io/v1beta2",
        "{spec: {nodeLabels: {a: b}}}",
        """
/spec/nodeLabels {c: d}
/spec/nodeTaints [{key: a, effect: NoSchedule}]
/spec/nodeTaints [{key: a, effect: NoSchedule, value: x}]
/spec/tolerations [{key: a, operator: Exists}]
/spec/tolerations [{key: a, value: x, effect: NoSchedule}]
/spec/tolerations [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 7}]
/spec/topologyName t
""",
    ),
    "Topology": KindTable(
        "kueue.x-k8s.io/v1beta2",
        "{spec: {levels: [{nodeLabel: a}]}}",
        "/spec/levels/0/nodeLabel b\n",
    ),
    "PodGroup": KindTable(
        "scheduling.kai.nvidia.com/v2alpha2",
        "{spec: {}}",
        """
/spec/queue q
/spec/minMember 0
/spec/priorityClassName high
/spec/preemptibility NonPreemptible
/spec/backgroundJob true
/spec/markUnschedulable true
/spec/schedulingBackoff 7
/spec/stalenessGracePeriod 7s
/spec/minResources {cpu: 1}
/spec/scheduleTimeoutSeconds 7
/spec/subGroups [{name: a, minMember: 1}]
/spec/topologyConstraint/requiredTopologyLevel rack
/spec/topologyConstraint/preferredTopologyLevel rack
/spec/topologyConstraint/topology t
""",
    ),
    "DisruptionBudget": KindTable(
        "headgate.dev/v1",
        "{spec: {selector: {}, minAvailable: 1}}",
        """
/spec/selector/matchLabels {a: b}
/spec/selector/matchExpressions [{key: a, operator: Exists}]
/spec/unit Pod
/spec/minAvailable 2
/spec/maxUnavailable 2
/spec/enforcement Strict
""",
    ),
    "Executor": KindTable(
        "headgate.dev/v1",
        "{spec: {flavors: [f]}}",
        """
/spec/nodeSelector {a: b}
/spec/flavors [g]
/spec/leaseSeconds 90
/spec/nodeLossPolicy Wait
/spec/rendezvousPorts {first: 30000, last: 30007}
/spec/logRetention/maxMebibytes 7
/spec/logRetention/afterFinished 7h
""",
    ),
    "Webhook": KindTable(
        "headgate.dev/v1",
        "{spec: {url: 'https://a.example.org/x'}}",
        """
/spec/url https://b.example.org/y
/spec/minSeverity critical
/spec/kinds [Starvation]
/spec/suspend true
""",
    ),
    "Acknowledgment": KindTable(
        "headgate.dev/v1",
        "{spec: {cause: Starvation/clusterqueue/a}}",
        """
/spec/cause Starvation/clusterqueue/b
/spec/reason seen
/spec/until '2030-01-02T03:04:05Z'
""",
    ),
    "AdmissionCheck": KindTable(
        "kueue.x-k8s.io/v1beta2",
        "{spec: {controllerName: x}}",
        """
/spec/controllerName y
/spec/retryDelayMinutes 7
/spec/parameters {apiGroup: a.b, kind: K, name: n}
""",
    ),
    "WorkloadPriorityClass": KindTable(
        "kueue.x-k8s.io/v1beta2", "{value: 1}", "/value 7\n/description x\n"
    ),
    "Workload": KindTable(
        "kueue.x-k8s.io/v1beta2",
        f"{{spec: {{podSets: [{{name: main, count: 4, template: {{spec: {POD}}}}}]}}}}",
        """
/spec/podSets/0/name other
/spec/podSets/0/count 7
/spec/podSets/0/minCount 2
/spec/podSets/0/template @PodTemplateSpec
/spec/podSets/0/topologyRequest/required rack
/spec/podSets/0/topologyRequest/preferred rack
/spec/podSets/0/topologyRequest/unconstrained true
/spec/podSets/0/topologyRequest/podIndexLabel a
/spec/podSets/0/topologyRequest {podIndexLabel: a, subGroupIndexLabel: b, subGroupCount: 2}
/spec/podSets/0/topologyRequest {required: a, podSetSliceRequiredTopology: b, podSetSliceSize: 2}
/spec/podSets/0/topologyRequest {required: a, podsetSliceRequiredTopologyConstraints: [{topology: b, size: 2}]}
/spec/queueName q
/spec/priorityClassRef {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: p}
/spec/priority 7
/spec/active false
/spec/maximumExecutionTimeSeconds 7
/spec/preemptionGates [{name: a.b/c}]
""",
    ),
    "Configuration": KindTable(
        "config.kueue.x-k8s.io/v1beta2",
        "{}",
        """
/namespace x
/manageJobsWithoutQueueName true
/managedJobsNamespaceSelector/matchLabels {a: b}
/health/healthProbeBindAddress x
/health/readinessEndpointName x
/health/livenessEndpointName x
/metrics/bindAddress x
/metrics/enableClusterQueueResources true
/metrics/localQueueMetrics/enable true
/metrics/localQueueMetrics/localQueueSelector/matchLabels {a: b}
/metrics/customLabels [{name: team, sourceLabelKey: a.b/team}]
/webhook/port 7
/webhook/host x
/webhook/certDir x
/leaderElection/leaderElect true
/leaderElection/resourceName x
/controller/groupKindConcurrency {Job.batch: 7}
/controller/cacheSyncTimeout 7s
/pprofBindAddress x
/tls/minVersion VersionTLS12
/tls/cipherSuites [x]
/internalCertManagement/enable false
/internalCertManagement/webhookServiceName x
/internalCertManagement/webhookSecretName x
/clientConnection/qps 7
/clientConnection/burst 7
/waitForPodsReady/timeout 7s
/waitForPodsReady/recoveryTimeout 7s
/waitForPodsReady/unscheduledTimeout 7s
/waitForPodsReady/blockAdmission true
/waitForPodsReady/requeuingStrategy/timestamp Creation
/waitForPodsReady/requeuingStrategy/backoffLimitCount 7
/waitForPodsReady/requeuingStrategy/backoffBaseSeconds 7
/waitForPodsReady/requeuingStrategy/backoffMaxSeconds 7
/integrations/frameworks [batch/job]
/integrations/externalFrameworks [X.v1.y]
/integrations/labelKeysToCopy [a]
/fairSharing/preemptionStrategies [LessThanInitialShare]
/admissionFairSharing/usageHalfLifeTime 7s
/admissionFairSharing/usageSamplingInterval 7s
/admissionFairSharing/resourceWeights {cpu: 2}
/resources/excludeResourcePrefixes [a]
/resources/quotaCheckStrategy IgnoreUndeclared
/resources/transformations [{input: a, strategy: Replace}]
/resources/transformations [{input: a, multiplyBy: b, outputs: {c: 2}}]
/resources/deviceClassMappings [{name: a, deviceClassNames: [b]}]
/objectRetentionPolicies/workloads/afterFinished 7s
/objectRetentionPolicies/workloads/afterDeactivatedByKueue 7s
/multiKueue/gcInterval 7s
/multiKueue/origin x
/multiKueue/workerLostTimeout 7s
/multiKueue/dispatcherName x
/multiKueue/externalFrameworks [{name: x}]
/multiKueue/clusterProfile/credentialsProviders [x]
/featureGates {PriorityBoost: true}
/featureGates {MultiKueue: true, ConcurrentAdmission: true}
/visibilityServer/bindAddress x
/visibilityServer/bindPort 7
/failureRecovery/nodeTerminationTimeout 7s
""",
    ),
    "JobSet": KindTable(
        "jobset.x-k8s.io/v1alpha2",
        f"{{spec: {{replicatedJobs: [{{name: w, template: {{spec: {{parallelism: 2, template: {{spec: {POD}}}}}}}}}]}}}}",
        """
/spec/replicatedJobs/0/name v
/spec/replicatedJobs/0/groupName g
/spec/replicatedJobs/0/replicas 3
/spec/replicatedJobs/0/dependsOn [{name: v, status: Complete}]
/spec/replicatedJobs/0/template/metadata/labels {a: b}
/spec/replicatedJobs/0/template/metadata/annotations {a: b}
/spec/replicatedJobs/0/template/spec @JobSpec
/spec/network/enableDNSHostnames true
/spec/network/subdomain x
/spec/network/publishNotReadyAddresses true
/spec/successPolicy {operator: Any, targetReplicatedJobs: [w]}
/spec/failurePolicy/maxRestarts 3
/spec/failurePolicy/restartStrategy BlockingRecreate
/spec/failurePolicy/rules [{name: a, action: FailJobSet}]
/spec/failurePolicy/rules [{action: FailJobSet, onJobFailureReasons: [BackoffLimitExceeded]}]
/spec/startupPolicy/startupPolicyOrder InOrder
/spec/suspend true
/spec/coordinator/replicatedJob w
/spec/coordinator/jobIndex 1
/spec/coordinator/podIndex 1
/spec/managedBy x
/spec/ttlSecondsAfterFinished 7
/spec/volumeClaimPolicies [{templates: []}]
""",
    ),
    "LeaderWorkerSet": KindTable(
        "leaderworkerset.x-k8s.io/v1",
        f"{{spec: {{leaderWorkerTemplate: {{size: 3, leaderTemplate: {{spec: {POD}}}, workerTemplate: {{spec: {POD}}}}}}}}}",
        """
/spec/replicas 3
/spec/leaderWorkerTemplate/size 5
/spec/leaderWorkerTemplate/leaderTemplate @PodTemplateSpec
/spec/leaderWorkerTemplate/workerTemplate @PodTemplateSpec
/spec/leaderWorkerTemplate/restartPolicy None
/spec/leaderWorkerTemplate/subGroupPolicy/subGroupSize 2
/spec/leaderWorkerTemplate/subGroupPolicy/subGroupPolicyType LeaderExcluded
/spec/leaderWorkerTemplate/volumeClaimTemplates [{metadata: {name: x}}]
/spec/rolloutStrategy/type RollingUpdate
/spec/rolloutStrategy/rollingUpdateConfiguration/maxSurge 1
/spec/startupPolicy LeaderReady
/spec/networkConfig/subdomainPolicy Shared
""",
    ),
    "RayCluster": KindTable("ray.io/v1", f"{{spec: {_RAY_BASE}}}", _ray("")),
    "RayJob": KindTable(
        "ray.io/v1",
        f"{{spec: {{shutdownAfterJobFinishes: true, rayClusterSpec: {_RAY_BASE},"
        f" submitterPodTemplate: {{spec: {POD}}}}}}}",
        _ray("/rayClusterSpec")
        + """
/spec/activeDeadlineSeconds 7
/spec/waitingTtlSeconds 7
/spec/backoffLimit 3
/spec/submitterPodTemplate @PodTemplateSpec
/spec/metadata {a: b}
/spec/clusterSelector {a: b}
/spec/submitterConfig/backoffLimit 3
/spec/managedBy x
/spec/deletionStrategy/onSuccess/policy DeleteCluster
/spec/entrypoint x
/spec/runtimeEnvYAML x
/spec/jobId x
/spec/submissionMode HTTPMode
/spec/entrypointResources x
/spec/entrypointNumCpus 1
/spec/entrypointNumGpus 1
/spec/ttlSecondsAfterFinished 7
/spec/shutdownAfterJobFinishes false
/spec/suspend true
""",
    ),
    "RayService": KindTable(
        "ray.io/v1",
        f"{{spec: {{rayClusterConfig: {_RAY_BASE}}}}}",
        _ray("/rayClusterConfig")
        + """
/spec/rayClusterDeletionDelaySeconds 7
/spec/serveService/metadata/name x
/spec/upgradeStrategy/type None
/spec/serveConfigV2 x
/spec/excludeHeadPodFromServeSvc true
""",
    ),
    "PyTorchJob": _kubeflow(
        "pytorchReplicaSpecs",
        "Master Worker",
        "/spec/nprocPerNode '2'\n/spec/elasticPolicy/minReplicas 1\n/spec/elasticPolicy/maxReplicas 4\n"
        "/spec/elasticPolicy/rdzvBackend c10d\n/spec/elasticPolicy/maxRestarts 3\n",
    ),
    "TFJob": _kubeflow(
        "tfReplicaSpecs",
        "Chief Master PS Worker Evaluator",
        "/spec/successPolicy AllWorkers\n/spec/enableDynamicWorker true\n",
    ),
    "MPIJob": _kubeflow(
        "mpiReplicaSpecs",
        "Launcher Worker",
        "/spec/slotsPerWorker 2\n/spec/runLauncherAsWorker true\n/spec/sshAuthMountPath /x\n"
        "/spec/launcherCreationPolicy WaitForWorkersReady\n/spec/mpiImplementation Intel\n",
        "v2beta1",
    ),
    "XGBoostJob": _kubeflow("xgbReplicaSpecs", "Master Worker"),
    "PaddleJob": _kubeflow(
        "paddleReplicaSpecs", "Master Worker", "/spec/elasticPolicy/minReplicas 1\n"
    ),
    "JAXJob": _kubeflow("jaxReplicaSpecs", "Worker"),
    "AppWrapper": KindTable(
        "workload.codeflare.dev/v1beta2",
        f"{{spec: {{components: [{{podSets: [{{path: template.spec.template}}], template: {{apiVersion: batch/v1, kind: Job, spec: {{template: {{spec: {POD}}}}}}}}}]}}}}",
        """
/spec/components/0/annotations {a: b}
/spec/components/0/podSets/0/replicas 3
/spec/components/0/podSets/0/path template.nothing
/spec/components/0/podSets/0/annotations {a: b}
/spec/components/0/podSetInfos [{labels: {a: b}}]
/spec/components/0/template/spec/template @PodTemplateSpec
/spec/components/0/template/spec/parallelism 3
/spec/suspend true
/spec/managedBy x
""",
    ),
    "SparkApplication": KindTable(
        "sparkoperator.k8s.io/v1beta2",
        "{spec: {driver: {cores: 1}, executor: {instances: 2}}}",
        _spark("driver")
        + _spark("executor")
        + """
/spec/executor/instances 3
/spec/executor/deleteOnTermination true
/spec/driver/podName x
/spec/driver/kubernetesMaster x
/spec/driver/serviceAnnotations {a: b}
/spec/driver/serviceLabels {a: b}
/spec/suspend true
/spec/type Python
/spec/sparkVersion 3.5.0
/spec/mode cluster
/spec/proxyUser x
/spec/image x
/spec/imagePullPolicy Always
/spec/imagePullSecrets [x]
/spec/mainClass x
/spec/mainApplicationFile x
/spec/arguments [x]
/spec/sparkConf {spark.executor.cores: '3'}
/spec/hadoopConf {a: b}
/spec/sparkConfigMap x
/spec/hadoopConfigMap x
/spec/volumes [{name: x}]
/spec/deps/jars [x]
/spec/restartPolicy/type Always
/spec/nodeSelector {a: b}
/spec/failureRetries 3
/spec/retryInterval 7
/spec/pythonVersion '3'
/spec/memoryOverheadFactor '0.5'
/spec/monitoring/exposeDriverMetrics true
/spec/batchScheduler volcano
/spec/timeToLiveSeconds 7
/spec/batchSchedulerOptions/queue x
/spec/sparkUIOptions/servicePort 7
/spec/driverIngressOptions [{servicePort: 7}]
/spec/dynamicAllocation/enabled true
/spec/dynamicAllocation/initialExecutors 3
/spec/dynamicAllocation/minExecutors 3
/spec/dynamicAllocation/maxExecutors 3
/spec/dynamicAllocation/shuffleTrackingTimeout 3
""",
    ),
}
"""By kind what Kubernetes' own package has no schema for."""

_CORE = "io.k8s.api.core.v1."
DEFINITIONS = {
    "Job": "io.k8s.api.batch.v1.Job",
    "JobSpec": "io.k8s.api.batch.v1.JobSpec",
    "PodTemplateSpec": f"{_CORE}PodTemplateSpec",
    "Pod": f"{_CORE}Pod",
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "StatefulSet": "io.k8s.api.apps.v1.StatefulSet",
    "CronJob": "io.k8s.api.batch.v1.CronJob",
    "Node": f"{_CORE}Node",
    "Namespace": f"{_CORE}Namespace",
    "LimitRange": f"{_CORE}LimitRange",
    "RuntimeClass": "io.k8s.api.node.v1.RuntimeClass",
    "PriorityClass": "io.k8s.api.scheduling.v1.PriorityClass",
}
"""By kind, or by the name in a line of a table, the definition of Kubernetes."""
