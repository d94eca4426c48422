"""Rules for selectors, taints and tolerations, as Kubernetes has them."""

from collections.abc import Iterable, Iterator

from headgate.domain.metadata import label_violations, violation_of
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
    """Broken rules of a label selector."""
    yield from label_violations(child(pointer, "matchLabels"), selector.match_labels)
    for index, requirement in enumerate(selector.match_expressions):
        place = child(pointer, "matchExpressions", index)
        yield from _requirement_violations(place, requirement)
        if requirement.operator in {"Gt", "Lt"}:
            yield violation(
                child(place, "operator"),
                "Stated",
                rule="A label selector knows In, NotIn, Exists and DoesNotExist.",
                remedy="Use one of those.",
            )


def term_violations(pointer: str, terms: Iterable[NodeSelectorTerm]) -> Iterator[Violation]:
    """Broken rules of the terms of a node affinity."""
    for index, term in enumerate(terms):
        yield from node_term_violations(child(pointer, index), term)


def node_term_violations(pointer: str, term: NodeSelectorTerm) -> Iterator[Violation]:
    """Broken rules of one term of a node affinity."""
    for at, requirement in enumerate(term.match_expressions):
        yield from _requirement_violations(child(pointer, "matchExpressions", at), requirement)
    for at, requirement in enumerate(term.match_fields):
        if requirement.key != "metadata.name":
            yield violation(
                child(pointer, "matchFields", at, "key"),
                "Stated",
                rule="The only field of a node that can be matched is metadata.name.",
                remedy="Use metadata.name, or match labels with matchExpressions.",
            )


def taint_violations(pointer: str, taints: tuple[Taint, ...]) -> Iterator[Violation]:
    """Broken rules of a list of taints: syntax, and two with the same key and effect."""
    seen: dict[tuple[str, str], int] = {}
    for index, taint in enumerate(taints):
        place = child(pointer, index)
        yield from _key_and_value_violations(place, taint.key, taint.value)
        first = seen.setdefault((taint.key, taint.effect), index)
        if first != index:
            yield violation(
                place,
                "Stated",
                rule=f"Taint {index} has the key and effect of taint {first}.",
                remedy="Keep one of them.",
            )


def toleration_violations(pointer: str, tolerations: Iterable[Toleration]) -> Iterator[Violation]:
    """Broken rules of a list of tolerations."""
    for index, toleration in enumerate(tolerations):
        place = child(pointer, index)
        if toleration.key:
            yield from _key_and_value_violations(place, toleration.key, toleration.value)
        elif toleration.operator == "Equal":
            yield violation(
                child(place, "operator"),
                "Stated",
                rule="A toleration without a key tolerates every taint and must say Exists.",
                remedy="Set operator: Exists, or name a key.",
            )
        if toleration.operator == "Exists" and toleration.value:
            yield violation(
                child(place, "value"),
                "Stated",
                rule="A toleration with the operator Exists has no value.",
                remedy="Remove the value, or set operator: Equal.",
            )


def _key_and_value_violations(pointer: str, key: str, value: str) -> Iterator[Violation]:
    found = (
        violation_of(child(pointer, "key"), key, broken_rule_of_label_key),
        violation_of(child(pointer, "value"), value, broken_rule_of_label_value),
    )
    yield from (violation for violation in found if violation)


def _requirement_violations(pointer: str, requirement: Requirement) -> Iterator[Violation]:
    found = violation_of(child(pointer, "key"), requirement.key, broken_rule_of_label_key)
    if found:
        yield found
    rule = _broken_rule_of_values(requirement)
    if rule:
        yield violation(
            child(pointer, "values"), "Stated", rule=rule, remedy="Make values and operator agree."
        )


def _broken_rule_of_values(requirement: Requirement) -> str | None:
    match requirement.operator:
        case "In" | "NotIn":
            if not requirement.values:
                return f"The operator {requirement.operator} needs at least one value."
        case "Exists" | "DoesNotExist":
            if requirement.values:
                return f"The operator {requirement.operator} has no values."
        case "Gt" | "Lt":
            values = requirement.values
            if len(values) != 1 or not values[0].lstrip("-").isdecimal():
                return f"The operator {requirement.operator} has exactly one value, an integer."
    return None
