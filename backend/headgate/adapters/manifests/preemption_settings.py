"""Preemption settings of a workload in its manifest: spec, else labels (preemption.md §6.3).

A label that cannot be read, or that pod templates do not agree on, is ignored with a warning, never
taken for a no. Labels of KAI and Koordinator are read after our own, so that manifests written for
them work unchanged. Pods with the `preemptionPolicy` Never preempt no other workload, whatever else
is set (C4).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec

from headgate.adapters.manifests.fields import Fields, either, read_seconds, rfc3339
from headgate.adapters.manifests.metadata import Metadata, rendered_condition
from headgate.adapters.manifests.pod_templates import Template
from headgate.adapters.manifests.topology_requests import ANNOTATION_PLACES
from headgate.domain.kinds.wait_for_pods_ready import WORKLOAD_TIMEOUTS
from headgate.domain.values.index_ranges import text_of_ranges
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.pods.pod_ranks import INDEX_OFFSET
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.specs import (
    ADMISSION_GATES,
    ALLOWED_FLAVORS,
    ELASTIC,
    PRIORITY_BOOST,
    REPLACES,
    DisruptionMode,
    EvictionPolicy,
    Preemptibility,
    SettingSource,
    WorkloadSpec,
)
from headgate.domain.workloads.state import Eviction, PodEviction, Workload
from headgate.domain.workloads.transitions.eviction import JOB_UID
from headgate.messages.catalogue import text_of
from headgate.messages.rendering import nearest

_PREEMPTIBILITIES = get_args(Preemptibility)
_BY_SPELLING: dict[str, Preemptibility] = {word.lower(): word for word in _PREEMPTIBILITIES}
_SPELLINGS = (*_PREEMPTIBILITIES, "preemptible", "non-preemptible", "semi-preemptible")
_BOOLEANS = {"true": True, "false": False}

NEVER = "Never"
"""The preemptionPolicy of pods that preempt no other workload."""


class PreemptionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is said, and where; without a source nothing. `ignored` tells what was passed over."""

    preemptibility: Preemptibility = "Preemptible"
    preemptibility_source: SettingSource | None = None
    can_preempt: bool = True
    can_preempt_source: SettingSource | None = None
    ignored: tuple[Message, ...] = ()


class _Found(msgspec.Struct, frozen=True):
    value: object
    source: SettingSource | None
    ignored: tuple[Message, ...]


def settings_of(
    spec: Fields | None, metadata: Metadata, templates: Sequence[Template]
) -> PreemptionSettings:
    """What the spec says, where there is one, else the labels of the workload and of its pods."""
    may_go = _found(MAY_GO, metadata, templates)
    may_preempt = _found(MAY_PREEMPT, metadata, templates)
    if spec is not None and spec.has("preemptibility"):
        chosen = _spelled(spec.choice("preemptibility", _SPELLINGS, "Preemptible"))
        may_go = _Found(chosen, "Spec", ())
    if spec is not None and spec.has("canPreempt"):
        may_preempt = _Found(spec.flag("canPreempt", default=True), "Spec", ())
    may_preempt = _unless_pods_never_preempt(may_preempt, templates)
    return msgspec.convert(
        {
            "preemptibility": may_go.value or "Preemptible",
            "preemptibility_source": may_go.source,
            "can_preempt": may_preempt.value is not False,
            "can_preempt_source": may_preempt.source,
            "ignored": (
                *may_go.ignored,
                *may_preempt.ignored,
                *ignored_settings(metadata, templates),
            ),
        },
        PreemptionSettings,
    )


def read_eviction_policy(fields: Fields) -> EvictionPolicy:
    """How a workload wants to leave; with a policy, softly unless it says otherwise."""
    usual = EvictionPolicy()
    grace = read_seconds(fields, "gracePeriod")
    read = EvictionPolicy(
        mode=fields.choice("mode", ("Immediate", "Soft"), usual.mode),
        grace_period_seconds=usual.grace_period_seconds if grace is None else grace,
        require_ack=fields.flag("requireAck", default=False),
        handler=fields.text("handler"),
        on_deadline=fields.choice("onDeadline", ("Force", "Wait"), usual.on_deadline),
    )
    fields.reject_unknown()
    return read


def read_gates(spec: Fields) -> tuple[str, ...]:
    """The names of the preemption gates, as Kueue lists them."""
    names = []
    for gate in spec.children("preemptionGates"):
        names.append(gate.required_text("name"))
        gate.reject_unknown()
    return tuple(names)


def _unless_pods_never_preempt(found: _Found, templates: Sequence[Template]) -> _Found:
    policies = [template.preemption_policy for template in templates]
    if NEVER not in policies:
        return found
    if set(policies) == {NEVER}:
        return _Found(value=False, source="PodTemplates", ignored=found.ignored)
    differ = message("PreemptionPoliciesOfPodsDiffer")
    return _Found(found.value, found.source, (*found.ignored, differ))


def _found(
    labels: Mapping[str, Callable[[str], object]],
    metadata: Metadata,
    templates: Sequence[Template],
) -> _Found:
    """The first of the labels that says something on the workload, else on its pods."""
    ignored: list[Message] = []
    for label, read in labels.items():
        own = metadata.labels.get(label, "")
        value = read(own) if own else None
        if value is not None:
            return _Found(value, "Label", tuple(ignored))
        if own:
            ignored.append(message("LabelNotUnderstood", label=label, value=own[:63]))
    for label, read in labels.items():
        told = [template.labels.get(label, "") for template in templates]
        values = {read(word) for word in told}
        agreed = values.pop() if len(values) == 1 else None
        if agreed is not None:
            return _Found(agreed, "PodTemplates", tuple(ignored))
        if any(told):
            ignored.append(message("LabelsOfPodsDiffer", label=label))
    return _Found(None, None, tuple(ignored))


def _spelled(word: str) -> Preemptibility | None:
    return _BY_SPELLING.get(word.replace("-", "").lower())


def _boolean(word: str) -> bool | None:
    return _BOOLEANS.get(word.lower())


def _freely(word: str) -> Preemptibility | None:
    known = _boolean(word)
    return None if known is None else ("Preemptible" if known else "NonPreemptible")


MAY_GO: dict[str, Callable[[str], object]] = {
    "kueue.x-k8s.io/preemptibility": _spelled,
    "kai.scheduler/preemptibility": _spelled,
    "quota.scheduling.koordinator.sh/preemptible": _freely,
}
"""Labels that say whether a workload may be preempted, the one that counts most first."""

MAY_PREEMPT: dict[str, Callable[[str], object]] = {
    "kueue.x-k8s.io/can-preempt": _boolean,
    "quota.scheduling.koordinator.sh/can-preempt": _boolean,
}
"""Labels that say whether it may preempt others."""


def rendered_settings(spec: WorkloadSpec) -> dict[str, Any]:
    """What the spec itself says; what was found elsewhere stands in the status."""
    rendered: dict[str, Any] = {}
    if spec.preemption_policy != "PreemptLowerPriority":
        rendered["preemptionPolicy"] = spec.preemption_policy
    if spec.can_preempt_source == "Spec":
        rendered["canPreempt"] = spec.can_preempt
    if spec.preemptibility_source == "Spec":
        rendered["preemptibility"] = spec.preemptibility
    if spec.preemption_gates:
        rendered["preemptionGates"] = [{"name": gate} for gate in spec.preemption_gates]
    if spec.eviction_policy is not None:
        rendered["evictionPolicy"] = _policy(spec.eviction_policy)
    return rendered


_DISRUPTION_MODES: dict[str, DisruptionMode] = {
    "All": "All",
    "PodGroup": "All",
    "Single": "Single",
    "Pod": "Single",
    "Replica": "Replica",
}
"""The words of Kueue's fields, and those of KEP-5710's preemptionMode."""


def read_disruption_mode(fields: Fields) -> DisruptionMode:
    """The disruption mode of a pod set, also by the name of KEP-5710; `All` by default."""

    def read(name: str) -> DisruptionMode | None:
        given = fields.choice(name, tuple(_DISRUPTION_MODES), None)
        return None if given is None else _DISRUPTION_MODES[given]

    return either(fields, "disruptionMode", "preemptionMode", read) or "All"


def settings_status(workload: Workload) -> dict[str, Any]:
    """Both settings with their source, where each gate stands, and what was passed over."""
    spec = workload.spec
    rendered: dict[str, Any] = {
        "preemptibility": {
            "value": spec.preemptibility,
            "source": spec.preemptibility_source or "Default",
        },
        "canPreempt": {"value": spec.can_preempt, "source": spec.can_preempt_source or "Default"},
    }
    if spec.pod_set_protections:
        rendered["podSetPreemptionPriorities"] = spec.pod_set_protections
    if spec.preemption_gates:
        closed = closed_preemption_gates(workload)
        rendered["preemptionGates"] = [
            {
                "name": gate,
                "position": "Closed" if gate in closed else "Open",
                "lastTransitionTime": rfc3339(
                    workload.gates_changed_at.get(gate, workload.created_at)
                ),
            }
            for gate in spec.preemption_gates
        ]
    if spec.ignored:
        rendered["ignored"] = [text_of(found) for found in spec.ignored]
    if workload.diverging:
        rendered["divergingPodSets"] = [
            {"name": found.name, "priority": found.priority, "preemptionPolicy": found.policy}
            for found in workload.diverging
        ]
    return rendered


def settings_conditions(workload: Workload) -> list[dict[str, Any]]:
    """What of its settings was passed over, where people look for what is wrong."""
    if not workload.spec.ignored:
        return []
    told = rendered_condition(
        "LabelsIgnored",
        status=True,
        reason="NotUnderstood",
        message=" ".join(text_of(found) for found in workload.spec.ignored),
        at=workload.created_at,
        generation=workload.generation,
    )
    return [told]


def eviction_status(workload: Workload) -> dict[str, Any]:
    """How it leaves, or gives up pods, while it does."""
    rendered: dict[str, Any] = {}
    if workload.eviction is not None:
        rendered["eviction"] = rendered_eviction(workload.eviction)
    if workload.pod_evictions:
        rendered["shrinking"] = [rendered_shrinking(each) for each in workload.pod_evictions]
    return rendered


def rendered_shrinking(pod_eviction: PodEviction) -> dict[str, Any]:
    """Pods that a workload gives up for one round: how many of each set, which, and how many stay.

    Without indices, as of older releases, they come right after those that stay.
    """
    sets: list[dict[str, Any]] = []
    for name, going in pod_eviction.pods.items():
        found = {"name": name, "going": going, "staying": pod_eviction.counts[name]}
        named = pod_eviction.indices.get(name, ())
        sets.append(found | ({"indices": text_of_ranges(named)} if named else {}))
    return {"eviction": rendered_eviction(pod_eviction.eviction), "podSets": sets}


def rendered_eviction(eviction: Eviction) -> dict[str, Any]:
    """One eviction, as its workload's status and its executor are shown it."""
    soft = eviction.soft
    rendered: dict[str, Any] = {
        "id": eviction.id,
        "reason": eviction.reason,
        "stage": stage_of(eviction),
        "startedAt": rfc3339(eviction.started_at),
        "mode": "Immediate" if soft is None else "Soft",
    }
    if soft is not None:
        rendered |= {
            "deadlineAt": rfc3339(soft.deadline_at),
            "latestEndAt": rfc3339(soft.latest_end_at),
            "requireAck": soft.require_ack,
            "onDeadline": soft.on_deadline,
        }
    instants = {
        "acknowledgedAt": eviction.acknowledged_at,
        "expectedEndAt": eviction.expected_end_at,
        "progressedAt": eviction.progressed_at,
        "forcedAt": eviction.forced_at,
        "stalledAt": eviction.stalled_at,
        "stoppingAt": eviction.stopping_at,
    }
    rendered |= {name: rfc3339(at) for name, at in instants.items() if at is not None}
    texts = {"handler": eviction.handler, "note": eviction.note}
    return rendered | {name: text for name, text in texts.items() if text}


def stage_of(eviction: Eviction) -> str:
    """How far an eviction has come, in one word (preemption.md §6.10)."""
    if eviction.stopping_at is not None:
        return "Stopping"
    if eviction.forced_at is not None:
        return "Forced"
    if eviction.stalled_at is not None:
        return "Stalled"
    return "Requested" if eviction.acknowledged_at is None else "Acknowledged"


def _policy(policy: EvictionPolicy) -> dict[str, Any]:
    return {
        "mode": policy.mode,
        "gracePeriodSeconds": policy.grace_period_seconds,
        "requireAck": policy.require_ack,
        **({"handler": policy.handler} if policy.handler else {}),
        "onDeadline": policy.on_deadline,
    }


KUEUE_PREFIX = "kueue.x-k8s.io/"


NAMED_IN_MANIFESTS = (
    "can-preempt",
    "job-min-parallelism",
    "max-exec-time-seconds",
    "preemptibility",
    "priority-class",
    "queue-name",
)


WRITTEN_BY_KUEUE = (
    "managed",
    "multikueue-origin",
    "podset",
    "tas",
    "workload",
    "workload-slice-name",
)
"""What Kueue adds to objects automatically, and what objects taken from a cluster carry."""


READ_SETTINGS = (
    *(KUEUE_PREFIX + name for name in NAMED_IN_MANIFESTS),
    *(annotation for _, annotation in ANNOTATION_PLACES),
    WORKLOAD_TIMEOUTS,
    *(ADMISSION_GATES, ALLOWED_FLAVORS, ELASTIC, INDEX_OFFSET, JOB_UID, PRIORITY_BOOST, REPLACES),
)


_SILENT = frozenset((*READ_SETTINGS, *(KUEUE_PREFIX + name for name in WRITTEN_BY_KUEUE)))


def ignored_settings(metadata: Metadata, templates: Sequence[Template]) -> tuple[Message, ...]:
    """A message on each of them, on the object and on its pods, once."""
    found = (key for key in _keys(metadata, templates) if key.startswith(KUEUE_PREFIX))
    return tuple(_ignored_setting(key) for key in dict.fromkeys(found) if key not in _SILENT)


def _keys(metadata: Metadata, templates: Sequence[Template]) -> Iterator[str]:
    marks: tuple[Metadata | Template, ...] = (metadata, *templates)
    for marked in marks:
        yield from sorted({**marked.labels, **marked.annotations})


def _ignored_setting(key: str) -> Message:
    near = nearest(key, READ_SETTINGS, min_likeness=85)
    if near:
        return message("SettingMisspelled", key=key, meant=near)
    return message("SettingIgnored", key=key)
