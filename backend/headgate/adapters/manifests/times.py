"""Instants as Kubernetes writes them."""

from datetime import UTC, datetime, timedelta

from headgate.domain.values.instants import Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(at: Instant) -> str:
    """The instant in UTC, to the second, as in `creationTimestamp`."""
    moment = _EPOCH + timedelta(microseconds=at)
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
