"""Whether pods may run on nodes: labels, taints, tolerations, selectors, required affinity.

The meaning is Kubernetes'; queueing.md §3.4 has what counts for flavors, topology.md §1.3 for
hosts.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.values.selectors import (
    LabelSelector,
    NodeSelectorTerm,
    PodTerm,
    Requirement,
    Taint,
    Toleration,
)

HARD_EFFECTS = ("NoSchedule", "NoExecute")
NAME_FIELD = "metadata.name"

NamespaceLabels: TypeAlias = Callable[[str], Mapping[str, str]]
"""Returns the labels of a namespace by its name."""


def node_is_of_flavor(labels: Mapping[str, str], flavor: ResourceFlavorSpec) -> bool:
    """Whether a node carries every label of the flavor; a missing label compares as empty."""
    return all(labels.get(key, "") == value for key, value in flavor.node_labels.items())


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
