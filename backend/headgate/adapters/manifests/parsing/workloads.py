"""Workload manifests (reference queueing.md §1.7, preemption.md §6.2-6.3)."""

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.field_aliases import either
from headgate.adapters.manifests.parsing.metadata import Metadata
from headgate.adapters.manifests.parsing.pod_templates import Template
from headgate.adapters.manifests.parsing.pod_templates import read_template
from headgate.adapters.manifests.parsing.preemption_settings import read_eviction_policy
from headgate.adapters.manifests.parsing.preemption_settings import read_gates
from headgate.adapters.manifests.parsing.preemption_settings import settings_of
from headgate.adapters.manifests.parsing.priority_classes import class_of_workload
from headgate.adapters.manifests.parsing.topology_requests import read_pod_index
from headgate.adapters.manifests.parsing.topology_requests import read_topology_request
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.specs import WorkloadSpec
from typing import Literal


_DISRUPTION_MODES: dict[str, Literal["All", "Single"]] = {
    "All": "All",
    "PodGroup": "All",
    "Single": "Single",
    "Pod": "Single",
}
"""The words of Kueue's fields, and those of KEP-5710's preemptionMode."""

Places = tuple[tuple[str, str], ...]


def read_workload(spec: Fields, metadata: Metadata) -> tuple[WorkloadSpec, tuple[str, ...], Places]:
    """The spec of a Workload; `priority` is kept if it is neither stated nor implied by a class."""
    pod_sets = []
    templates = []
    for fields in spec.children("podSets"):
        pod_set, template = _pod_set(fields)
        pod_sets.append(pod_set)
        templates.append(template)
    has_explicit_priority = spec.has("priority")
    settings = settings_of(spec, metadata, templates)
    eviction = spec.child("evictionPolicy")
    named = class_of_workload(spec, metadata, templates)
    read = WorkloadSpec(
        pod_sets=tuple(pod_sets),
        queue_name=spec.text("queueName"),
        priority_class=named.reference,
        priority=spec.integer("priority", 0),
        preemption_priority_class_name=spec.text("preemptionPriorityClassName"),
        preemption_policy=spec.choice(
            "preemptionPolicy", ("PreemptLowerPriority", "Never"), "PreemptLowerPriority"
        ),
        can_preempt=settings.can_preempt,
        can_preempt_source=settings.can_preempt_source,
        preemptibility=settings.preemptibility,
        preemptibility_source=settings.preemptibility_source,
        ignored=settings.ignored,
        preemption_gates=read_gates(spec),
        eviction_policy=read_eviction_policy(eviction) if eviction else None,
        active=spec.flag("active", default=True),
        maximum_execution_time_seconds=spec.optional_integer("maximumExecutionTimeSeconds"),
    )
    return read, () if has_explicit_priority else ("priority",), named.places


def _pod_set(fields: Fields) -> tuple[PodSet, Template]:
    template_fields = fields.child("template")
    if template_fields is None:
        fields.note("template", "template is required.", "Describe the pods.")
    template = read_template(fields.child_or_empty("template"))
    topology = fields.child("topologyRequest")
    read = PodSet(
        name=fields.text("name", "main"),
        count=fields.integer("count", 1),
        min_count=fields.optional_integer("minCount"),
        scheduling=template.scheduling,
        template=template_fields.values if template_fields else {},
        pod_index=read_pod_index(topology) if topology else None,
        topology_request=read_topology_request(topology) if topology else None,
        disruption_mode=_disruption_mode(fields),
        priority_class_name=fields.text("priorityClassName"),
    )
    fields.reject_unknown()
    return read, template


def _disruption_mode(fields: Fields) -> Literal["All", "Single"]:
    def read(name: str) -> Literal["All", "Single"] | None:
        given = fields.choice(name, tuple(_DISRUPTION_MODES), None)
        return None if given is None else _DISRUPTION_MODES[given]

    return either(fields, "disruptionMode", "preemptionMode", read) or "All"
