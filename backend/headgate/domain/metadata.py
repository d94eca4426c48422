"""Rules for what every object carries beside its spec: name, namespace, labels, annotations."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from headgate.domain.field_rules import count_violations, name_violations, range_violations
from headgate.domain.rejection import InvalidObject, Violation, violation
from headgate.domain.values.names import (
    broken_rule_of_dns_label,
    broken_rule_of_label_key,
    broken_rule_of_label_value,
    broken_rule_of_name,
)
from headgate.domain.values.pointers import child

MAX_ANNOTATIONS_BYTES = 256 * 1024
MAX_LABELS = 1_000

_LABELS = "/metadata/labels"
_ANNOTATIONS = "/metadata/annotations"


def identity_violations(
    name: str,
    namespace: str,
    broken_rule: Callable[[str], str | None] = broken_rule_of_name,
) -> Iterator[Violation]:
    """Yields broken rules of the name and namespace of a new object."""
    yield from name_violations("/metadata/name", name, broken_rule)
    if namespace:
        yield from name_violations("/metadata/namespace", namespace, broken_rule_of_dns_label)


def marking_violations(
    labels: Mapping[str, str], annotations: Mapping[str, str]
) -> tuple[Violation, ...]:
    """Broken rules of the labels and annotations of an object."""
    return (*label_violations(_LABELS, labels), *_annotation_violations(annotations))


def label_violations(pointer: str, labels: Mapping[str, str]) -> Iterator[Violation]:
    """Yields broken rules of labels: too many, or keys and values without the syntax of labels."""
    if len(labels) > MAX_LABELS:
        yield from count_violations(pointer, len(labels), MAX_LABELS)
        return
    for key, value in labels.items():
        yield from name_violations(child(pointer, key), key, broken_rule_of_label_key)
        yield from name_violations(child(pointer, key), value, broken_rule_of_label_value)


def raise_if_invalid(kind: str, name: str, violations: Iterable[Violation]) -> None:
    """Raises `InvalidObject` with every violation, if there is any."""
    found = tuple(violations)
    if found:
        raise invalid_object(f"{kind} {name}".strip(), found)


def invalid_object(name: str, violations: tuple[Violation, ...]) -> InvalidObject:
    """Returns the rejection of an object for violations, of which there is at least one.

    `name` is the kind and the name, as far as they are known.
    """
    first = violations[0]
    return InvalidObject(
        "ObjectInvalid",
        violations=violations,
        name=name,
        errors=len(violations),
        pointer=first.pointer,
        first=first.message,
    )


def _annotation_violations(annotations: Mapping[str, str]) -> Iterator[Violation]:
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > MAX_ANNOTATIONS_BYTES:
        yield violation(
            _ANNOTATIONS, "AnnotationsTooLong", maximum=MAX_ANNOTATIONS_BYTES, length=size
        )
        return
    for key in annotations:
        yield from name_violations(child(_ANNOTATIONS, key), key.lower(), broken_rule_of_label_key)


def optional_name_violations(pointer: str, name: str) -> Iterator[Violation]:
    """Yields broken rules of the name of another object; an empty name breaks none."""
    return name_violations(pointer, name) if name else iter(())


def amount_violations(pointer: str, amounts: Mapping[str, int]) -> Iterator[Violation]:
    """Yields broken rules of amounts by resource: invalid names, negative amounts."""
    for resource, amount in amounts.items():
        place = child(pointer, resource)
        yield from name_violations(place, resource, broken_rule_of_label_key)
        yield from range_violations(place, amount, 0)
