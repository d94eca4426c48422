"""Amounts of resources as integers: `cpu` in millicores, everything else in whole units.

Memory is in bytes, devices and pods in pieces (reference queueing.md §3.3, §4).
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias, TypeVar

Requests: TypeAlias = dict[str, int]
"""Resource name to amount."""

FlavorResource: TypeAlias = tuple[str, str]
"""A flavor and a resource: the key quota is counted under."""

FlavorUsage: TypeAlias = dict[FlavorResource, int]
"""Amount per flavor and resource."""


def clamped(amount: int) -> int:
    """The amount as far as it is counted: never less than nothing, nor more than 64 bits hold.

    Kueue's rule for the totals of a workload. What asks for more than can be counted fits nowhere
    but where quota has no end, and can be written down like any other.
    """
    return amount if 0 <= amount <= MAX_AMOUNT else max(0, min(amount, MAX_AMOUNT))


def scaled(requests: Mapping[str, int], count: int) -> Requests:
    """The amounts of `count` pods that each ask for `requests`, as far as they are counted."""
    return {resource: clamped(amount * count) for resource, amount in sorted(requests.items())}


def added(left: Mapping[str, int], right: Mapping[str, int]) -> Requests:
    """The sum of two amounts, resource by resource."""
    names = sorted({*left, *right})
    return {name: left.get(name, 0) + right.get(name, 0) for name in names}


def is_gpu(resource: str) -> bool:
    """Whether a resource counts as GPUs: `nvidia.com/gpu`, `gpu`, those of whatever maker."""
    return resource.rpartition("/")[2] == "gpu"


def resource_rank(resource: str) -> tuple[int, str]:
    """The place of a resource where several are shown: GPUs, other devices, CPU, memory, others.

    An extended resource has a `/` in its name (Kubernetes).
    """
    return (0 if is_gpu(resource) else _PLACES.get(resource, 1 if "/" in resource else 4), resource)


_PLACES = {"cpu": 2, "memory": 3}


Key = TypeVar("Key")


def add_to(totals: dict[Key, int], amounts: Mapping[Key, int]) -> None:
    """Adds amounts to totals of the same keys, in place."""
    for key, amount in amounts.items():
        totals[key] = totals.get(key, 0) + amount


MAX_AMOUNT = 2**63 - 1


NANO = 10**9


MAX_QUANTITY = 10**60


MAX_QUANTITY_LENGTH = 64


MAX_EXPONENT = 40


_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,3}))?",
    re.ASCII,
)


_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


_DECIMAL_SUFFIXES = ((18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k"))


class NotAQuantity(ValueError):
    """The text is no Kubernetes quantity, or one too large to count with."""


def amount_of(resource: str, text: str) -> int:
    """The amount of `resource` that the quantity `text` stands for; raises `NotAQuantity`."""
    return scaled_amount(text, 1000 if resource == "cpu" else 1)


def exceeds_max_amount(resource: str, text: str) -> bool:
    """Whether the text is a quantity, and of more than the largest amount."""
    try:
        scale = 1000 if resource == "cpu" else 1
        return scaled_amount(text, scale, MAX_QUANTITY) > MAX_AMOUNT
    except NotAQuantity:
        return False


def milli_of(text: str) -> int:
    """The quantity `text` in thousandths, rounded up; raises `NotAQuantity`."""
    return scaled_amount(text, 1000)


def nanos_of(text: str) -> int:
    """The quantity `text` in billionths, for sums that are rounded only once."""
    return scaled_amount(text, NANO, MAX_AMOUNT * NANO)


def amount_of_nanos(resource: str, nanos: int) -> int:
    """The amount of `resource` that so many billionths are, rounded up."""
    scale = 1000 if resource == "cpu" else 1
    return -(-nanos * scale // NANO)


@lru_cache(maxsize=4096)
def scaled_amount(text: str, scale: int, most: int = MAX_AMOUNT) -> int:
    """`scale` times the quantity `text`, exact, rounded away from zero to an integer."""
    found = _QUANTITY.fullmatch(text) if len(text) <= MAX_QUANTITY_LENGTH else None
    if found is None or not (found["whole"] or found["fraction"]):
        raise NotAQuantity(text)
    fraction = found["fraction"] or ""
    numerator = int((found["whole"] or "0") + fraction) * scale << _BINARY.get(found["suffix"], 0)
    exponent = _DECIMAL.get(found["suffix"], 0) + int(found["exponent"] or 0)
    if abs(exponent) > MAX_EXPONENT:
        raise NotAQuantity(text)
    numerator *= int("1" + "0" * max(0, exponent))
    denominator = int("1" + "0" * (len(fraction) + max(0, -exponent)))
    amount = -(-numerator // denominator)
    if amount > most:
        raise NotAQuantity(text)
    return -amount if found["sign"] == "-" else amount


def quantity_of(resource: str, amount: int) -> str:
    """The canonical quantity for an amount of `resource`, exact."""
    if resource == "cpu":
        return milli_quantity(amount)
    if _counts_bytes(resource):
        return _binary(amount)
    return _decimal(amount)


def nano_quantity(billionths: int) -> str:
    """The canonical quantity for a number of billionths."""
    if billionths % 1000:
        return f"{billionths}n"
    if billionths % 1_000_000:
        return f"{billionths // 1000}u"
    return milli_quantity(billionths // 1_000_000)


def milli_quantity(thousandths: int) -> str:
    """The canonical quantity for a number of thousandths."""
    if thousandths % 1000:
        return f"{thousandths}m"
    return _decimal(thousandths // 1000)


def _counts_bytes(resource: str) -> bool:
    return resource in {"memory", "ephemeral-storage", "storage"} or resource.startswith(
        "hugepages-"
    )


def _binary(amount: int) -> str:
    for suffix, bits in reversed(_BINARY.items()):
        if amount and amount % (1 << bits) == 0:
            return f"{amount >> bits}{suffix}"
    return str(amount)


def _decimal(amount: int) -> str:
    for digits, suffix in _DECIMAL_SUFFIXES:
        if amount and amount % 10**digits == 0:
            return f"{amount // 10**digits}{suffix}"
    return str(amount)
