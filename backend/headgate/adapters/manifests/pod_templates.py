"""What a pod template says about nodes and room (reference queueing.md §3.3)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from headgate.adapters.manifests.fields import Fields, quantity_text
from headgate.adapters.manifests.selectors import (
    read_node_affinity,
    read_pod_constraints,
    read_tolerations,
)
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.quantities import NotAQuantity, Requests, nanos_of
from headgate.domain.workloads.pods.requests import ALWAYS, Nanos, PodResources, pod_requests
from headgate.domain.workloads.pods.templates import TemplateParts, template_parts
from headgate.domain.workloads.specs import Scheduling


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What scheduling reads of a pod template; `parts` has the template itself, as submitted.

    `without_effect` warns of the fields that change nothing where executors run the pods.
    """

    scheduling: Scheduling
    priority_class_name: str
    preemption_policy: str = ""
    labels: dict[str, str]
    annotations: dict[str, str]
    pointer: str
    restart_policy: str = ""
    parts: TemplateParts
    without_effect: tuple[Violation, ...] = ()


def read_template(fields: Fields) -> Template:
    """The template as far as scheduling goes; fields we do not use are only checked for typos."""
    metadata = fields.child_or_empty("metadata")
    metadata.ignore(*TEMPLATE_METADATA_FIELDS)
    labels = metadata.text_map("labels")
    annotations = metadata.text_map("annotations")
    metadata.reject_unknown()
    pod = fields.child_or_empty("spec")
    pod.ignore(*POD_FIELDS)
    pod.reject_unsupported("resourceClaims", "ResourceClaimsUnsupported")
    read = Template(
        scheduling=_scheduling(pod, labels),
        priority_class_name=pod.text("priorityClassName"),
        preemption_policy=pod.choice("preemptionPolicy", ("PreemptLowerPriority", "Never"), ""),
        labels=labels,
        annotations=annotations,
        pointer=fields.pointer,
        restart_policy=pod.choice("restartPolicy", RESTART_POLICIES, ""),
        parts=template_parts(fields.values),
        without_effect=tuple(_without_effect(pod)),
    )
    pod.reject_unknown()
    fields.reject_unknown()
    return read


def template_bodies(templates: Iterable[Template]) -> tuple[bytes, ...]:
    """The templates that stand beside the log, each once."""
    return tuple(dict.fromkeys(t.parts.body for t in templates if t.parts.body))


def _scheduling(pod: Fields, labels: Mapping[str, str]) -> Scheduling:
    affinity = pod.child("affinity")
    node_affinity = affinity.child("nodeAffinity") if affinity else None
    terms, wishes = read_node_affinity(node_affinity) if node_affinity else ((), ())
    return Scheduling(
        requests=_pod_requests(pod),
        node_selector=pod.text_map("nodeSelector"),
        tolerations=read_tolerations(pod),
        affinity=terms,
        preferred_affinity=wishes,
        pod_constraints=read_pod_constraints(pod, labels),
    )


def _pod_requests(pod: Fields) -> Requests:
    containers = tuple(_container_requests(container) for container in pod.children("containers"))
    if not containers and not pod.values.get("containers"):
        pod.note("containers", "TooFew", field="containers", minimum=1)
    initial = tuple(
        (_container_requests(container), container.text("restartPolicy") == ALWAYS)
        for container in pod.children("initContainers")
    )
    resources = pod.child("resources")
    return pod_requests(
        PodResources(
            containers=containers,
            initial=initial,
            pod_level=_resources(resources) if resources else {},
            overhead=_nanos(pod, "overhead"),
        )
    )


def _container_requests(container: Fields) -> Nanos:
    container.ignore(*CONTAINER_FIELDS)
    resources = container.child("resources")
    asked = _resources(resources) if resources else {}
    container.reject_unknown()
    return asked


def _resources(fields: Fields) -> Nanos:
    fields.reject_unsupported("claims", "ResourceClaimsUnsupported")
    requests = _nanos(fields, "requests")
    limits = _nanos(fields, "limits")
    fields.reject_unknown()
    for name, limit in limits.items():
        if requests.get(name, limit) > limit:
            fields.note("requests", "RequestAboveLimit", resource=name)
    return {**limits, **requests}


def _nanos(fields: Fields, name: str) -> Nanos:
    listed = fields.child_or_empty(name)
    listed.ignore(*listed.values)
    found: Nanos = {}
    for resource, value in listed.values.items():
        try:
            found[resource] = nanos_of(quantity_text(value) or "?")
        except NotAQuantity:
            listed.note(resource, "NotQuantity")
            continue
        if found[resource] < 0:
            listed.note(resource, "RequestNegative", resource=resource)
        if resource == "pods":
            listed.note(resource, "PodsNotRequestable")
    return found


def _without_effect(pod: Fields) -> Iterator[Violation]:
    """Warns of fields that say how Kubernetes starts pods, unless they say what it does anyway."""
    yield from _other_than(pod.values, pod.pointer, POD_FIELDS_WITHOUT_EFFECT)
    for number, volume in enumerate(_mappings(pod.values.get("volumes"))):
        empty, at = volume.get("emptyDir"), child(pod.pointer, "volumes", number, "emptyDir")
        if isinstance(empty, dict):
            yield from _other_than(empty, at, EMPTY_DIR_FIELDS_WITHOUT_EFFECT)
    for field in ("initContainers", "containers"):
        for number, container in enumerate(_mappings(pod.values.get(field))):
            at = child(pod.pointer, field, number)
            yield from _other_than(container, at, CONTAINER_FIELDS_WITHOUT_EFFECT)
            for index, port in enumerate(_mappings(container.get("ports"))):
                yield from _other_than(port, child(at, "ports", index), PORT_FIELDS_WITHOUT_EFFECT)


def _other_than(
    values: Mapping[str, Any], at: str, usual: Mapping[str, object]
) -> Iterator[Violation]:
    for name, meant in usual.items():
        if values.get(name) not in (None, "", [], meant):
            yield violation(child(at, name), "FieldWithoutEffect", field=name)


def _mappings(values: Any) -> list[dict[str, Any]]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


EMPTY_DIR_FIELDS_WITHOUT_EFFECT: Mapping[str, object] = {"medium": None, "sizeLimit": None}
RESTART_POLICIES = ("Always", "OnFailure", "Never")

POD_FIELDS_WITHOUT_EFFECT: Mapping[str, object] = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "schedulerName": "default-scheduler",
    "schedulingGates": None,
}
"""Fields without effect where executors run the pods, with the value that Kubernetes adds."""
CONTAINER_FIELDS_WITHOUT_EFFECT: Mapping[str, object] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
PORT_FIELDS_WITHOUT_EFFECT: Mapping[str, object] = {"hostIP": None, "hostPort": None}


TEMPLATE_METADATA_FIELDS = (
    "creationTimestamp",
    "finalizers",
    "generateName",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
)


POD_FIELDS = (
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "evictionResponders",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "nodeName",
    "os",
    "priority",
    "readinessGates",
    "runtimeClassName",
    "schedulerName",
    "schedulingGates",
    "schedulingGroup",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "topologySpreadConstraints",
    "volumes",
    "workloadRef",
)


CONTAINER_FIELDS = (
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
)
