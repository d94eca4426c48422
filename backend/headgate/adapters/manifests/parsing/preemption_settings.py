"""What a workload or its pods say of preemption (preemption.md §6.3): spec, else labels.

A label that cannot be understood, or that pod templates do not agree on, is passed over and told,
never taken for a no.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar, get_args

import msgspec

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.metadata import Metadata
from headgate.adapters.manifests.parsing.pod_templates import Template
from headgate.adapters.manifests.parsing.waiting import read_seconds
from headgate.domain.workloads.specs import EvictionPolicy, Preemptibility, SettingSource

PREEMPTIBILITY_LABEL = "kueue.x-k8s.io/preemptibility"
CAN_PREEMPT_LABEL = "kueue.x-k8s.io/can-preempt"

_PREEMPTIBILITIES = get_args(Preemptibility)
_BY_SPELLING: dict[str, Preemptibility] = {word.lower(): word for word in _PREEMPTIBILITIES}
_BOOLEANS = {"true": True, "false": False}

Word = TypeVar("Word")


class PreemptionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is said, and where; without a source nothing. `ignored` tells what was passed over."""

    preemptibility: Preemptibility = "Preemptible"
    preemptibility_source: SettingSource | None = None
    can_preempt: bool = True
    can_preempt_source: SettingSource | None = None
    ignored: tuple[str, ...] = ()


class _Found(msgspec.Struct, frozen=True):
    value: object
    source: SettingSource | None
    ignored: tuple[str, ...]


def settings_of(
    spec: Fields | None, metadata: Metadata, templates: Sequence[Template]
) -> PreemptionSettings:
    """What the spec says, where there is one, else the labels of the workload and of its pods."""
    may_go = _found(PREEMPTIBILITY_LABEL, _spelled, metadata, templates)
    may_preempt = _found(CAN_PREEMPT_LABEL, _boolean, metadata, templates)
    if spec is not None and spec.has("preemptibility"):
        chosen = spec.choice("preemptibility", _PREEMPTIBILITIES, "Preemptible")
        may_go = _Found(chosen, "Spec", ())
    if spec is not None and spec.has("canPreempt"):
        may_preempt = _Found(spec.flag("canPreempt", default=True), "Spec", ())
    return msgspec.convert(
        {
            "preemptibility": may_go.value or "Preemptible",
            "preemptibility_source": may_go.source,
            "can_preempt": may_preempt.value is not False,
            "can_preempt_source": may_preempt.source,
            "ignored": (*may_go.ignored, *may_preempt.ignored),
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
    fields.close()
    return read


def read_gates(spec: Fields) -> tuple[str, ...]:
    """The names of the preemption gates, as Kueue lists them."""
    names = []
    for gate in spec.children("preemptionGates"):
        names.append(gate.required_text("name"))
        gate.close()
    return tuple(names)


def _found(
    label: str,
    read: Callable[[str], Word | None],
    metadata: Metadata,
    templates: Sequence[Template],
) -> _Found:
    ignored = []
    own = metadata.labels.get(label, "")
    if own:
        value = read(own)
        if value is not None:
            return _Found(value, "Label", ())
        ignored.append(f"The label {label} says {own:.63}, which means nothing here.")
    told = [template.labels.get(label, "") for template in templates]
    if not any(told):
        return _Found(None, None, tuple(ignored))
    values = {read(word) for word in told}
    agreed = values.pop() if len(values) == 1 else None
    if agreed is not None:
        return _Found(agreed, "PodTemplates", tuple(ignored))
    ignored.append(f"The pod templates do not agree on the label {label}.")
    return _Found(None, None, tuple(ignored))


def _spelled(word: str) -> Preemptibility | None:
    return _BY_SPELLING.get(word.replace("-", "").lower())


def _boolean(word: str) -> bool | None:
    return _BOOLEANS.get(word.lower())
