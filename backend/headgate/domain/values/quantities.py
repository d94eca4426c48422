"""Amounts of resources as integers: `cpu` in millicores, everything else in whole units.

Memory is in bytes, devices and pods in pieces (reference queueing.md §3.3, §4).
"""

from collections.abc import Mapping
from typing import TypeAlias

Requests: TypeAlias = dict[str, int]
"""Resource name to amount."""

FlavorResource: TypeAlias = tuple[str, str]
"""A flavor and a resource: the key quota is counted under."""

FlavorUsage: TypeAlias = dict[FlavorResource, int]
"""Amount per flavor and resource."""


def scaled(requests: Mapping[str, int], count: int) -> Requests:
    """The amounts of `count` pods that each ask for `requests`."""
    return {resource: amount * count for resource, amount in sorted(requests.items())}


def added(left: Mapping[str, int], right: Mapping[str, int]) -> Requests:
    """The sum of two amounts, resource by resource."""
    names = sorted({*left, *right})
    return {name: left.get(name, 0) + right.get(name, 0) for name in names}
