"""Rules for what every object carries beside its spec: name, namespace, labels, annotations."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from headgate.domain.rejection import InvalidObject, Violation, violation
from headgate.domain.values.names import (
    broken_rule_of_dns_label,
    broken_rule_of_label_key,
    broken_rule_of_label_value,
    broken_rule_of_name,
)
from headgate.domain.values.pointers import child

MAX_ANNOTATIONS_BYTES = 256 * 1024

_LABELS = "/metadata/labels"
_ANNOTATIONS = "/metadata/annotations"


def identity_violations(
    name: str,
    namespace: str,
    broken_rule: Callable[[str], str | None] = broken_rule_of_name,
) -> tuple[Violation, ...]:
    """Broken rules of the name and namespace of a new object."""
    found = [violation_of("/metadata/name", name, broken_rule)]
    if namespace:
        found.append(violation_of("/metadata/namespace", namespace, broken_rule_of_dns_label))
    return tuple(violation for violation in found if violation)


def marking_violations(
    labels: Mapping[str, str], annotations: Mapping[str, str]
) -> tuple[Violation, ...]:
    """Broken rules of the labels and annotations of an object."""
    return (*label_violations(_LABELS, labels), *_annotation_violations(annotations))


def label_violations(pointer: str, labels: Mapping[str, str]) -> tuple[Violation, ...]:
    """Broken rules of keys and values that have the syntax of Kubernetes labels."""
    found: list[Violation | None] = []
    for key, value in labels.items():
        found.append(violation_of(child(pointer, key), key, broken_rule_of_label_key))
        found.append(violation_of(child(pointer, key), value, broken_rule_of_label_value))
    return tuple(violation for violation in found if violation)


def violation_of(
    pointer: str, text: str, broken_rule: Callable[[str], str | None]
) -> Violation | None:
    """The violation of a rule about one text, if it breaks it."""
    rule = broken_rule(text)
    if rule is None:
        return None
    return violation(
        pointer, "Stated", rule=f"{_shown(text)} {rule}.", remedy="Choose another one that fits."
    )


def raise_if_invalid(kind: str, name: str, violations: Iterable[Violation]) -> None:
    """Raise `InvalidObject` with every violation, if there is any."""
    found = tuple(violations)
    if not found:
        return
    raise invalid_object(f"{kind} {name}".strip(), found)


def invalid_object(name: str, violations: tuple[Violation, ...]) -> InvalidObject:
    """Returns the rejection of an object with all its violations, of which there is at least one.

    `name` is the kind and the name, as far as they are known.
    """
    return InvalidObject(
        "ObjectInvalid",
        violations=violations,
        name=name,
        errors=len(violations),
        pointer=violations[0].pointer,
        first=violations[0].message,
    )


def _annotation_violations(annotations: Mapping[str, str]) -> Iterator[Violation]:
    for key in annotations:
        found = violation_of(child(_ANNOTATIONS, key), key.lower(), broken_rule_of_label_key)
        if found:
            yield found
    size = sum(len(key) + len(value) for key, value in annotations.items())
    if size > MAX_ANNOTATIONS_BYTES:
        yield violation(
            _ANNOTATIONS,
            "Stated",
            rule=f"All annotations together have at most {MAX_ANNOTATIONS_BYTES} characters.",
            remedy=f"Shorten them: they have {size}.",
        )


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 80 else f"{text[:77]!r}..."  # noqa: PLR2004


def optional_name_violations(pointer: str, name: str) -> Iterator[Violation]:
    """Broken rules of the name of another object; an empty name breaks none."""
    found = violation_of(pointer, name, broken_rule_of_name) if name else None
    if found:
        yield found


def amount_violations(pointer: str, amounts: Mapping[str, int]) -> Iterator[Violation]:
    """Broken rules of amounts by resource: invalid names, negative amounts."""
    for resource, amount in amounts.items():
        place = child(pointer, resource)
        found = violation_of(place, resource, broken_rule_of_label_key)
        if found:
            yield found
        if amount < 0:
            yield violation(
                place,
                "Stated",
                rule=f"The amount of {resource} is at least 0.",
                remedy="Give an amount that is not negative.",
            )
