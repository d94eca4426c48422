"""Durations, ages and quantities as text, and text as durations."""

import re
from datetime import UTC, datetime, timedelta

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import NotAQuantity, scaled_amount
from headgate.messages.rendering import BINARY_UNITS, resource_word

MINUTE, HOUR, DAY, YEAR = 60, 3_600, 86_400, 365 * 86_400
MILLI = 1_000
UNBOUNDED_SHARE = (1 << 63) - 1
"""The dominant resource share that the API gives a borrower of weight 0."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_OF_UNIT = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY}


def age(seconds: int) -> str:
    """Returns two units for short durations and one for long ones (k8s: duration.HumanDuration)."""
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
    """Returns the instant of an RFC 3339 timestamp."""
    since = datetime.fromisoformat(text) - _EPOCH
    return since // timedelta(microseconds=1)


def timestamp_of(at: Instant) -> str:
    """Returns an instant as RFC 3339 in UTC, to the second."""
    moment = _EPOCH + timedelta(microseconds=at)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp_after(duration: str) -> str:
    """Returns the timestamp at which a duration from now ends."""
    return timestamp_of(wall_clock() + int(seconds_of(duration) * MICROSECONDS_PER_SECOND))


def timestamp_before(duration: str) -> str:
    """Returns the timestamp at which a duration up to now began."""
    return timestamp_of(wall_clock() - int(seconds_of(duration) * MICROSECONDS_PER_SECOND))


def age_of(timestamp: str | None) -> str:
    """Returns the time since a timestamp, or `-` without one."""
    if not timestamp:
        return "-"
    return age((wall_clock() - instant_of(timestamp)) // MICROSECONDS_PER_SECOND)


def until(timestamp: str | None, now: Instant | None = None) -> str:
    """Returns the time to a timestamp, as in `in 12s`; `now` once reached, `-` without one."""
    if not timestamp:
        return "-"
    left = instant_of(timestamp) - (wall_clock() if now is None else now)
    return f"in {age(left // MICROSECONDS_PER_SECOND)}" if left > 0 else "now"


def seconds_of(text: str) -> float:
    """Returns the seconds in `90`, `30s`, `5m`, `1h30m` or `2d`; raises ValueError otherwise."""
    total, digits = 0.0, ""
    for letter in text:
        if letter.isdigit() or letter == ".":
            digits += letter
        elif letter in _SECONDS_OF_UNIT and digits:
            total += float(digits) * _SECONDS_OF_UNIT[letter]
            digits = ""
        else:
            raise ValueError(f"{text} is not a duration. Examples: 30s, 5m, 1h30m")
    if not text:
        raise ValueError("Enter a duration. Examples: 30s, 5m, 1h30m")
    return total + (float(digits) if digits else 0.0)


def _two(seconds: int, large: tuple[int, str], small: tuple[int, str]) -> str:
    whole, rest = divmod(seconds, large[0])
    part = rest // small[0]
    return f"{whole}{large[1]}{part}{small[1]}" if part else f"{whole}{large[1]}"


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 pod`, `3 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def amounts(resource: str, *values: int) -> list[str]:
    """Returns amounts of one resource; bytes in the unit of the largest, as in `0.5 TiB`, `4 TiB`.

    CPU is given in thousandths and returned in cores, every other resource as it is.
    """
    if resource == "cpu":
        return [_thousandths(value) for value in values]
    if resource not in {"memory", "ephemeral-storage"} and not resource.startswith("hugepages-"):
        return [str(value) for value in values]
    largest = max((abs(value) for value in values), default=0)
    word, size = next((unit for unit in BINARY_UNITS if largest >= unit[1]), ("bytes", 1))
    return [f"{round(value / size, 1):g} {word}" for value in values]


def amount(resource: str, value: int) -> str:
    """Returns one amount for a table: `1.5` of cpu, `4 GiB` of memory, `8` of devices."""
    return amounts(resource, value)[0]


def quantity(resource: str, value: int) -> str:
    """Returns one amount with its resource: `1.5 CPU`, `4 GiB memory`, `8 GPU`."""
    return f"{amount(resource, value)} {resource_word(resource)}"


def share(used: int, total: int) -> str:
    """Returns a percentage, or `-` where the total is 0."""
    return f"{round(100 * used / total)}%" if total else "-"


def fair_share(thousandths: int) -> str:
    """Returns the dominant resource share as a percentage; empty for queues that do not borrow."""
    if not thousandths:
        return ""
    if thousandths == UNBOUNDED_SHARE:
        return "fair-sharing weight 0 (always last)"
    return f"fair share {_thousandths(thousandths * 100)}%"


def _thousandths(value: int) -> str:
    whole, rest = divmod(abs(value), MILLI)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}" if not rest else f"{sign}{whole}.{rest:03d}".rstrip("0")


def sort_rank(value: object) -> tuple[int, float, tuple[tuple[int, str], ...]]:
    """Returns the place of a value in a sorted list: absent, numbers and quantities, texts.

    Numbers in texts count as such: host-2 before host-10 (kubectl: RuntimeSort).
    """
    if value is None:
        return (0, 0, ())
    if isinstance(value, int | float):
        return (1, value, ())
    try:
        return (1, scaled_amount(str(value), MILLI) / MILLI, ())
    except NotAQuantity:
        parts = _DIGITS.split(str(value))
        return (2, 0, tuple((int(each) if each.isdigit() else -1, each) for each in parts))


_DIGITS = re.compile(r"([0-9]+)")
