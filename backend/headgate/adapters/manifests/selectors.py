"""Selectors, node affinity, taints and tolerations in their Kubernetes form."""

from typing import Any, Literal, get_args

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.schemas import ManifestSchema
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

_OPERATORS = get_args(Operator)
_EFFECTS = get_args(TaintEffect)


def read_label_selector(fields: Fields) -> LabelSelector:
    """A label selector; without requirements it selects everything."""
    read = LabelSelector(
        match_labels=fields.text_map("matchLabels"),
        match_expressions=_requirements(fields, "matchExpressions"),
    )
    fields.reject_unknown()
    return read


def read_node_term(fields: Fields) -> NodeSelectorTerm:
    """One alternative of a node affinity."""
    read = NodeSelectorTerm(
        match_expressions=_requirements(fields, "matchExpressions"),
        match_fields=_requirements(fields, "matchFields"),
    )
    fields.reject_unknown()
    return read


def read_node_affinity(
    fields: Fields,
) -> tuple[tuple[NodeSelectorTerm, ...], tuple[PreferredTerm, ...]]:
    """The required alternatives and the wishes of a node affinity."""
    terms: tuple[NodeSelectorTerm, ...] = ()
    required = fields.child("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        terms = tuple(read_node_term(term) for term in required.children("nodeSelectorTerms"))
        if not terms:
            required.note(
                "nodeSelectorTerms",
                "A required node affinity has at least one term.",
                "Add a term, or remove the affinity.",
            )
        required.reject_unknown()
    wishes = tuple(
        _wish(wish) for wish in fields.children("preferredDuringSchedulingIgnoredDuringExecution")
    )
    fields.reject_unknown()
    return terms, wishes


def read_taints(fields: Fields, name: str) -> tuple[Taint, ...]:
    """A list of taints."""
    return tuple(_taint(taint) for taint in fields.children(name))


def read_tolerations(fields: Fields, name: str) -> tuple[Toleration, ...]:
    """A list of tolerations."""
    return tuple(_toleration(toleration) for toleration in fields.children(name))


def _requirements(fields: Fields, name: str) -> tuple[Requirement, ...]:
    return tuple(_requirement(requirement) for requirement in fields.children(name))


def _requirement(fields: Fields) -> Requirement:
    if not fields.has("operator"):
        fields.note("operator", "operator is required.", f"Add one of {', '.join(_OPERATORS)}.")
    read = Requirement(
        key=fields.required_text("key"),
        operator=fields.choice("operator", _OPERATORS, "Exists"),
        values=fields.texts("values"),
    )
    fields.reject_unknown()
    return read


def _wish(fields: Fields) -> PreferredTerm:
    read = PreferredTerm(
        weight=fields.integer("weight", 1), term=read_node_term(fields.child_or_empty("preference"))
    )
    fields.reject_unknown()
    return read


def _taint(fields: Fields) -> Taint:
    fields.ignore("timeAdded")
    read = Taint(
        key=fields.required_text("key"),
        value=fields.text("value"),
        effect=fields.choice("effect", _EFFECTS, "NoSchedule"),
    )
    fields.reject_unknown()
    return read


def _toleration(fields: Fields) -> Toleration:
    effect = fields.raw("effect")
    read = Toleration(
        key=fields.text("key"),
        operator=fields.choice("operator", ("Exists", "Equal"), "Equal"),
        value=fields.text("value"),
        effect=None if effect in (None, "") else fields.choice("effect", _EFFECTS, None),
        seconds=fields.optional_integer("tolerationSeconds"),
    )
    fields.reject_unknown()
    return read


def rendered_selector(selector: LabelSelector) -> dict[str, Any]:
    """A label selector; `{}` selects everything."""
    rendered: dict[str, Any] = {}
    if selector.match_labels:
        rendered["matchLabels"] = selector.match_labels
    if selector.match_expressions:
        rendered["matchExpressions"] = [
            {"key": requirement.key, "operator": requirement.operator}
            | ({"values": list(requirement.values)} if requirement.values else {})
            for requirement in selector.match_expressions
        ]
    return rendered


def rendered_taint(taint: Taint) -> dict[str, str]:
    """A taint."""
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


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
