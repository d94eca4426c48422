"""One manifest of each kind of job, and the pod sets that Kueue makes of it."""

from typing import NamedTuple

POD = "containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]"
GPU = "containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]"


RUNTIME = f"""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: torch}}
spec:
  mlPolicy: {{numNodes: 2, torch: {{}}}}
  template:
    spec:
      replicatedJobs:
      - name: dataset
        template:
          metadata:
            labels: {{trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec: {{template: {{spec: {{{POD}}}}}}}
      - name: node
        dependsOn: [{{name: dataset, status: Complete}}]
        template:
          metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
          spec: {{template: {{spec: {{containers: [{{name: node, image: i}}]}}}}}}
"""


class JobExample(NamedTuple):
    """A manifest, and its pod sets as name and count."""

    manifest: str
    pod_sets: tuple[tuple[str, int], ...]


def _job(version: str, kind: str, spec: str) -> str:
    head = f"apiVersion: {version}\nkind: {kind}\n"
    metadata = "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lq}}\n"
    return f"{head}{metadata}spec:\n{spec}"


def _replicas(field: str, **roles: int) -> str:
    specs = "".join(
        f"    {role}:\n      replicas: {count}\n      template: {{spec: {{{POD}}}}}\n"
        for role, count in roles.items()
    )
    return f"  runPolicy: {{suspend: true}}\n  {field}:\n{specs}"


RAY = f"""
    headGroupSpec: {{rayStartParams: {{}}, template: {{spec: {{{POD}}}}}}}
    workerGroupSpecs:
    - groupName: Small
      replicas: 3
      numOfHosts: 2
      template: {{spec: {{{GPU}}}}}
    - groupName: single
      template: {{spec: {{{POD}}}}}
"""
RAY_SETS = (("head", 1), ("small", 6), ("single", 1))

EXAMPLES = {
    "Job": JobExample(
        _job("batch/v1", "Job", f"  parallelism: 3\n  template: {{spec: {{{POD}}}}}\n"),
        (("main", 3),),
    ),
    "JobSet": JobExample(
        _job(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "  replicatedJobs:\n  - name: w\n    replicas: 2\n    template:\n"
            f"      spec: {{parallelism: 2, template: {{spec: {{{POD}}}}}}}\n",
        ),
        (("w", 4),),
    ),
    "Pod": JobExample(_job("v1", "Pod", f"  {POD}\n"), (("main", 1),)),
    "Deployment": JobExample(
        _job("apps/v1", "Deployment", f"  replicas: 4\n  template: {{spec: {{{POD}}}}}\n"),
        (("main", 4),),
    ),
    "PodGroup": JobExample(
        _job("scheduling.kai.nvidia.com/v2alpha2", "PodGroup", "  queue: lq\n  minMember: 2\n")
        + "".join(
            f"---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: p{number}\n"
            f"  annotations: {{pod-group-name: x}}\nspec: {{{POD}}}\n"
            for number in range(3)
        ),
        (("pods-7fdff637", 3),),
    ),
    "StatefulSet": JobExample(
        _job("apps/v1", "StatefulSet", f"  template: {{spec: {{{POD}}}}}\n"), (("main", 1),)
    ),
    "LeaderWorkerSet": JobExample(
        _job(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "  replicas: 2\n  leaderWorkerTemplate:\n    size: 4\n"
            f"    leaderTemplate: {{spec: {{{POD}}}}}\n    workerTemplate: {{spec: {{{GPU}}}}}\n",
        ),
        (("leader", 2), ("worker", 6)),
    ),
    "RayCluster": JobExample(_job("ray.io/v1", "RayCluster", RAY.replace("\n  ", "\n")), RAY_SETS),
    "RayJob": JobExample(
        _job(
            "ray.io/v1",
            "RayJob",
            f"  entrypoint: python x.py\n  shutdownAfterJobFinishes: true\n  rayClusterSpec:{RAY}",
        ),
        (*RAY_SETS, ("submitter", 1)),
    ),
    "RayService": JobExample(
        _job("ray.io/v1", "RayService", f"  serveConfigV2: x\n  rayClusterConfig:{RAY}"), RAY_SETS
    ),
    "PyTorchJob": JobExample(
        _job("kubeflow.org/v1", "PyTorchJob", _replicas("pytorchReplicaSpecs", Worker=3, Master=1)),
        (("master", 1), ("worker", 3)),
    ),
    "TFJob": JobExample(
        _job("kubeflow.org/v1", "TFJob", _replicas("tfReplicaSpecs", Worker=3, PS=2, Chief=1)),
        (("chief", 1), ("ps", 2), ("worker", 3)),
    ),
    "MPIJob": JobExample(
        _job("kubeflow.org/v2beta1", "MPIJob", _replicas("mpiReplicaSpecs", Launcher=1, Worker=2)),
        (("launcher", 1), ("worker", 2)),
    ),
    "XGBoostJob": JobExample(
        _job("kubeflow.org/v1", "XGBoostJob", _replicas("xgbReplicaSpecs", Master=1, Worker=2)),
        (("master", 1), ("worker", 2)),
    ),
    "PaddleJob": JobExample(
        _job("kubeflow.org/v1", "PaddleJob", _replicas("paddleReplicaSpecs", Worker=2)),
        (("worker", 2),),
    ),
    "JAXJob": JobExample(
        _job("kubeflow.org/v1", "JAXJob", _replicas("jaxReplicaSpecs", Worker=2)), (("worker", 2),)
    ),
    "TrainJob": JobExample(
        f"{RUNTIME}---\n"
        + _job(
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            "  runtimeRef: {name: torch}\n  trainer:\n    numNodes: 3\n"
            "    resourcesPerNode: {requests: {nvidia.com/gpu: 2}}\n",
        ),
        (("dataset", 1), ("node", 3)),
    ),
    "AppWrapper": JobExample(
        _job(
            "workload.codeflare.dev/v1beta2",
            "AppWrapper",
            "  components:\n  - podSets: [{replicas: 2, path: template.spec.template}]\n"
            "    template:\n      apiVersion: batch/v1\n      kind: Job\n"
            f"      spec: {{parallelism: 2, template: {{spec: {{{POD}}}}}}}\n",
        ),
        (("x-0", 2),),
    ),
    "SparkApplication": JobExample(
        _job(
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            "  type: Python\n  driver: {cores: 1, memory: 512m}\n"
            "  executor: {instances: 3, cores: 2, memory: 2g, gpu: {name: nvidia.com/gpu,"
            " quantity: 1}}\n",
        ),
        (("driver", 1), ("executor", 3)),
    ),
}

CRON_JOB = f"""
apiVersion: batch/v1
kind: CronJob
metadata: {{name: x}}
spec:
  schedule: "* * * * *"
  jobTemplate:
    metadata: {{labels: {{kueue.x-k8s.io/queue-name: lq}}}}
    spec: {{parallelism: 3, completions: 3, template: {{spec: {{{POD}}}}}}}
"""
"""A CronJob is no workload: it makes Jobs."""
