"""How evenly pods could be spread over domains, in whole numbers, so that no machine rounds it."""

from collections import Counter
from functools import cache

from headgate.domain.scheduling.placement.hosts import Ints

BITS = 40


def entropy_of(pods: Ints) -> int:
    """Shannon's entropy of these capacities in units of 2**-40 bits; 0 where there is no room."""
    total = int(pods.sum())
    if total <= 0:
        return 0
    alike: Counter[int] = Counter(pods.tolist())
    weighted = sum(number * room * logarithm(room) for room, number in alike.items() if room > 0)
    return logarithm(total) - weighted // total


@cache
def logarithm(number: int) -> int:
    """The binary logarithm of a positive number, in units of 2**-40, rounded down."""
    whole = number.bit_length() - 1
    fraction, found = (number << BITS) >> whole, whole
    for _ in range(BITS):
        fraction = fraction * fraction >> BITS
        found <<= 1
        if fraction >> BITS >= 2:  # noqa: PLR2004 - the base of the logarithm
            fraction >>= 1
            found |= 1
    return found
