"""Selectors, node affinity, taints and tolerations in their Kubernetes form."""

from typing import Any, Literal, get_args

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import ManifestSchema
from headgate.adapters.manifests.records import Record, field, listed
from headgate.domain.values.selectors import (
    LabelSelector,
    NodeSelectorTerm,
    Operator,
    PreferredTerm,
    Requirement,
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
