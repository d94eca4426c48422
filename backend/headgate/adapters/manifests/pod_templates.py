"""What a pod template says about nodes and room (reference queueing.md §3.3)."""

from collections.abc import Iterable, Mapping

import msgspec

from headgate.adapters.manifests.fields import Fields, quantity_text
from headgate.adapters.manifests.selectors import (
    read_node_affinity,
    read_pod_constraints,
    read_tolerations,
)
from headgate.domain.values.quantities import NotAQuantity, Requests, nanos_of
from headgate.domain.workloads.pods.requests import ALWAYS, Nanos, PodResources, pod_requests
from headgate.domain.workloads.pods.templates import TemplateParts, template_parts
from headgate.domain.workloads.specs import Scheduling


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What scheduling reads of a pod template; `parts` has the template itself, as submitted."""

    scheduling: Scheduling
    priority_class_name: str
    preemption_policy: str = ""
    labels: dict[str, str]
    annotations: dict[str, str]
    pointer: str
    restart_policy: str = ""
    parts: TemplateParts


def read_template(fields: Fields) -> Template:
    """The template as far as scheduling goes; fields we do not use are only checked for typos."""
    metadata = fields.child_or_empty("metadata")
    metadata.ignore(*TEMPLATE_METADATA_FIELDS)
    labels = metadata.text_map("labels")
    annotations = metadata.text_map("annotations")
    metadata.reject_unknown()
    pod = fields.child_or_empty("spec")
    pod.ignore(*POD_FIELDS)
    read = Template(
        scheduling=_scheduling(pod, labels),
        priority_class_name=pod.text("priorityClassName"),
        preemption_policy=pod.choice("preemptionPolicy", ("PreemptLowerPriority", "Never"), ""),
        labels=labels,
        annotations=annotations,
        pointer=fields.pointer,
        restart_policy=pod.text("restartPolicy"),
        parts=template_parts(fields.values),
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
    fields.ignore("claims")
    requests = _nanos(fields, "requests")
    limits = _nanos(fields, "limits")
    fields.reject_unknown()
    for name, limit in limits.items():
        if requests.get(name, limit) > limit:
            fields.note("requests", "RequestAboveLimit", resource=name)
    return {**limits, **requests}


def _nanos(fields: Fields, name: str) -> Nanos:
    listed = fields.child_or_empty(name)
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
    "resourceClaims",
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
