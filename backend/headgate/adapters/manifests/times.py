"""Instants as Kubernetes writes them, and back."""

from datetime import UTC, datetime, timedelta

from headgate.domain.values.instants import Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(at: Instant) -> str:
    """The instant in UTC, to the second, as in `creationTimestamp`."""
    moment = _EPOCH + timedelta(microseconds=at)
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def instant_of(text: str) -> Instant | None:
    """The instant that an RFC 3339 text names; None if it names none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1)
