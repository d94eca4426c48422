"""Amounts of resources as integers: `cpu` in millicores, everything else in whole units.

Memory is in bytes, devices and pods in pieces (reference queueing.md §3.3, §4).
"""

from collections.abc import Mapping
from typing import TypeAlias

from headgate.domain.values.amounts import MAX_AMOUNT

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
