"""Job and JobSet as workloads, as Kueue's integrations make them; other kinds: `job_kinds`."""

from collections.abc import Iterator

import msgspec

from headgate.adapters.manifests.codec import Places
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import Metadata
from headgate.adapters.manifests.pod_templates import (
    TEMPLATE_METADATA_FIELDS,
    Template,
    read_template,
    template_bodies,
)
from headgate.adapters.manifests.preemption_settings import settings_of
from headgate.adapters.manifests.priority_classes import NamedClass, class_of_job
from headgate.adapters.manifests.retry_policy import (
    JobPolicy,
    policy_of_job_set,
    read_job_policy,
    with_completions,
)
from headgate.adapters.manifests.topology_requests import ANNOTATION_PLACES, request_of_annotations
from headgate.domain.field_rules import shown
from headgate.domain.rejection import child, violation
from headgate.domain.workloads.specs import PodIndex, PodSet, WorkloadSpec

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
MAXIMUM_EXECUTION_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
MINIMUM_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
PREEMPTION_PRIORITY_CLASS = "headgate.dev/preemption-priority-class"


_LABELS = "/metadata/labels"
_LABEL_PLACES: Places = (
    ("/spec/queueName", child(_LABELS, QUEUE_NAME)),
    ("/spec/maximumExecutionTimeSeconds", child(_LABELS, MAXIMUM_EXECUTION_TIME)),
    ("/spec/preemptionPriorityClassName", child(_LABELS, PREEMPTION_PRIORITY_CLASS)),
)


_RULE_PLACES: Places = (
    ("/spec/retryPolicy/limitPerIndex", "/spec/backoffLimitPerIndex"),
    ("/spec/retryPolicy/maxFailedIndexes", "/spec/maxFailedIndexes"),
    ("/spec/retryPolicy/rules", "/spec/podFailurePolicy/rules"),
    ("/spec/successPolicy", "/spec/successPolicy"),
)
_JOB_PLACES: Places = (
    ("/spec/retryPolicy/limit", "/spec/backoffLimit"),
    *_RULE_PLACES,
)


class PodRole(msgspec.Struct, frozen=True, kw_only=True):
    """Equal pods of a job: as many as `count`, of the template at `template`.

    `counted_at` is where their number stands. With a `replica` its topology group is that of this
    replica alone.
    """

    name: str
    count: int
    template: Fields
    counted_at: str = ""
    index: PodIndex | None = None
    replica: int | None = None


class PodsOfTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The pod set of one template, and where its parts stand in the manifest."""

    pod_set: PodSet
    template: Template
    places: Places


class PodsOfJob(PodsOfTemplate, frozen=True, kw_only=True):
    """The pod set that one Job makes, and what the Job says of failures."""

    policy: JobPolicy


ReadJob = tuple[WorkloadSpec, Places, tuple[bytes, ...]]


def read_job(root: Fields, spec: Fields, metadata: Metadata) -> ReadJob:
    """A Job: one pod set of as many pods as run at once."""
    pods = _pods_of_job(spec, "/spec/podSets/0", name="main", replicas=1)
    minimum = _minimum(root, metadata)
    pod_set = msgspec.structs.replace(pods.pod_set, min_count=minimum)
    pod_set, policy = with_completions(pod_set, pods.policy)
    minimum_place = child("/metadata/annotations", MINIMUM_PARALLELISM)
    named = class_of_job(metadata, [pods.template])
    places = (
        ("/spec/podSets/0/minCount", minimum_place),
        *pods.places,
        *named.places,
        *_deadline_places(root, policy),
        *_LABEL_PLACES,
        *_JOB_PLACES,
    )
    read = workload_of(root, metadata, [(pod_set, pods.template)], named, policy)
    return read, places, template_bodies([pods.template])


def read_job_set(root: Fields, spec: Fields, metadata: Metadata) -> ReadJob:
    """A JobSet: one pod set for each replicated job."""
    spec.ignore(*JOB_SET_FIELDS)
    spec.pass_over(*JOB_SET_FIELDS_WITHOUT_EFFECT)
    if spec.text("managedBy") != JOB_SET_CONTROLLER:
        spec.pass_over("managedBy")
    order = spec.child_or_empty("startupPolicy")
    if order.text("startupPolicyOrder") == "InOrder":
        order.note("startupPolicyOrder", "JobsStartTogether")
    found = [
        _replicated(fields, index) for index, fields in enumerate(spec.children("replicatedJobs"))
    ]
    places = tuple(place for pods in found for place in pods.places)
    named = class_of_job(metadata, [pods.template for pods in found])
    places += (("/spec/podSets", "/spec/replicatedJobs"), *named.places, *_LABEL_PLACES)
    if len(found) == 1:
        only = "/spec/replicatedJobs/0/template/spec"
        places += tuple((ours, f"{only}{at.removeprefix('/spec')}") for ours, at in _RULE_PLACES)
    all_pods = [(pods.pod_set, pods.template) for pods in found]
    bodies = template_bodies(pods.template for pods in found)
    policy = policy_of_job_set(spec, {pods.pod_set.name: pods.policy for pods in found})
    return workload_of(root, metadata, all_pods, named, policy), places, bodies


def _replicated(fields: Fields, index: int) -> PodsOfJob:
    fields.pass_over("groupName")
    if fields.raw("dependsOn"):
        fields.note("dependsOn", "JobsStartTogether")
    name = fields.required_text("name")
    replicas = fields.integer("replicas", 1)
    job = fields.child_or_empty("template")
    metadata = job.child_or_empty("metadata")
    metadata.ignore(*TEMPLATE_METADATA_FIELDS)
    metadata.pass_over("labels", "annotations")
    metadata.reject_unknown()
    spec = job.child_or_empty("spec")
    pods = _pods_of_job(spec, f"/spec/podSets/{index}", name=name, replicas=replicas)
    numbered = PodIndex(label=COMPLETION_INDEX, sub_group_label=JOB_INDEX, sub_group_count=replicas)
    pod_set = msgspec.structs.replace(pods.pod_set, pod_index=numbered)
    pod_set, policy = with_completions(pod_set, pods.policy, replicas=replicas)
    pods = msgspec.structs.replace(pods, pod_set=pod_set, policy=policy)
    spec.reject_unknown()
    job.reject_unknown()
    fields.reject_unknown()
    return pods


def _pods_of_job(spec: Fields, place: str, *, name: str, replicas: int) -> PodsOfJob:
    spec.ignore("suspend")
    spec.pass_over("manualSelector", "selector")
    if spec.text("managedBy") != JOB_CONTROLLER:
        spec.pass_over("managedBy")
    spec.reject_unsupported("scheduling", "JobSchedulingUnsupported")
    parallelism = spec.integer("parallelism", 1)
    completions = spec.optional_integer("completions")
    at_once = parallelism if completions is None else min(parallelism, completions)
    template_fields = spec.child_or_empty("template")
    policy = read_job_policy(spec, _container_names(template_fields), parallelism=parallelism)
    pods = pods_of_template(template_fields, place, name=name, count=at_once * replicas)
    tell_without_effect(template_fields, pods.template)
    counted = "parallelism" if spec.has("parallelism") else "completions"
    return PodsOfJob(
        pod_set=msgspec.structs.replace(pods.pod_set, pod_index=PodIndex(label=COMPLETION_INDEX)),
        template=pods.template,
        places=(
            *pods.places,
            (child(place, "count"), child(spec.pointer, counted)),
            (child(place, "completions"), child(spec.pointer, "completions")),
        ),
        policy=policy,
    )


def pods_of_template(fields: Fields, place: str, *, name: str, count: int) -> PodsOfTemplate:
    """The pod set of so many pods of a template; `place` is that of the pod set in our shape."""
    template = read_template(fields)
    annotations_at = child(fields.pointer, "metadata", "annotations")
    pod_set = PodSet(
        name=name,
        count=count,
        scheduling=template.scheduling,
        template=template.parts.read,
        written=template.parts.written,
        unread=template.parts.unread,
        needs=template.parts.needs,
        topology_request=request_of_annotations(
            template.annotations, annotations_at, fields.problems
        ),
    )
    topology = tuple(
        (child(place, "topologyRequest", field), child(annotations_at, annotation))
        for field, annotation in ANNOTATION_PLACES
    )
    read_from_annotations = tuple(
        (child(annotations_at, field), child(annotations_at, annotation))
        for field, annotation in ANNOTATION_PLACES
    )
    places = (*topology, *read_from_annotations, (child(place, "template"), fields.pointer))
    return PodsOfTemplate(pod_set=pod_set, template=template, places=places)


def replicated_pods(
    spec: Fields, *, index: PodIndex | None = None, name: str = "main"
) -> Iterator[PodRole]:
    """The pods of `replicas` equal pods of a template."""
    yield PodRole(
        name=name,
        count=spec.integer("replicas", 1),
        counted_at=child(spec.pointer, "replicas"),
        template=required_mapping(spec, "template"),
        index=index,
    )


def required_mapping(fields: Fields, name: str) -> Fields:
    """The mapping under a field that must be there."""
    fields.require(name)
    return fields.child_or_empty(name)


def pods_of_wrapped_job(spec: Fields, *, replicas: int) -> PodRole:
    """The pods of a Job that run at once."""
    parallelism = spec.integer("parallelism", 1)
    at_once = min(parallelism, spec.integer("completions", parallelism))
    at = child(spec.pointer, "parallelism")
    template = required_mapping(spec, "template")
    return PodRole(name="", count=at_once * replicas, counted_at=at, template=template)


def tell_without_effect(fields: Fields, template: Template) -> None:
    """Warns of the fields of a template that change nothing where executors run its pods.

    A pod that ended is not started again by `restartPolicy: Always`: retries are the workload's.
    """
    if template.restart_policy == "Always":
        fields.child_or_empty("spec").pass_over("restartPolicy")
    fields.problems.warnings.extend(template.without_effect)


MAX_UNREAD = 40
"""So many fields of a job are named that its controller alone reads, or that nothing reads."""


def tell_unread(spec: Fields, kind: str, *, is_of_controller: bool) -> None:
    """Warns of the fields that the kind's own controller reads, or that nothing reads."""
    unread = [pointer.removeprefix(f"{spec.pointer}/") for pointer in spec.unread()]
    spec.ignore(*spec.values)
    if unread and is_of_controller:
        spec.warn("", "FieldsOfController", kind=kind, fields=tuple(unread[:MAX_UNREAD]))
    elif not is_of_controller:
        spec.problems.warnings += [
            violation(child(spec.pointer, *field.split("/")), "FieldWithoutEffect", field=field)
            for field in unread[:MAX_UNREAD]
        ]


def _container_names(template: Fields) -> tuple[str, ...]:
    """The names of the containers of a template; what is wrong with them is noted elsewhere."""
    pod = template.values.get("spec")
    listed = pod.get("containers") if isinstance(pod, dict) else None
    return tuple(
        str(container.get("name"))
        for container in (listed if isinstance(listed, list) else ())
        if isinstance(container, dict)
    )


def workload_of(
    root: Fields,
    metadata: Metadata,
    pods: list[tuple[PodSet, Template]],
    named: NamedClass,
    policy: JobPolicy,
) -> WorkloadSpec:
    """The spec of a job's workload, with what its labels and annotations say."""
    labels = metadata.labels
    limits = (_number(root, "labels", MAXIMUM_EXECUTION_TIME), policy.active_deadline_seconds)
    settings = settings_of(None, metadata, [template for _, template in pods])
    return WorkloadSpec(
        pod_sets=tuple(pod_set for pod_set, _ in pods),
        queue_name=labels.get(QUEUE_NAME, "") or metadata.annotations.get(QUEUE_NAME, ""),
        priority_class=named.reference,
        preemption_priority_class_name=labels.get(PREEMPTION_PRIORITY_CLASS, ""),
        can_preempt=settings.can_preempt,
        can_preempt_source=settings.can_preempt_source,
        preemptibility=settings.preemptibility,
        preemptibility_source=settings.preemptibility_source,
        ignored=(*settings.ignored, *policy.ignored),
        maximum_execution_time_seconds=min((n for n in limits if n is not None), default=None),
        retry_policy=policy.retries,
        success_rules=policy.success_rules,
        ttl_seconds_after_finished=policy.ttl_seconds_after_finished,
    )


def _deadline_places(root: Fields, policy: JobPolicy) -> Places:
    """The field that sets the maximum execution time, where that is not the label."""
    own, label = policy.active_deadline_seconds, _number(root, "labels", MAXIMUM_EXECUTION_TIME)
    if own is None or (label is not None and label < own):
        return ()
    return (("/spec/maximumExecutionTimeSeconds", "/spec/activeDeadlineSeconds"),)


def _minimum(root: Fields, metadata: Metadata) -> int | None:
    if MINIMUM_PARALLELISM not in metadata.annotations:
        return None
    return _number(root, "annotations", MINIMUM_PARALLELISM)


def _number(root: Fields, part: str, name: str) -> int | None:
    fields = root.child_or_empty("metadata").child_or_empty(part)
    text = fields.values.get(name)
    if text is None:
        return None
    if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= 10:  # noqa: PLR2004
        return int(text)
    fields.note(name, "NotIntegerString", value=shown(str(text)))
    return None


JOB_CONTROLLER = "kubernetes.io/job-controller"
JOB_SET_CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"
JOB_SET_FIELDS = ("suspend",)


JOB_SET_FIELDS_WITHOUT_EFFECT = ("coordinator", "network", "volumeClaimPolicies")
