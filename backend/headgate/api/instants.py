"""RFC 3339 as callers write it, to instants."""

from datetime import UTC, datetime, timedelta

from headgate.application.queries.views import EPOCH
from headgate.domain.rejection import InvalidRequest, Violation
from headgate.domain.values.instants import Instant


def instant_or_none(text: str | None, pointer: str) -> Instant | None:
    """The instant a text names; raises `InvalidRequest` with a pointer."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            # In UTC first: what no clock can show there could not be shown again either.
            return (found.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError) as failure:
        raise _refused(text, pointer) from failure
    raise _refused(text, pointer)


def _refused(text: str, pointer: str) -> InvalidRequest:
    violation = Violation(
        pointer=pointer,
        rule="It is a time with its offset, as RFC 3339 has it.",
        remedy="Write it like 2026-09-24T12:00:00Z.",
    )
    return InvalidRequest(
        f"{text!r} is no time.", remedy="Correct the time.", violations=(violation,)
    )
