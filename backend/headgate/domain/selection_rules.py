"""Rules for selectors, taints and tolerations, as Kubernetes has them."""

from collections.abc import Iterable, Iterator

from headgate.domain.field_rules import duplicate_violations, name_violations, shown
from headgate.domain.metadata import label_violations
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.names import broken_rule_of_label_key, broken_rule_of_label_value
from headgate.domain.values.pointers import child
from headgate.domain.values.selectors import (
    LabelSelector,
    NodeSelectorTerm,
    Requirement,
    Taint,
    Toleration,
)


def selector_violations(pointer: str, selector: LabelSelector) -> Iterator[Violation]:
    """Yields broken rules of a label selector."""
    yield from label_violations(child(pointer, "matchLabels"), selector.match_labels)
    for index, requirement in enumerate(selector.match_expressions):
        place = child(pointer, "matchExpressions", index)
        yield from _requirement_violations(place, requirement)
        if requirement.operator in {"Gt", "Lt"}:
            choices = ("In", "NotIn", "Exists", "DoesNotExist")
            yield violation(
                child(place, "operator"), "NotOneOf", value=requirement.operator, choices=choices
            )


def term_violations(pointer: str, terms: Iterable[NodeSelectorTerm]) -> Iterator[Violation]:
    """Broken rules of the terms of a node affinity."""
    for index, term in enumerate(terms):
        yield from node_term_violations(child(pointer, index), term)


def node_term_violations(pointer: str, term: NodeSelectorTerm) -> Iterator[Violation]:
    """Yields broken rules of one term of a node affinity."""
    for at, requirement in enumerate(term.match_expressions):
        yield from _requirement_violations(child(pointer, "matchExpressions", at), requirement)
    for at, requirement in enumerate(term.match_fields):
        if requirement.key != "metadata.name":
            place = child(pointer, "matchFields", at, "key")
            yield violation(place, "NodeFieldUnknown", value=shown(requirement.key))


def taint_violations(pointer: str, taints: tuple[Taint, ...]) -> Iterator[Violation]:
    """Yields broken rules of a list of taints: syntax, and two with one key and effect."""
    for index, taint in enumerate(taints):
        yield from _key_and_value_violations(child(pointer, index), taint.key, taint.value)
    yield from duplicate_violations(
        (child(pointer, index), f"{taint.key}:{taint.effect}") for index, taint in enumerate(taints)
    )


def toleration_violations(pointer: str, tolerations: Iterable[Toleration]) -> Iterator[Violation]:
    """Yields broken rules of a list of tolerations."""
    for index, toleration in enumerate(tolerations):
        place = child(pointer, index)
        if toleration.key:
            yield from _key_and_value_violations(place, toleration.key, toleration.value)
        elif toleration.operator == "Equal":
            yield violation(child(place, "operator"), "TolerationWithoutKey")
        if toleration.operator == "Exists" and toleration.value:
            yield violation(child(place, "value"), "TolerationValueNotAllowed")


def _key_and_value_violations(pointer: str, key: str, value: str) -> Iterator[Violation]:
    yield from name_violations(child(pointer, "key"), key, broken_rule_of_label_key)
    yield from name_violations(child(pointer, "value"), value, broken_rule_of_label_value)


def _requirement_violations(pointer: str, requirement: Requirement) -> Iterator[Violation]:
    yield from name_violations(child(pointer, "key"), requirement.key, broken_rule_of_label_key)
    code = _broken_rule_of_values(requirement)
    if code:
        yield violation(child(pointer, "values"), code, operator=requirement.operator)


def _broken_rule_of_values(requirement: Requirement) -> str | None:
    values = requirement.values
    match requirement.operator:
        case "In" | "NotIn":
            return None if values else "SelectorValuesMissing"
        case "Exists" | "DoesNotExist":
            return "SelectorValuesNotAllowed" if values else None
        case "Gt" | "Lt":
            is_one = len(values) == 1 and values[0].lstrip("-").isdecimal()
            return None if is_one else "SelectorValueNotInteger"
