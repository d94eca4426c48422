"""The codecs of CronJobs and training runtimes, and the pods of TrainJobs.

A TrainJob has the pods of the JobSet that Kubeflow Trainer makes of its runtime
(`pkg/runtime/framework/plugins/jobset`), by which Kueue sizes it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headgate.adapters.manifests.codec import OURS, Codec, Extras, ReadSpec
from headgate.adapters.manifests.fields import Fields, rfc3339
from headgate.adapters.manifests.jobs import (
    COMPLETION_INDEX,
    PodRole,
    pods_of_template,
    read_job,
    required_mapping,
    tell_unread,
)
from headgate.adapters.manifests.metadata import ManifestSchema, Metadata, object_schema
from headgate.adapters.manifests.pod_templates import TEMPLATE_METADATA_FIELDS
from headgate.adapters.manifests.records import Record, field, read_required_text
from headgate.adapters.manifests.retry_policy import JobPolicy
from headgate.domain.field_rules import shown
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.job_templates import (
    CLUSTER_TRAINING_RUNTIME,
    CRON_JOB,
    TRAINING_RUNTIME,
    ConcurrencyPolicy,
    CronJobSpec,
    JobTemplate,
    TrainingRuntimeSpec,
)
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import Violation, child, moved
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.specs import NO_RETRIES, PodIndex
from headgate.messages.catalogue import text_of

TEMPLATE_AT = "/spec/jobTemplate"


def _read_zone(spec: Fields, name: str, _: object) -> str:
    zone = spec.text(name)
    try:
        if zone:
            ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        spec.note(name, "TimeZoneUnknown", zone=shown(zone))
    return zone


def _read_job_template(spec: Fields, name: str, _: object) -> JobTemplate:
    """The template; what a Job of it would be refused for is noted here."""
    template = required_mapping(spec, name)
    metadata = template.child_or_empty("metadata")
    metadata.ignore(*TEMPLATE_METADATA_FIELDS)
    read = JobTemplate(
        labels=metadata.text_map("labels"), annotations=metadata.text_map("annotations")
    )
    job = required_mapping(template, "spec")
    as_job = Metadata(
        name="job",
        namespace="",
        generate_name="",
        uid="",
        resource_version="",
        labels=read.labels,
        annotations=read.annotations,
    )
    problems = len(spec.problems)
    found, places, _bodies = read_job(template, job, as_job)
    for fields in (job, metadata, template):
        fields.reject_unknown()
    if len(spec.problems) == problems:
        for broken in workload_violations(found):
            at = moved(broken.pointer, places)
            pointer = at if at.startswith(TEMPLATE_AT) else f"{TEMPLATE_AT}{at}"
            spec.problems.append(Violation(pointer, broken.message))
    return JobTemplate(labels=read.labels, annotations=read.annotations, spec=job.values)


def _rendered_template(template: JobTemplate) -> dict[str, Any]:
    metadata = {"labels": template.labels, "annotations": template.annotations}
    given = {name: value for name, value in metadata.items() if value}
    return {**({"metadata": given} if given else {}), "spec": template.spec}


CRON_JOB_RECORD = Record(
    CronJobSpec,
    field("schedule", read=read_required_text),
    field("timeZone", read=_read_zone, omits_usual=True),
    field("startingDeadlineSeconds", omits_usual=True),
    field("concurrencyPolicy"),
    field("suspend"),
    field("successfulJobsHistoryLimit"),
    field("failedJobsHistoryLimit"),
    field("jobTemplate", read=_read_job_template, render=_rendered_template),
)


def _render_cron_job(cron_job: Configured[CronJobSpec], _: Extras) -> dict[str, Any]:
    spec, status = cron_job.spec, {}
    if spec.scheduled_at is not None:
        status["lastScheduleTime"] = rfc3339(spec.scheduled_at)
    if spec.refusal is not None:
        status["refusal"] = text_of(spec.refusal)
    return {"spec": CRON_JOB_RECORD.render(spec), **({"status": status} if status else {})}


class CronJobSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """When a Job is made of the template, and how many ended ones are kept."""

    schedule: str
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: ConcurrencyPolicy = "Allow"
    suspend: bool = False
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1
    job_template: dict[str, Any]


class CronJobStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """The last scheduled time that was served, and why no Job came of it."""

    last_schedule_time: str | None = None
    refusal: str | None = None


CRON_JOB_CODEC = Codec(
    kind=CRON_JOB,
    versions=("batch/v1", OURS),
    read=lambda spec: (CRON_JOB_RECORD.read(spec), ("scheduled_at", "refusal")),
    render=_render_cron_job,
    schema=object_schema(
        "CronJob", "A CronJob, which makes Jobs.", CronJobSpecSchema, CronJobStatusSchema
    ),
)


Runtimes: TypeAlias = Mapping[tuple[str, str, str], TrainingRuntimeSpec]
"""Training runtimes by kind, namespace (empty for the cluster's) and name."""

NO_RUNTIMES: Runtimes = {}
TRAINER = "trainer.kubeflow.org/v1alpha1"
_OF_CLUSTER, _OF_NAMESPACE = CLUSTER_TRAINING_RUNTIME.name, TRAINING_RUNTIME.name
RUNTIME_KINDS = (_OF_CLUSTER, _OF_NAMESPACE)
_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_INITIALIZERS = ("dataset-initializer", "model-initializer")
_NODE, _LAUNCHER = "node", "launcher"


def training_runtimes(config: ObjectSet) -> Runtimes:
    """The runtimes that exist."""
    everywhere = config.cluster_training_runtimes.values()
    return {
        **{(_OF_CLUSTER, "", each.name): each.spec for each in everywhere},
        **{
            (_OF_NAMESPACE, each.namespace, each.name): each.spec
            for each in config.training_runtimes.values()
        },
    }


def _read_runtime(spec: Fields) -> ReadSpec:
    """The sizes and the JobSet of a runtime; the other fields are its controller's."""
    policy = spec.child_or_empty("mlPolicy")
    mpi = policy.child("mpi")
    template = required_mapping(spec, "template").child_or_empty("spec")
    for job in template.children("replicatedJobs"):
        job.required_text("name")
        inner = required_mapping(job.child_or_empty("template").child_or_empty("spec"), "template")
        pods_of_template(inner, "/spec", name="", count=1)
    read = TrainingRuntimeSpec(
        nodes=policy.integer("numNodes", 1),
        is_mpi=mpi is not None,
        runs_launcher_as_node=mpi is not None and mpi.flag("runLauncherAsNode", default=False),
        template=template.values,
    )
    if not template.values.get("replicatedJobs"):
        template.note("replicatedJobs", "TooFew", field="replicatedJobs", minimum=1)
    for job in template.children("replicatedJobs"):
        job.ignore(*job.values)
        job.child_or_empty("template").ignore("metadata")
    tell_unread(spec, "TrainJob", is_of_controller=True)
    return read, ()


def _render_runtime(runtime: Configured[TrainingRuntimeSpec], _: Extras) -> dict[str, Any]:
    spec = runtime.spec
    launcher = {"runLauncherAsNode": True} if spec.runs_launcher_as_node else {}
    policy = {"numNodes": spec.nodes, **({"mpi": launcher} if spec.is_mpi else {})}
    return {"spec": {"mlPolicy": policy, "template": {"spec": spec.template}}}


class TrainingRuntimeSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """How many nodes a TrainJob of the runtime has, and the JobSet that it becomes."""

    ml_policy: dict[str, Any] | None = None
    template: dict[str, Any]


TRAINING_RUNTIME_CODEC = Codec(
    kind=TRAINING_RUNTIME,
    versions=(TRAINER, OURS),
    read=_read_runtime,
    render=_render_runtime,
    schema=object_schema(
        "TrainingRuntime", "A runtime of TrainJobs of its namespace.", TrainingRuntimeSpecSchema
    ),
)
CLUSTER_TRAINING_RUNTIME_CODEC = Codec(
    kind=CLUSTER_TRAINING_RUNTIME,
    versions=(TRAINER, OURS),
    read=_read_runtime,
    render=_render_runtime,
    schema=object_schema(
        "ClusterTrainingRuntime", "A runtime of TrainJobs.", TrainingRuntimeSpecSchema
    ),
)


def train_job_roles(runtimes: Runtimes, spec: Fields, metadata: Metadata) -> Iterator[PodRole]:
    """The pods of a TrainJob: those of its runtime, with the nodes and resources of its trainer."""
    reference = required_mapping(spec, "runtimeRef")
    reference.ignore("apiGroup")
    kind = reference.choice("kind", RUNTIME_KINDS, _OF_CLUSTER)
    name = reference.required_text("name")
    reference.reject_unknown()
    trainer = spec.child_or_empty("trainer")
    nodes = trainer.optional_integer("numNodes")
    resources = trainer.child("resourcesPerNode")
    if resources is not None:
        resources.amounts("requests")
        resources.amounts("limits")
    patches = list(_patches(spec))
    namespace = metadata.namespace if kind == _OF_NAMESPACE else ""
    runtime = runtimes.get((kind, namespace, name))
    if runtime is None:
        if name:
            spec.note("runtimeRef", "RuntimeUnknown", kind=kind, runtime=shown(name))
        return
    per_node = resources.values if resources is not None else None
    if per_node and not _takes_resources(runtime):
        # In Kueue's documentation the only container of a runtime is called `trainer`.
        trainer.warn("resourcesPerNode", "FieldWithoutEffect", field="resourcesPerNode")
    for job in runtime.template.get("replicatedJobs", ()):
        template = _pod_template(runtime, job, per_node)
        for target, changed in patches:
            template = _patched(template, changed) if target == job["name"] else template
        yield PodRole(
            name=job["name"],
            count=_count(runtime, job, nodes),
            counted_at=child(trainer.pointer, "numNodes") if nodes is not None else "",
            template=Fields(template, reference.pointer, spec.problems),
            index=PodIndex(label=COMPLETION_INDEX),
        )


def train_job_policy(spec: Fields) -> JobPolicy:
    """What runs the pods decides about their failures; their time may be bounded."""
    seconds = spec.optional_integer("activeDeadlineSeconds")
    return JobPolicy(retries=NO_RETRIES, active_deadline_seconds=seconds)


def _count(runtime: TrainingRuntimeSpec, job: Mapping[str, Any], nodes: int | None) -> int:
    """The pods of one job of the runtime (Trainer: `EnforceMLPolicy`)."""
    wanted = runtime.nodes if nodes is None else nodes
    parallelism = int(_job_spec(job).get("parallelism") or 1)
    if runtime.is_mpi:
        if job["name"] != _NODE:
            return parallelism
        return max(wanted - 1, 1) if runtime.runs_launcher_as_node else wanted
    match _ancestor(job):
        case "trainer":
            return wanted
        case step if step in _INITIALIZERS:
            return parallelism
        case _:
            return parallelism * int(job.get("replicas") or 1)


def _ancestor(job: Mapping[str, Any]) -> str:
    metadata = (job.get("template") or {}).get("metadata") or {}
    return str((metadata.get("labels") or {}).get(_ANCESTOR, ""))


def _job_spec(job: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (job.get("template") or {}).get("spec") or {}
    return found


def _pod_template(
    runtime: TrainingRuntimeSpec, job: Mapping[str, Any], resources: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The pod template of a job, its node containers with the trainer's resources."""
    template: dict[str, Any] = dict(_job_spec(job).get("template") or {})
    if not resources:
        return template
    named = _sized_containers(runtime)
    containers = _containers(template)
    sized = [
        {**each, "resources": dict(resources)} if each.get("name") in named else each
        for each in containers
    ]
    return {**template, "spec": {**template["spec"], "containers": sized}}


def _containers(template: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return (template.get("spec") or {}).get("containers") or []


def _sized_containers(runtime: TrainingRuntimeSpec) -> frozenset[str]:
    """The containers that get the resources of the trainer (Trainer: `Builder.Trainer`)."""
    return frozenset((_NODE, _LAUNCHER) if runtime.runs_launcher_as_node else (_NODE,))


def _takes_resources(runtime: TrainingRuntimeSpec) -> bool:
    sized = _sized_containers(runtime)
    return any(
        container.get("name") in sized
        for job in runtime.template.get("replicatedJobs", ())
        for container in _containers(_job_spec(job).get("template") or {})
    )


def _patches(spec: Fields) -> Iterator[tuple[str, dict[str, Any]]]:
    """By job of the runtime what a TrainJob changes of its pods' scheduling."""
    for override in spec.children("podTemplateOverrides"):
        changed = _changed(override)
        for target in override.children("targetJobs"):
            yield target.required_text("name"), changed
    for patch in spec.children("runtimePatches"):
        template = patch.child_or_empty("trainingRuntimeSpec").child_or_empty("template")
        for job in template.child_or_empty("spec").children("replicatedJobs"):
            inner = job.child_or_empty("template").child_or_empty("spec")
            yield job.required_text("name"), _changed(inner.child_or_empty("template"))


def _changed(template: Fields) -> dict[str, Any]:
    metadata, pod = template.child_or_empty("metadata"), template.child_or_empty("spec")
    return {
        "labels": metadata.text_map("labels"),
        "annotations": metadata.text_map("annotations"),
        "nodeSelector": pod.text_map("nodeSelector"),
        "tolerations": pod.raw("tolerations"),
        "affinity": pod.raw("affinity"),
    }


def _patched(template: dict[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """The template with maps joined, and tolerations and affinity replaced."""
    metadata, pod = dict(template.get("metadata") or {}), dict(template.get("spec") or {})
    for mapping, name in ((metadata, "labels"), (metadata, "annotations"), (pod, "nodeSelector")):
        if changed[name]:
            mapping[name] = {**(mapping.get(name) or {}), **changed[name]}
    for name in ("tolerations", "affinity"):
        if changed[name]:
            pod[name] = changed[name]
    return {**template, "metadata": metadata, "spec": pod}
