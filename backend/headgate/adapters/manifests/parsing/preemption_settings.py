"""What a workload or its pods say of preemption (preemption.md §6.3): spec, else labels.

A label that cannot be understood, or that pod templates do not agree on, is passed over and told,
never taken for a no. Labels of KAI and Koordinator are read after our own, so that what was written
for them need not be written anew. Pods whose `preemptionPolicy` is Never preempt nobody, whatever
else is said (C4).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import msgspec

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.ignored_settings import ignored_settings
from headgate.adapters.manifests.parsing.metadata import Metadata
from headgate.adapters.manifests.parsing.pod_templates import Template
from headgate.adapters.manifests.parsing.wait_for_pods_ready import read_seconds
from headgate.domain.workloads.specs import EvictionPolicy, Preemptibility, SettingSource

_PREEMPTIBILITIES = get_args(Preemptibility)
_BY_SPELLING: dict[str, Preemptibility] = {word.lower(): word for word in _PREEMPTIBILITIES}
_SPELLINGS = (*_PREEMPTIBILITIES, "preemptible", "non-preemptible", "semi-preemptible")
_BOOLEANS = {"true": True, "false": False}

NEVER = "Never"
"""The policy of pods that preempt nobody."""


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
    told = "The pod templates do not agree on their preemptionPolicy."
    return _Found(found.value, found.source, (*found.ignored, told))


def _found(
    labels: Mapping[str, Callable[[str], object]],
    metadata: Metadata,
    templates: Sequence[Template],
) -> _Found:
    """The first of the labels that says something on the workload, else on its pods."""
    ignored: list[str] = []
    for label, read in labels.items():
        own = metadata.labels.get(label, "")
        value = read(own) if own else None
        if value is not None:
            return _Found(value, "Label", tuple(ignored))
        if own:
            ignored.append(f"The label {label} says {own:.63}, which means nothing here.")
    for label, read in labels.items():
        told = [template.labels.get(label, "") for template in templates]
        values = {read(word) for word in told}
        agreed = values.pop() if len(values) == 1 else None
        if agreed is not None:
            return _Found(agreed, "PodTemplates", tuple(ignored))
        if any(told):
            ignored.append(f"The pod templates do not agree on the label {label}.")
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
