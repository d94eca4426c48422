"""Rules of fields that all kinds share: names, ranges, labels, annotations, selectors and taints.

Names and labels follow Kubernetes (DNS-1123, qualified names); a function `broken_rule_of_…`
returns the code of the broken rule, or None for a valid text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from headgate.domain.rejection import InvalidObject, Violation, child, violation
from headgate.domain.values.instants import Instant
from headgate.domain.values.selectors import (
    LabelSelector,
    NodeSelectorTerm,
    Requirement,
    Taint,
    Toleration,
)

MAX_LABEL_LENGTH = 63
MAX_SUBDOMAIN_LENGTH = 253
MAX_LEVEL_KEY_LENGTH = 316

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)


def broken_rule_of_dns_label(text: str) -> str | None:
    """The rule that `text` breaks as the name of a namespace or pod set."""
    if len(text) <= MAX_LABEL_LENGTH and _LABEL.fullmatch(text):
        return None
    return "NotDnsLabel"


@lru_cache(maxsize=8192)
def broken_rule_of_name(text: str) -> str | None:
    """The rule that `text` breaks as the name of an object (a DNS-1123 subdomain)."""
    if len(text) <= MAX_SUBDOMAIN_LENGTH and _SUBDOMAIN.fullmatch(text):
        return None
    return "NotDnsSubdomain"


@lru_cache(maxsize=8192)
def broken_rule_of_label_key(text: str) -> str | None:
    """The rule that `text` breaks as the key of a label, a taint, or a resource."""
    prefix, slash, name = text.rpartition("/")
    if slash and broken_rule_of_name(prefix):
        return "LabelPrefixInvalid"
    if len(name) <= MAX_LABEL_LENGTH and _QUALIFIED.fullmatch(name):
        return None
    return "NotLabelKey"


@lru_cache(maxsize=8192)
def broken_rule_of_label_value(text: str) -> str | None:
    """The rule that `text` breaks as the value of a label."""
    if not text or (len(text) <= MAX_LABEL_LENGTH and _QUALIFIED.fullmatch(text)):
        return None
    return "NotLabelValue"


MAX_SHOWN_LENGTH = 80


def shown(text: str) -> str:
    """Returns a text that users wrote, cut to what a message shows of it."""
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[: MAX_SHOWN_LENGTH - 3]}..."


def name_violations(
    pointer: str, text: str, broken_rule: Callable[[str], str | None] = broken_rule_of_name
) -> Iterator[Violation]:
    """Yields the violation of a naming rule by a text, if it breaks the rule."""
    code = broken_rule(text)
    if code is not None:
        yield violation(pointer, code, value=shown(text))


def range_violations(
    pointer: str, value: int | None, minimum: int, maximum: int | None = None
) -> Iterator[Violation]:
    """Yields the violation by a number outside of its range; None breaks no rule."""
    if value is None or (minimum <= value and (maximum is None or value <= maximum)):
        return
    if maximum is None:
        yield violation(pointer, "BelowMinimum", value=value, minimum=minimum)
    else:
        yield violation(pointer, "NotInRange", value=value, minimum=minimum, maximum=maximum)


def weight_range_violations(pointer: str, weight_milli: int) -> Iterator[Violation]:
    """Yields the violation by a negative weight, in thousandths; the text has what was written."""
    if weight_milli < 0:
        whole, rest = divmod(-weight_milli, 1_000)
        told = f"-{whole}.{rest:03}".rstrip("0").rstrip(".")
        yield violation(pointer, "BelowMinimum", value=told, minimum=0)


def count_violations(
    pointer: str, count: int, maximum: int, minimum: int = 0, field: str = ""
) -> Iterator[Violation]:
    """Yields the violation by a list of too many or too few entries; `field` names the list."""
    field = field or pointer.rpartition("/")[2]
    if count > maximum:
        excess = count - maximum
        yield violation(
            pointer, "TooMany", field=field, maximum=maximum, count=count, excess=excess
        )
    if count < minimum:
        yield violation(pointer, "TooFew", field=field, minimum=minimum)


def length_violations(
    pointer: str, text: str, maximum: int, minimum: int = 0
) -> Iterator[Violation]:
    """Yields the violation by a text of too many or too few characters."""
    length = len(text)
    if not minimum <= length <= maximum:
        yield violation(pointer, "LengthInvalid", minimum=minimum, maximum=maximum, length=length)


def duplicate_violations(entries: Iterable[tuple[str, str]]) -> Iterator[Violation]:
    """Yields a violation at the pointer of each value that an earlier entry has."""
    seen: set[str] = set()
    for pointer, value in entries:
        if value in seen:
            yield violation(pointer, "Duplicate", value=shown(value))
        seen.add(value)


def action_violations(reason: str, expires_at: Instant | None, at: Instant) -> Iterator[Violation]:
    """Yields broken rules of a hold or stop: a reason is given, and the end is in the future."""
    if not reason.strip():
        yield violation("/reason", "ReasonMissing")
    yield from expiry_violations(expires_at, at)


def expiry_violations(expires_at: Instant | None, at: Instant) -> Iterator[Violation]:
    """Yields the violation by an end that is not in the future."""
    if expires_at is not None and expires_at <= at:
        yield violation("/expiresAt", "NotInFuture")


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
