"""Rules of single fields: names, ranges, numbers of entries, lengths and duplicates."""

from collections.abc import Callable, Iterable, Iterator

from headgate.domain.rejection import Violation, violation
from headgate.domain.values.instants import Instant
from headgate.domain.values.names import broken_rule_of_name

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
