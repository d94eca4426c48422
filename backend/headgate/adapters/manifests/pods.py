"""Pods and groups of pods as workloads, as Kueue's integration of plain pods makes them.

Pods with the label of one group make one workload of that name: equal pods are one pod set, and
all pods of the group come in one request, as many as the first says. Koordinator's label of groups
means the same, without a number (KOO-18), and so does KAI's annotation. A PodGroup in the request
says the rest of its pods: queue, priority class, preemptibility and the least number (KAI-4).
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from headgate.adapters.manifests.documents import Document
from headgate.adapters.manifests.fields import Fields, Problems
from headgate.adapters.manifests.jobs import (
    QUEUE_NAME,
    PodsOfTemplate,
    ReadJob,
    pods_of_template,
    workload_of,
)
from headgate.adapters.manifests.metadata import Metadata
from headgate.adapters.manifests.pod_templates import template_bodies
from headgate.adapters.manifests.preemption_settings import settings_of
from headgate.adapters.manifests.priority_classes import class_of_job
from headgate.adapters.manifests.retry_policy import JobPolicy
from headgate.adapters.manifests.topology_requests import ANNOTATION_PLACES
from headgate.domain.rejection import child, violation
from headgate.domain.values.message import message
from headgate.domain.workloads.specs import (
    NO_RETRIES,
    PodIndex,
    RetryPolicy,
    RetryRule,
    WorkloadSpec,
)

GROUP_NAME = "kueue.x-k8s.io/pod-group-name"
GROUP_COUNT = "kueue.x-k8s.io/pod-group-total-count"
KOORDINATOR_GROUP = "pod-group.scheduling.sigs.k8s.io"
KAI_GROUP = "pod-group-name"
GROUP_INDEX = "kueue.x-k8s.io/pod-group-pod-index"
_ANNOTATIONS = tuple(annotation for _, annotation in ANNOTATION_PLACES)


POD_GROUP_VERSIONS = ("scheduling.kai.nvidia.com/v2alpha2", "scheduling.sigs.k8s.io/v1alpha1")
_WITHOUT_EFFECT = (
    "backgroundJob",
    "markUnschedulable",
    "minResources",
    "scheduleTimeoutSeconds",
    "schedulingBackoff",
    "stalenessGracePeriod",
)
"""Fields of a PodGroup that a queue manager has no use for."""


class PodGroup(msgspec.Struct, frozen=True):
    """The pods of one group in a request, in their order; none for another document."""

    name: str = ""
    pods: tuple[dict[str, Any], ...] = ()


NO_GROUP = PodGroup()


def grouped(documents: Iterable[Document]) -> Iterator[tuple[Document, PodGroup]]:
    """Each document, those of one group of pods as one in the place of the first."""
    found: dict[tuple[str, str] | int, list[Document]] = {}
    for number, document in enumerate(documents):
        group = _group_of(document.value)
        found.setdefault(group or number, []).append(document)
    for key, members in found.items():
        if isinstance(key, int):
            yield members[0], NO_GROUP
            continue
        pods = tuple(member.value for member in members if member.value["kind"] == "Pod")
        # A PodGroup speaks for its pods; of two of a name the second is an object of its own.
        heads = [member for member in members if member.value["kind"] == "PodGroup"]
        yield (*heads, members[0])[0], PodGroup(key[1], pods)
        yield from ((other, NO_GROUP) for other in heads[1:])


def _group_of(value: Any) -> tuple[str, str] | None:
    """Namespace and name of a PodGroup or the group of a pod; None for what is in no group."""
    if not isinstance(value, dict) or value.get("kind") not in ("Pod", "PodGroup"):
        return None
    metadata = _mapping(value.get("metadata"))
    labels = _mapping(metadata.get("labels"))
    annotations = _mapping(metadata.get("annotations"))
    name = labels.get(GROUP_NAME) or labels.get(KOORDINATOR_GROUP) or annotations.get(KAI_GROUP)
    if value["kind"] == "PodGroup":
        name = metadata.get("name")
    return (str(metadata.get("namespace") or ""), name) if isinstance(name, str) and name else None


def read_pod_group(root: Fields, spec: Fields, metadata: Metadata, group: PodGroup) -> ReadJob:
    """A PodGroup of KAI or of the coscheduling plugin, with the pods that came with it."""
    spec.pass_over(*_WITHOUT_EFFECT)
    for name in ("subGroups", "topologyConstraint"):
        spec.reject_unsupported(name, "PodGroupStructure")
    queue, least = spec.text("queue"), spec.optional_integer("minMember")
    named = spec.text("priorityClassName")
    settings = settings_of(spec, metadata, ())
    if not group.pods:
        root.note("kind", "PodGroupWithoutPods", group=metadata.name)
        return WorkloadSpec(pod_sets=()), (("/spec/podSets", "/kind"),), ()
    if least is not None and least > len(group.pods):
        spec.note("minMember", "PodGroupTooSmall", count=len(group.pods), minimum=least)
    of_kind = (named, child(spec.pointer, "priorityClassName")) if named else None
    read, places, templates = _read_pods(root, metadata, group, of_kind)
    if settings.preemptibility_source == "Spec":
        read = msgspec.structs.replace(
            read, preemptibility=settings.preemptibility, preemptibility_source="Spec"
        )
    if least is not None and len(read.pod_sets) == 1 and 0 <= least < len(group.pods):
        pod_sets = (msgspec.structs.replace(read.pod_sets[0], min_count=least),)
        read = msgspec.structs.replace(read, pod_sets=pod_sets)
    places = (*places, ("/spec/podSets/0/minCount", child(spec.pointer, "minMember")))
    return msgspec.structs.replace(read, queue_name=queue or read.queue_name), places, templates


def read_pods(root: Fields, spec: Fields, metadata: Metadata, group: PodGroup) -> ReadJob:
    """A pod, or the pods of a group: one pod set for each kind of equal pods."""
    spec.ignore(*spec.values)
    return _read_pods(root, metadata, group)


def _read_pods(
    root: Fields, metadata: Metadata, group: PodGroup, of_kind: tuple[str, str] | None = None
) -> ReadJob:
    """The pods of a group, or one; `of_kind` is the class that a PodGroup names, and its place."""
    pods = group.pods or (root.values,)
    if group.pods:
        _check_group(root, metadata, group)
    found = [
        _pod_set(root.problems, equal, number, name)
        for number, (name, equal) in enumerate(_equal_pods(pods, is_group=bool(group.pods)))
    ]
    templates = [pods.template for pods in found]
    named = class_of_job(metadata, templates, of_kind)
    read = workload_of(
        root, metadata, [(p.pod_set, p.template) for p in found], named, _policy(found)
    )
    places = tuple(place for pods in found for place in (*pods.places, *named.places))
    return read, places, template_bodies(templates)


def _equal_pods(
    pods: Sequence[dict[str, Any]], *, is_group: bool
) -> list[tuple[str, list[dict[str, Any]]]]:
    """The pods by their name as a pod set: of a group that of the digest of what they have equal.

    Kueue calls it the hash of the role.
    """
    if not is_group:
        return [("main", list(pods))]
    found: dict[str, list[dict[str, Any]]] = {}
    for pod in pods:
        annotations = _mapping(_mapping(pod.get("metadata")).get("annotations"))
        topology = {name: annotations[name] for name in _ANNOTATIONS if name in annotations}
        shape = msgspec.json.encode([pod.get("spec"), topology], order="sorted")
        found.setdefault(f"pods-{sha256(shape).hexdigest()[:8]}", []).append(pod)
    return list(found.items())


def _pod_set(
    problems: Problems, equal: list[dict[str, Any]], number: int, name: str
) -> PodsOfTemplate:
    """The pod set of equal pods: a template of what the first has of one."""
    metadata = _mapping(equal[0].get("metadata"))
    kept = {part: metadata[part] for part in ("labels", "annotations") if metadata.get(part)}
    template = Fields({"metadata": kept, "spec": equal[0].get("spec") or {}}, "", problems)
    pods = pods_of_template(template, f"/spec/podSets/{number}", name=name, count=len(equal))
    problems.warnings.extend(pods.template.without_effect)
    indexed = msgspec.structs.replace(pods.pod_set, pod_index=PodIndex(label=GROUP_INDEX))
    return msgspec.structs.replace(pods, pod_set=indexed)


def _policy(found: Sequence[PodsOfTemplate]) -> JobPolicy:
    """The retries that `restartPolicy` asks for; Kubernetes' default is Always."""
    ignored, final = [], []
    for pods in found:
        policy = pods.template.restart_policy or "Always"
        if policy == "Never":
            final.append(pods.pod_set.name)
        elif policy == "Always":
            ignored.append(message("PodNotRestarted", pod_set=pods.pod_set.name))
    if len(final) == len(found):
        return JobPolicy(retries=NO_RETRIES, ignored=tuple(ignored))
    rules = (RetryRule(action="FailWorkload", pod_sets=tuple(final)),) if final else ()
    return JobPolicy(retries=RetryPolicy(limit=None, rules=rules), ignored=tuple(ignored))


def _check_group(root: Fields, metadata: Metadata, group: PodGroup) -> None:
    """Note a group that is not whole, or has pods for several queues."""
    if GROUP_NAME in metadata.labels:
        at, count = child("/metadata/annotations", GROUP_COUNT), len(group.pods)
        told = metadata.annotations.get(GROUP_COUNT, "")
        if told != str(count):
            total = told or None
            root.problems.append(
                violation(at, "PodGroupIncomplete", group=group.name, count=count, total=total)
            )
    queues = dict.fromkeys(
        str(_mapping(_mapping(pod.get("metadata")).get("labels")).get(QUEUE_NAME, ""))
        for pod in group.pods
    )
    if len(queues) > 1:
        at = child("/metadata/labels", QUEUE_NAME)
        root.problems.append(
            violation(at, "PodGroupQueues", group=group.name, queues=tuple(queues))
        )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
