"""Label selectors, node affinity, taints and tolerations, meaning what Kubernetes means.

What counts for flavors is in queueing.md §3.4, what for hosts in topology.md §1.3.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One condition on one label key; `values` is empty for Exists and DoesNotExist."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, kw_only=True):
    """All requirements must hold; with none it selects everything. "Selects nothing" is `None`."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


class NodeSelectorTerm(msgspec.Struct, frozen=True, kw_only=True):
    """Requirements on one node, all of which must hold; terms of a list are alternatives."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class PreferredTerm(msgspec.Struct, frozen=True, kw_only=True):
    """A wish for a node with a weight from 1 to 100."""

    weight: int
    term: NodeSelectorTerm


class PodTerm(msgspec.Struct, frozen=True, kw_only=True):
    """Pods near which a pod must be, or must not be: in one domain of the label `topology_key`.

    Without `namespaces` and `namespace_selector` the pods are those of the pod's own namespace.
    """

    topology_key: str
    selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class SpreadConstraint(msgspec.Struct, frozen=True, kw_only=True):
    """How much more selected pods of its namespace a pod's domain may have than any other domain.

    Domains are those of nodes that the pod may use: with `honors_affinity` by its node selector and
    affinity, with `honors_taints` by their taints. Fewer than `min_domains` count as an empty one.
    """

    topology_key: str
    max_skew: int
    selector: LabelSelector | None = None
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


class PodConstraints(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod requires of the pods around it (Kubernetes: inter-pod affinity, spreading)."""

    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()


class Taint(msgspec.Struct, frozen=True, kw_only=True):
    """A mark on a node that keeps away pods that do not tolerate it."""

    key: str
    value: str = ""
    effect: TaintEffect = "NoSchedule"


class Toleration(msgspec.Struct, frozen=True, kw_only=True):
    """What taint a pod tolerates; an empty key with Exists means all, no effect every effect.

    With `seconds` a NoExecute taint is tolerated only that long, which the host itself sees to.
    """

    key: str = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str = ""
    effect: TaintEffect | None = None
    seconds: int | None = None


def toleration_fields(toleration: Toleration) -> dict[str, Any]:
    """A toleration as it stands in pods, in Kubernetes' names."""
    rendered: dict[str, Any] = {"key": toleration.key} if toleration.key else {}
    rendered["operator"] = toleration.operator
    if toleration.value:
        rendered["value"] = toleration.value
    if toleration.effect:
        rendered["effect"] = toleration.effect
    if toleration.seconds is not None:
        rendered["tolerationSeconds"] = toleration.seconds
    return rendered


HARD_EFFECTS = ("NoSchedule", "NoExecute")
NAME_FIELD = "metadata.name"

NamespaceLabels: TypeAlias = Callable[[str], Mapping[str, str]]
"""Returns the labels of a namespace by its name."""


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first NoSchedule or NoExecute taint that no toleration covers, if any."""
    accepted = tuple(tolerations)
    for taint in taints:
        if taint.effect in HARD_EFFECTS and not any(tolerates(t, taint) for t in accepted):
            return taint
    return None


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration covers a taint."""
    if toleration.effect is not None and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


def satisfies(labels: Mapping[str, str], requirement: Requirement) -> bool:
    """Whether labels meet a requirement; NotIn and DoesNotExist accept a missing key."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _compares(value, requirement.values) == 1
        case "Lt":
            return _compares(value, requirement.values) == -1


def matches_selector(labels: Mapping[str, str], selector: LabelSelector | None) -> bool:
    """Whether a selector selects an object with these labels; None selects nothing."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        satisfies(labels, requirement) for requirement in selector.match_expressions
    )


def term_selects(
    term: PodTerm, own: str, namespace: str, labels: Mapping[str, str], all_labels: NamespaceLabels
) -> bool:
    """Whether a term of a pod in the namespace `own` selects a pod of `namespace` with `labels`."""
    selector = term.namespace_selector
    in_namespace = namespace in term.namespaces or (
        matches_selector(all_labels(namespace), selector)
        if selector is not None
        else not term.namespaces and namespace == own
    )
    return in_namespace and matches_selector(labels, term.selector)


def matches_node(labels: Mapping[str, str], name: str, terms: Iterable[NodeSelectorTerm]) -> bool:
    """Whether a node meets one of the alternative terms; no terms means any node."""
    alternatives = tuple(terms)
    fields = {NAME_FIELD: name}
    return not alternatives or any(
        bool(term.match_expressions or term.match_fields)
        and all(satisfies(labels, requirement) for requirement in term.match_expressions)
        and all(satisfies(fields, requirement) for requirement in term.match_fields)
        for term in alternatives
    )


def written(taint: Taint) -> str:
    """A taint in kubectl's notation: `key=value:Effect`."""
    return f"{taint.key}={taint.value}:{taint.effect}"


def _compares(value: str | None, bounds: tuple[str, ...]) -> int | None:
    try:
        left, right = int(value or ""), int(bounds[0])
    except (ValueError, IndexError):
        return None
    return (left > right) - (left < right)
