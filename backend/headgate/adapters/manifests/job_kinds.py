"""The kinds of jobs beside Job and JobSet: where their pod sets stand, and what runs them.

One row of `JOB_KINDS` for each kind. Names of pod sets, counts and priority classes are those of
Kueue's integrations (`pkg/controller/jobs`). A kind that only its controller can run needs the
capability `controller.<kind>`: such workloads are admitted to nodes without an Executor, or with
one that declares the capability, and are never started as plain processes.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, TypeAlias

import msgspec

from headgate.adapters.manifests.codec import Places
from headgate.adapters.manifests.fields import Fields, Problems
from headgate.adapters.manifests.job_templates import TRAINER, train_job_policy, train_job_roles
from headgate.adapters.manifests.jobs import (
    QUEUE_NAME,
    PodRole,
    PodsOfTemplate,
    ReadJob,
    pods_of_template,
    pods_of_wrapped_job,
    replicated_pods,
    required_mapping,
    tell_unread,
    tell_without_effect,
    workload_of,
)
from headgate.adapters.manifests.metadata import ManifestKind, Metadata
from headgate.adapters.manifests.pod_templates import template_bodies
from headgate.adapters.manifests.priority_classes import class_of_job
from headgate.adapters.manifests.retry_policy import JobPolicy, policy_of_pytorch_job
from headgate.adapters.manifests.spark_application import spark_pods
from headgate.adapters.manifests.topology_requests import asks_for_topology, group_of_replica
from headgate.domain.rejection import child
from headgate.domain.values.capabilities import CONTROLLER
from headgate.domain.workloads.specs import NO_RETRIES, PodIndex, is_elastic

RunBy = Literal["executors", "controller"]
"""What runs the pods: the executors, or the kind's own controller once they are admitted."""


ReadRoles: TypeAlias = Callable[[Fields, Metadata], Iterator[PodRole]]
"""The pods of a job from its spec."""
ReadPolicy: TypeAlias = Callable[[Fields], JobPolicy]


def no_policy(_spec: Fields) -> JobPolicy:
    """What runs the pods decides about their failures."""
    return JobPolicy(retries=NO_RETRIES)


class JobKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of job: its pod sets from its spec, and where it names a priority class.

    `priority_class_at` is a path in the spec that goes before the templates' own classes. Pods of
    a kind with `may_queue_pods` may name the queue where the object does not.
    """

    name: str
    version: str
    run_by: RunBy
    roles: ReadRoles
    priority_class_at: tuple[str, ...] = ()
    policy: ReadPolicy = no_policy
    may_queue_pods: bool = False

    @property
    def manifest(self) -> ManifestKind:
        """How its manifests are recognised."""
        return ManifestKind(
            name=self.name, versions=(self.version,), becomes="Workload", namespaced=True
        )


def read_job_kind(kind: JobKind, root: Fields, spec: Fields, metadata: Metadata) -> ReadJob:
    """A job of one of the kinds as a workload; the other fields are its controller's."""
    spec.ignore("suspend")
    spec.child_or_empty("runPolicy").ignore("suspend")
    roles = kind.roles(spec, metadata)
    found = [_pods(kind, role, f"/spec/podSets/{number}") for number, role in enumerate(roles)]
    if not found and not root.problems:
        root.note("spec", "JobWithoutPods", kind=kind.name)
    templates = [pods.template for pods in found]
    named = class_of_job(metadata, templates, _class_named(spec, kind.priority_class_at))
    places = tuple(place for pods in found for place in (*pods.places, *named.places))
    if not found:
        # The rule about pod sets points to why there are none.
        places = (("/spec/podSets", root.problems[0].pointer),)
    spec_read = workload_of(
        root, metadata, [(p.pod_set, p.template) for p in found], named, kind.policy(spec)
    )
    tell_unread(spec, kind.name, is_of_controller=kind.run_by == "controller")
    if kind.may_queue_pods and found and not spec_read.queue_name:
        labels_at = child(templates[0].pointer, "metadata", "labels", QUEUE_NAME)
        queue = templates[0].labels.get(QUEUE_NAME, "")
        spec_read = msgspec.structs.replace(spec_read, queue_name=queue)
        places = (*places, ("/spec/queueName", labels_at))
    return spec_read, places, template_bodies(templates)


def _pods(kind: JobKind, role: PodRole, place: str) -> PodsOfTemplate:
    pods = pods_of_template(role.template, place, name=role.name, count=role.count)
    needs = pods.pod_set.needs
    if kind.run_by == "controller":
        needs = (f"{CONTROLLER}{kind.name}",)
    else:
        tell_without_effect(role.template, pods.template)
    topology = pods.pod_set.topology_request
    if topology is not None and role.replica is not None:
        topology = group_of_replica(topology, role.replica)
    pod_set = msgspec.structs.replace(
        pods.pod_set, pod_index=role.index, needs=needs, topology_request=topology
    )
    places: Places = pods.places
    if role.counted_at:
        places = (*places, (child(place, "count"), role.counted_at))
    return msgspec.structs.replace(pods, pod_set=pod_set, places=places)


def _class_named(spec: Fields, path: tuple[str, ...]) -> tuple[str, str] | None:
    """The priority class at a path of the spec, and its pointer."""
    if not path:
        return None
    for step in path[:-1]:
        spec = spec.child_or_empty(step)
    name = spec.text(path[-1])
    return (name, child(spec.pointer, path[-1])) if name else None


def _deployment(spec: Fields, _metadata: Metadata) -> Iterator[PodRole]:
    yield from replicated_pods(spec)


def _stateful_set(spec: Fields, _metadata: Metadata) -> Iterator[PodRole]:
    yield from replicated_pods(spec, index=PodIndex(label="apps.kubernetes.io/pod-index"))


def _leader_worker_set(spec: Fields, _metadata: Metadata) -> Iterator[PodRole]:
    """Leaders and workers of all groups; a group has `size` pods, of which one leads.

    Where a template asks for a topology each group has pod sets of its own, as that is asked for
    each group (Kueue makes a workload of each).
    """
    groups = spec.integer("replicas", 1)
    fields = required_mapping(spec, "leaderWorkerTemplate")
    size, size_at = fields.integer("size", 1), child(fields.pointer, "size")
    leader, worker = fields.child("leaderTemplate"), fields.child("workerTemplate")
    asks = any(asks_for_topology(each.values) for each in (leader, worker) if each is not None)
    apart = asks and groups > 1
    for replica in range(groups) if apart else (None,):
        name = "{}" if replica is None else f"{{}}-{replica}"
        yield from _group_of_leader(
            spec, fields, leader, (name, size, size_at, replica), 1 if apart else groups
        )


def _group_of_leader(
    spec: Fields,
    fields: Fields,
    leader: Fields | None,
    group: tuple[str, int, str, int | None],
    groups: int,
) -> Iterator[PodRole]:
    """The pods of one group, or of all of them together."""
    name, size, size_at, replica = group
    label = "leaderworkerset.sigs.k8s.io/worker-index"
    groups_label = "leaderworkerset.sigs.k8s.io/group-index"
    by_group = PodIndex(label=label, sub_group_label=groups_label, sub_group_count=groups)
    if leader is not None:
        yield PodRole(
            name=name.format("leader"),
            count=groups,
            counted_at=child(spec.pointer, "replicas"),
            template=leader,
            replica=replica,
        )
    others = size if leader is None else size - 1
    if others or leader is None:
        yield PodRole(
            name=name.format("main" if leader is None else "worker"),
            count=others * groups,
            counted_at=size_at,
            template=required_mapping(fields, "workerTemplate"),
            index=by_group if groups > 1 else PodIndex(label=label),
            replica=replica,
        )


def _of_replica_specs(field: str, *roles: str) -> ReadRoles:
    """Kubeflow's jobs: a mapping from role to its replicas and template, in the order of roles."""

    def read(spec: Fields, _metadata: Metadata) -> Iterator[PodRole]:
        fields = required_mapping(spec, field)
        for role in roles:
            replicas = fields.child(role)
            if replicas is not None:
                index = PodIndex(label="training.kubeflow.org/replica-index")
                yield from replicated_pods(replicas, index=index, name=role.lower())
        fields.reject_unknown()

    return read


def _ray_cluster(spec: Fields, metadata: Metadata) -> Iterator[PodRole]:
    """The head and each group of workers; a replica of a group may have several hosts."""
    scales = spec.flag("enableInTreeAutoscaling", default=False)
    if scales and not is_elastic(metadata.annotations):
        spec.note("enableInTreeAutoscaling", "RayAutoscaling")
    head = required_mapping(spec, "headGroupSpec")
    yield PodRole(name="head", count=1, template=required_mapping(head, "template"))
    for group in spec.children("workerGroupSpecs"):
        name = group.required_text("groupName").lower()
        if name == "head":
            group.note("groupName", "GroupNameReserved", group=name)
        yield PodRole(
            name=name,
            count=group.integer("replicas", 1) * max(1, group.integer("numOfHosts", 1)),
            counted_at=child(group.pointer, "replicas"),
            template=required_mapping(group, "template"),
        )


def _ray_service(spec: Fields, metadata: Metadata) -> Iterator[PodRole]:
    yield from _ray_cluster(required_mapping(spec, "rayClusterConfig"), metadata)


SUBMITTER = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "ray-job-submitter",
                "resources": {
                    "requests": {"cpu": "500m", "memory": "200Mi"},
                    "limits": {"cpu": "1", "memory": "1Gi"},
                },
            }
        ],
    }
}
"""The pod that KubeRay submits a RayJob with, where the job brings none."""


def _ray_job(spec: Fields, metadata: Metadata) -> Iterator[PodRole]:
    """The cluster, and the pod that submits the job to it in the default mode."""
    if spec.raw("clusterSelector"):
        spec.note("clusterSelector", "RayClusterSelected")
    if spec.raw("shutdownAfterJobFinishes") is not True:
        spec.note("shutdownAfterJobFinishes", "RayJobKeepsCluster")
    yield from _ray_cluster(required_mapping(spec, "rayClusterSpec"), metadata)
    if spec.text("submissionMode", "K8sJobMode") == "K8sJobMode":
        at = child(spec.pointer, "submitterPodTemplate")
        template = spec.child("submitterPodTemplate") or Fields(SUBMITTER, at, spec.problems)
        yield PodRole(name="submitter", count=1, template=template)


def _app_wrapper(spec: Fields, metadata: Metadata) -> Iterator[PodRole]:
    """The pod sets that each component names by the path of a template within it.

    A component of a known kind need not name them.
    """
    number = 0
    for component in spec.children("components"):
        wrapped = component.child_or_empty("template")
        wrapped.ignore("apiVersion", "kind", "metadata")
        declared = [
            PodRole(
                name="",
                count=pod_set.integer("replicas", 1),
                counted_at=child(pod_set.pointer, "replicas"),
                template=_within(wrapped, pod_set.required_text("path"), pod_set),
            )
            for pod_set in component.children("podSets")
        ]
        found = declared or list(_roles_of_component(wrapped, metadata))
        if not found:
            component.note("podSets", "Required", field="podSets")
        for role in found:
            yield msgspec.structs.replace(role, name=f"{metadata.name}-{number}")
            number += 1


def _roles_of_component(wrapped: Fields, metadata: Metadata) -> Iterator[PodRole]:
    """The pods of a component by its kind; none for a kind that is not known."""
    name, spec = wrapped.text("kind"), wrapped.child_or_empty("spec")
    known = JOB_KINDS_BY_NAME.get(name)
    match name:
        case "Pod":
            yield PodRole(name="", count=1, template=wrapped)
        case "Job":
            yield pods_of_wrapped_job(spec, replicas=1)
        case "JobSet":
            for job in spec.children("replicatedJobs"):
                within = job.child_or_empty("template").child_or_empty("spec")
                yield pods_of_wrapped_job(within, replicas=job.integer("replicas", 1))
        case "RayJob":
            # The pod that submits is no part of the cluster (AppWrapper: InferPodSets).
            yield from _ray_cluster(required_mapping(spec, "rayClusterSpec"), metadata)
        case _ if known is not None and known.roles is not _app_wrapper:
            yield from known.roles(spec, metadata)


def _within(wrapped: Fields, path: str, pod_set: Fields) -> Fields:
    """The mapping at a path such as `template.spec.template` of a component."""
    found = wrapped
    for step in path.removeprefix("template.").split("."):
        inner = found.values.get(step)
        if not isinstance(inner, dict):
            pod_set.note("path", "NothingAtPath", path=path)
            return Fields({}, pod_set.pointer, Problems())
        found = found.child_or_empty(step)
    return found


def _spark_application(spec: Fields, _metadata: Metadata) -> Iterator[PodRole]:
    for name, count, template in spark_pods(spec):
        yield PodRole(name=name, count=count, template=template)


_KUBEFLOW = "kubeflow.org/v1"
_OF_RUN_POLICY = ("runPolicy", "schedulingPolicy", "priorityClass")
_RAY = "ray.io/v1"


def _kubeflow(name: str, field: str, *roles: str, version: str = _KUBEFLOW) -> JobKind:
    return JobKind(
        name=name,
        version=version,
        run_by="controller",
        roles=_of_replica_specs(field, *roles),
        priority_class_at=_OF_RUN_POLICY,
    )


JOB_KINDS: tuple[JobKind, ...] = (
    JobKind(
        name="Deployment",
        version="apps/v1",
        run_by="controller",
        roles=_deployment,
        may_queue_pods=True,
    ),
    JobKind(
        name="StatefulSet",
        version="apps/v1",
        run_by="controller",
        roles=_stateful_set,
        may_queue_pods=True,
    ),
    JobKind(
        name="LeaderWorkerSet",
        version="leaderworkerset.x-k8s.io/v1",
        run_by="controller",
        roles=_leader_worker_set,
    ),
    JobKind(name="RayCluster", version=_RAY, run_by="controller", roles=_ray_cluster),
    JobKind(name="RayJob", version=_RAY, run_by="controller", roles=_ray_job),
    JobKind(name="RayService", version=_RAY, run_by="controller", roles=_ray_service),
    JobKind(
        name="PyTorchJob",
        version=_KUBEFLOW,
        run_by="executors",
        roles=_of_replica_specs("pytorchReplicaSpecs", "Master", "Worker"),
        priority_class_at=_OF_RUN_POLICY,
        policy=policy_of_pytorch_job,
    ),
    _kubeflow("TFJob", "tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    _kubeflow("MPIJob", "mpiReplicaSpecs", "Launcher", "Worker", version="kubeflow.org/v2beta1"),
    _kubeflow("XGBoostJob", "xgbReplicaSpecs", "Master", "Worker"),
    _kubeflow("PaddleJob", "paddleReplicaSpecs", "Master", "Worker"),
    _kubeflow("JAXJob", "jaxReplicaSpecs", "Worker"),
    JobKind(
        name="TrainJob",
        version=TRAINER,
        run_by="controller",
        roles=partial(train_job_roles, {}),
        policy=train_job_policy,
    ),
    JobKind(
        name="AppWrapper",
        version="workload.codeflare.dev/v1beta2",
        run_by="controller",
        roles=_app_wrapper,
    ),
    JobKind(
        name="SparkApplication",
        version="sparkoperator.k8s.io/v1beta2",
        run_by="controller",
        roles=_spark_application,
    ),
)

JOB_KINDS_BY_NAME = {kind.name: kind for kind in JOB_KINDS}
