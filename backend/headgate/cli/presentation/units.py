"""Durations, ages and quantities as text, and text as durations."""

from datetime import UTC, datetime, timedelta

from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

MINUTE, HOUR, DAY, YEAR = 60, 3_600, 86_400, 365 * 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_UNITS = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY}


def age(seconds: int) -> str:
    """Two units while they matter, one when they no longer do (k8s duration.HumanDuration)."""
    if seconds < 0:
        return "0s"
    if seconds < 2 * MINUTE:
        return f"{seconds}s"
    if seconds < 10 * MINUTE:
        return _two(seconds, (MINUTE, "m"), (1, "s"))
    if seconds < 3 * HOUR:
        return f"{seconds // MINUTE}m"
    if seconds < 8 * HOUR:
        return _two(seconds, (HOUR, "h"), (MINUTE, "m"))
    if seconds < 2 * DAY:
        return f"{seconds // HOUR}h"
    if seconds < 8 * DAY:
        return _two(seconds, (DAY, "d"), (HOUR, "h"))
    if seconds < 2 * YEAR:
        return f"{seconds // DAY}d"
    return _two(seconds, (YEAR, "y"), (DAY, "d"))


def instant_of(text: str) -> Instant:
    """The instant an RFC 3339 timestamp names."""
    since = datetime.fromisoformat(text) - _EPOCH
    return since // timedelta(microseconds=1)


def timestamp_of(at: Instant) -> str:
    """An instant as RFC 3339 in UTC, to the second."""
    moment = _EPOCH + timedelta(microseconds=at)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def age_of(timestamp: str | None, now: Instant) -> str:
    """How long ago that was, or `-`."""
    if not timestamp:
        return "-"
    return age((now - instant_of(timestamp)) // MICROSECONDS_PER_SECOND)


def until(timestamp: str | None, now: Instant) -> str:
    """How soon that is, such as `in 12s`; `now` once it is there, or `-`."""
    if not timestamp:
        return "-"
    left = instant_of(timestamp) - now
    return f"in {age(left // MICROSECONDS_PER_SECOND)}" if left > 0 else "now"


def seconds_of(text: str) -> float:
    """The seconds in `90`, `30s`, `5m`, `1h30m` or `2d`; raises ValueError for anything else."""
    if not text:
        raise ValueError("a length of time is a number with a unit: 30s, 5m, 1h30m")
    total, digits = 0.0, ""
    for letter in text:
        if letter.isdigit() or letter == ".":
            digits += letter
        elif letter in _UNITS and digits:
            total += float(digits) * _UNITS[letter]
            digits = ""
        else:
            raise ValueError(f"{text} is no length of time: write 30s, 5m, 1h30m")
    return total + (float(digits) if digits else 0.0)


def _two(seconds: int, large: tuple[int, str], small: tuple[int, str]) -> str:
    whole, rest = divmod(seconds, large[0])
    part = rest // small[0]
    return f"{whole}{large[1]}{part}{small[1]}" if part else f"{whole}{large[1]}"


def counted(number: int, thing: str) -> str:
    """`1 pod`, `3 pods`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


MILLI = 1_000


_BYTES = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


UNBOUNDED = (1 << 63) - 1
"""The weighted share of a borrower of weight 0 in the API."""


def amount(resource: str, value: int) -> str:
    """`1500` cpu is `1.5`, `4294967296` memory is `4Gi`; anything else is a number of pieces."""
    if resource == "cpu":
        return _thousandths(value)
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        return _binary(value)
    return str(value)


def share(used: int, total: int) -> str:
    """A percentage, or `-` where there is nothing to take a share of."""
    return f"{round(100 * used / total)}%" if total else "-"


def fair_share(thousandths: int) -> str:
    """What is borrowed of all that can be lent, by weight; empty where nothing is."""
    if not thousandths:
        return ""
    if thousandths == UNBOUNDED:
        return "fair share: beyond any, its weight is 0"
    return f"fair share {_thousandths(thousandths * 100)}%"


def _thousandths(value: int) -> str:
    whole, rest = divmod(abs(value), MILLI)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}" if not rest else f"{sign}{whole}.{rest:03d}".rstrip("0")


def _binary(value: int) -> str:
    for suffix, size in _BYTES:
        if abs(value) >= size:
            scaled = value / size
            return f"{value // size}{suffix}" if value % size == 0 else f"{scaled:.1f}{suffix}"
    return str(value)
