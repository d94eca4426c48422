"""The kinds of jobs beside Job and JobSet: where their pod sets stand, and what runs them.

One row of `JOB_KINDS` for each kind. Names of pod sets, counts and priority classes are those of
Kueue's integrations (`pkg/controller/jobs`). A kind that only its controller can run needs the
capability `controller.<kind>`: such workloads are admitted to nodes without an Executor, or with
one that declares the capability, and are never started as plain processes.
"""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec

from headgate.adapters.manifests.codec import Places
from headgate.adapters.manifests.fields import Fields, Problems
from headgate.adapters.manifests.jobs import (
    PodsOfTemplate,
    ReadJob,
    pods_of_template,
    tell_without_effect,
    workload_of,
)
from headgate.adapters.manifests.metadata import ManifestKind, Metadata
from headgate.adapters.manifests.pod_templates import template_bodies
from headgate.adapters.manifests.priority_classes import class_of_job
from headgate.adapters.manifests.retry_policy import JobPolicy
from headgate.adapters.manifests.spark_application import spark_pods
from headgate.domain.rejection import child, violation
from headgate.domain.values.capabilities import CONTROLLER
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.specs import (
    NO_RETRIES,
    PodIndex,
    RetryPolicy,
    RetryRule,
    SuccessRule,
    is_elastic,
)

MAX_UNREAD = 40
"""So many fields of a job are named that its controller alone reads, or that nothing reads."""

RunBy = Literal["executors", "controller"]
"""What runs the pods: the executors, or the kind's own controller once they are admitted."""


class PodRole(msgspec.Struct, frozen=True, kw_only=True):
    """Equal pods of a job: as many as `count`, of the template at `template`.

    `counted_at` is where their number stands.
    """

    name: str
    count: int
    template: Fields
    counted_at: str = ""
    index: PodIndex | None = None


ReadRoles: TypeAlias = Callable[[Fields, Metadata], Iterator[PodRole]]
"""The pods of a job from its spec."""
ReadPolicy: TypeAlias = Callable[[Fields], JobPolicy]


def no_policy(_spec: Fields) -> JobPolicy:
    """What runs the pods decides about their failures."""
    return JobPolicy(retries=NO_RETRIES)


class JobKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of job: its pod sets from its spec, and where it names a priority class.

    `priority_class_at` is a path in the spec that goes before the templates' own classes.
    """

    name: str
    version: str
    run_by: RunBy
    roles: ReadRoles
    priority_class_at: tuple[str, ...] = ()
    policy: ReadPolicy = no_policy

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
    if not found:
        root.note("spec", "JobWithoutPods", kind=kind.name)
    templates = [pods.template for pods in found]
    named = class_of_job(metadata, templates, _class_named(spec, kind.priority_class_at))
    places = tuple(place for pods in found for place in (*pods.places, *named.places))
    spec_read = workload_of(
        root, metadata, [(p.pod_set, p.template) for p in found], named, kind.policy(spec)
    )
    _tell_unread(kind, spec)
    return spec_read, places, template_bodies(templates)


def _tell_unread(kind: JobKind, spec: Fields) -> None:
    """Name the fields that the kind's own controller reads, or that nothing reads."""
    unread = [pointer.removeprefix(f"{spec.pointer}/") for pointer in spec.unread()]
    spec.ignore(*spec.values)
    if unread and kind.run_by == "controller":
        spec.warn("", "FieldsOfController", kind=kind.name, fields=tuple(unread[:MAX_UNREAD]))
    elif kind.run_by == "executors":
        spec.problems.warnings += [
            violation(child(spec.pointer, *field.split("/")), "FieldWithoutEffect", field=field)
            for field in unread[:MAX_UNREAD]
        ]


def _pods(kind: JobKind, role: PodRole, place: str) -> PodsOfTemplate:
    pods = pods_of_template(role.template, place, name=role.name, count=role.count)
    needs = pods.pod_set.needs
    if kind.run_by == "controller":
        needs = (f"{CONTROLLER}{kind.name}",)
    else:
        tell_without_effect(role.template, pods.template)
    pod_set = msgspec.structs.replace(pods.pod_set, pod_index=role.index, needs=needs)
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


def _replicated(
    spec: Fields, *, index: PodIndex | None = None, name: str = "main"
) -> Iterator[PodRole]:
    yield PodRole(
        name=name,
        count=spec.integer("replicas", 1),
        counted_at=child(spec.pointer, "replicas"),
        template=_required(spec, "template"),
        index=index,
    )


def _required(fields: Fields, name: str) -> Fields:
    fields.require(name)
    return fields.child_or_empty(name)


def _deployment(spec: Fields, _metadata: Metadata) -> Iterator[PodRole]:
    yield from _replicated(spec)


def _stateful_set(spec: Fields, _metadata: Metadata) -> Iterator[PodRole]:
    yield from _replicated(spec, index=PodIndex(label="apps.kubernetes.io/pod-index"))


def _leader_worker_set(spec: Fields, _metadata: Metadata) -> Iterator[PodRole]:
    """Leaders and workers of all groups; a group has `size` pods, of which one leads."""
    groups = spec.integer("replicas", 1)
    fields = _required(spec, "leaderWorkerTemplate")
    size, size_at = fields.integer("size", 1), child(fields.pointer, "size")
    leader = fields.child("leaderTemplate")
    label = "leaderworkerset.sigs.k8s.io/worker-index"
    groups_label = "leaderworkerset.sigs.k8s.io/group-index"
    by_group = PodIndex(label=label, sub_group_label=groups_label, sub_group_count=groups)
    if leader is not None:
        groups_at = child(spec.pointer, "replicas")
        yield PodRole(name="leader", count=groups, counted_at=groups_at, template=leader)
    others = size if leader is None else size - 1
    if others or leader is None:
        yield PodRole(
            name="main" if leader is None else "worker",
            count=others * groups,
            counted_at=size_at,
            template=_required(fields, "workerTemplate"),
            index=by_group if groups > 1 else PodIndex(label=label),
        )


def _of_replica_specs(field: str, *roles: str) -> ReadRoles:
    """Kubeflow's jobs: a mapping from role to its replicas and template, in the order of roles."""

    def read(spec: Fields, _metadata: Metadata) -> Iterator[PodRole]:
        fields = _required(spec, field)
        for role in roles:
            replicas = fields.child(role)
            if replicas is not None:
                index = PodIndex(label="training.kubeflow.org/replica-index")
                yield from _replicated(replicas, index=index, name=role.lower())
        fields.reject_unknown()

    return read


def _ray_cluster(spec: Fields, metadata: Metadata) -> Iterator[PodRole]:
    """The head and each group of workers; a replica of a group may have several hosts."""
    scales = spec.flag("enableInTreeAutoscaling", default=False)
    if scales and not is_elastic(metadata.annotations):
        spec.note("enableInTreeAutoscaling", "RayAutoscaling")
    head = _required(spec, "headGroupSpec")
    yield PodRole(name="head", count=1, template=_required(head, "template"))
    for group in spec.children("workerGroupSpecs"):
        name = group.required_text("groupName").lower()
        if name == "head":
            group.note("groupName", "GroupNameReserved", group=name)
        yield PodRole(
            name=name,
            count=group.integer("replicas", 1) * max(1, group.integer("numOfHosts", 1)),
            counted_at=child(group.pointer, "replicas"),
            template=_required(group, "template"),
        )


def _ray_service(spec: Fields, metadata: Metadata) -> Iterator[PodRole]:
    yield from _ray_cluster(_required(spec, "rayClusterConfig"), metadata)


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
    yield from _ray_cluster(_required(spec, "rayClusterSpec"), metadata)
    if spec.text("submissionMode", "K8sJobMode") == "K8sJobMode":
        at = child(spec.pointer, "submitterPodTemplate")
        template = spec.child("submitterPodTemplate") or Fields(SUBMITTER, at, spec.problems)
        yield PodRole(name="submitter", count=1, template=template)


def _app_wrapper(spec: Fields, metadata: Metadata) -> Iterator[PodRole]:
    """The pod sets that each component names by the path of a template within it."""
    number = 0
    for component in spec.children("components"):
        wrapped = component.child_or_empty("template")
        wrapped.ignore("apiVersion", "kind", "metadata")
        declared = list(component.children("podSets"))
        if not declared:
            component.note("podSets", "Required", field="podSets")
        for pod_set in declared:
            path = pod_set.required_text("path")
            yield PodRole(
                name=f"{metadata.name}-{number}",
                count=pod_set.integer("replicas", 1),
                counted_at=child(pod_set.pointer, "replicas"),
                template=_within(wrapped, path, pod_set),
            )
            number += 1


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


def _pytorch_policy(spec: Fields) -> JobPolicy:
    """What a PyTorchJob says of failures; it has succeeded once its master has."""
    fields = spec.child_or_empty("runPolicy")
    replicas = spec.child_or_empty("pytorchReplicaSpecs")
    rules, ignored = [], list[Message]()
    for role in ("Master", "Worker"):
        policy = replicas.child_or_empty(role).text("restartPolicy", "OnFailure")
        names = (role.lower(),)
        if policy == "Never":
            rules.append(RetryRule(action="FailWorkload", pod_sets=names))
        elif policy == "ExitCode":
            # Kubeflow: codes up to 127 are final, greater ones are those of signals.
            final = tuple(range(1, 128))
            rules.append(RetryRule(action="FailWorkload", on_exit_codes=final, pod_sets=names))
    for field in ("elasticPolicy", "nprocPerNode"):
        if spec.has(field):
            ignored.append(message("FieldWithoutEqual", field=field))
    main = "master" if replicas.has("Master") else "worker"
    return JobPolicy(
        retries=RetryPolicy(limit=fields.optional_integer("backoffLimit"), rules=tuple(rules)),
        success_rules=(SuccessRule(pod_sets=(main,), indexes=((0, 0),)),),
        active_deadline_seconds=fields.optional_integer("activeDeadlineSeconds"),
        ttl_seconds_after_finished=fields.optional_integer("ttlSecondsAfterFinished"),
        ignored=tuple(ignored),
    )


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
    JobKind(name="Deployment", version="apps/v1", run_by="controller", roles=_deployment),
    JobKind(name="StatefulSet", version="apps/v1", run_by="controller", roles=_stateful_set),
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
        policy=_pytorch_policy,
    ),
    _kubeflow("TFJob", "tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    _kubeflow("MPIJob", "mpiReplicaSpecs", "Launcher", "Worker", version="kubeflow.org/v2beta1"),
    _kubeflow("XGBoostJob", "xgbReplicaSpecs", "Master", "Worker"),
    _kubeflow("PaddleJob", "paddleReplicaSpecs", "Master", "Worker"),
    _kubeflow("JAXJob", "jaxReplicaSpecs", "Worker"),
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
