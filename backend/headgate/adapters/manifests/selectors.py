"""Selectors, node affinity, taints and tolerations in their Kubernetes form."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec.structs import replace

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import ManifestSchema
from headgate.adapters.manifests.records import Record, field, listed
from headgate.domain.values.selectors import (
    LabelSelector,
    NodeSelectorTerm,
    Operator,
    PodConstraints,
    PodTerm,
    PreferredTerm,
    Requirement,
    SpreadConstraint,
    Taint,
    TaintEffect,
    Toleration,
)


def _read_operator(fields: Fields, name: str, _: object) -> Any:
    fields.require(name)
    return fields.choice(name, get_args(Operator), "Exists")


def _read_effect(fields: Fields, name: str, _: object) -> Any:
    effect = fields.raw(name)
    return None if effect in (None, "") else fields.choice(name, get_args(TaintEffect), None)


REQUIREMENT_RECORD = Record(
    Requirement,
    field("key"),
    field("operator", read=_read_operator),
    field("values", omits_usual=True),
)

LABEL_SELECTOR_RECORD = Record(
    LabelSelector,
    field("matchLabels", omits_usual=True),
    listed("matchExpressions", REQUIREMENT_RECORD, omits_usual=True),
)
"""A label selector; without requirements it selects everything."""

NODE_TERM_RECORD = Record(
    NodeSelectorTerm,
    listed("matchExpressions", REQUIREMENT_RECORD),
    listed("matchFields", REQUIREMENT_RECORD),
)
"""One alternative of a node affinity."""

TAINT_RECORD = Record(
    Taint, field("key"), field("value", omits_usual=True), field("effect"), ignored=("timeAdded",)
)

TOLERATION_RECORD = Record(
    Toleration,
    field("key", omits_usual=True),
    field("operator"),
    field("value", omits_usual=True),
    field("effect", read=_read_effect),
    field("tolerationSeconds", "seconds"),
)


def read_node_affinity(
    fields: Fields,
) -> tuple[tuple[NodeSelectorTerm, ...], tuple[PreferredTerm, ...]]:
    """The required alternatives and the wishes of a node affinity."""
    terms: tuple[NodeSelectorTerm, ...] = ()
    required = fields.child("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        terms = tuple(
            NODE_TERM_RECORD.read_nested(term) for term in required.children("nodeSelectorTerms")
        )
        if not terms:
            required.note("nodeSelectorTerms", "TooFew", field="nodeSelectorTerms", minimum=1)
        required.reject_unknown()
    wishes = tuple(
        _wish(wish) for wish in fields.children("preferredDuringSchedulingIgnoredDuringExecution")
    )
    fields.reject_unknown()
    return terms, wishes


def _wish(fields: Fields) -> PreferredTerm:
    weight = fields.integer("weight", 1)
    term = NODE_TERM_RECORD.read_nested(fields.child_or_empty("preference"))
    fields.reject_unknown()
    return PreferredTerm(weight=weight, term=term)


_MATCH_KEYS: tuple[tuple[str, Operator], ...] = (
    ("matchLabelKeys", "In"),
    ("mismatchLabelKeys", "NotIn"),
)
_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
_SOFT_TERMS = "preferredDuringSchedulingIgnoredDuringExecution"


def read_pod_constraints(pod: Fields, labels: Mapping[str, str]) -> PodConstraints | None:
    """Returns what the spec of a pod with these labels requires of pods around it, None if nothing.

    Preferences, and constraints with ScheduleAnyway, are left out.
    """
    affinity = pod.child("affinity") if pod.has("affinity") else None
    found = PodConstraints(
        affinity=_pod_terms(affinity, "podAffinity", labels),
        anti_affinity=_pod_terms(affinity, "podAntiAffinity", labels),
        spread=tuple(
            spread
            for each in pod.children("topologySpreadConstraints")
            if (spread := _spread(each, labels)) is not None
        ),
    )
    return None if found == PodConstraints() else found


def _pod_terms(
    affinity: Fields | None, name: str, labels: Mapping[str, str]
) -> tuple[PodTerm, ...]:
    fields = affinity.child(name) if affinity is not None else None
    if fields is None:
        return ()
    fields.ignore(_SOFT_TERMS)
    found = tuple(_pod_term(each, labels) for each in fields.children(_REQUIRED_TERMS))
    fields.reject_unknown()
    return found


def _pod_term(fields: Fields, labels: Mapping[str, str]) -> PodTerm:
    fields.require("topologyKey")
    selector = fields.child("namespaceSelector")
    found = PodTerm(
        topology_key=fields.required_text("topologyKey"),
        selector=_selector(fields, labels),
        namespaces=fields.texts("namespaces"),
        namespace_selector=None
        if selector is None
        else LABEL_SELECTOR_RECORD.read_nested(selector),
    )
    fields.reject_unknown()
    return found


def _spread(fields: Fields, labels: Mapping[str, str]) -> SpreadConstraint | None:
    """Returns a spread constraint that is required; None for one that is only preferred."""
    policies = ("Honor", "Ignore")
    for name in ("whenUnsatisfiable", "maxSkew"):
        fields.require(name)
    action = fields.choice("whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"), "")
    found = SpreadConstraint(
        topology_key=fields.required_text("topologyKey"),
        max_skew=fields.integer("maxSkew", 1),
        selector=_selector(fields, labels),
        min_domains=fields.integer("minDomains", 1),
        honors_affinity=fields.choice("nodeAffinityPolicy", policies, "Honor") == "Honor",
        honors_taints=fields.choice("nodeTaintsPolicy", policies, "Ignore") == "Honor",
    )
    for name, value in (("maxSkew", found.max_skew), ("minDomains", found.min_domains)):
        if value < 1:
            fields.note(name, "BelowMinimum", value=value, minimum=1)
    fields.reject_unknown()
    return found if action == "DoNotSchedule" else None


def _selector(fields: Fields, labels: Mapping[str, str]) -> LabelSelector | None:
    """Returns the label selector with the pod's own values of the label keys to match."""
    given = fields.child("labelSelector")
    keys = [
        Requirement(key=key, operator=operator, values=(labels[key],))
        for name, operator in _MATCH_KEYS
        for key in fields.texts(name)
        if key in labels
    ]
    if given is None:
        return None
    found = LABEL_SELECTOR_RECORD.read_nested(given)
    return replace(found, match_expressions=(*found.match_expressions, *keys))


def read_tolerations(fields: Fields) -> tuple[Toleration, ...]:
    """Returns the tolerations of a pod, or of a change to one."""
    return tuple(TOLERATION_RECORD.read_nested(each) for each in fields.children("tolerations"))


class TaintSchema(ManifestSchema, kw_only=True, frozen=True):
    """A mark that keeps away pods that do not tolerate it."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class TolerationSchema(ManifestSchema, kw_only=True, frozen=True):
    """What taint is tolerated."""

    key: str | None = None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None
