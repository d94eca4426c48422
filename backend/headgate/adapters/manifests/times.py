"""Instants and lengths of time in manifests."""

import re
from datetime import UTC, datetime, timedelta

from headgate.domain.values.instants import Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(at: Instant) -> str:
    """The instant in UTC, to the second, as in `creationTimestamp`."""
    moment = _EPOCH + timedelta(microseconds=at)
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(h|ms|m|s)", re.ASCII)
_WHOLE = re.compile(r"(?:\d{1,12}(?:\.\d{1,9})?(?:h|ms|m|s))+|0", re.ASCII)
_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


def seconds_of(text: str) -> int | None:
    """The length in seconds, rounded up; None if it is none."""
    if not _WHOLE.fullmatch(text):
        return None
    milliseconds = 0
    for number, unit in _PART.findall(text):
        whole, _, fraction = number.partition(".")
        scaled = int(whole + fraction) * _MILLISECONDS[unit]
        milliseconds += -(-scaled // int("1" + "0" * len(fraction)))
    return -(-milliseconds // 1000)


def duration_of(seconds: int) -> str:
    """The length as Go writes it."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
