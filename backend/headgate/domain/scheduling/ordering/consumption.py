"""What a LocalQueue has used of late: usage that fades with a half-life (queueing.md §2.9).

Between two changes of usage the value at any instant follows in closed form,
`consumed * d + usage * (1 - d)` with `d = 2 ** -(elapsed / half-life)`, so that nothing is sampled
and nothing is stored but what changed it. Amounts are integers in `AMOUNT_SCALE`-ths of a unit, `d`
is in `FACTOR_SCALE`-ths; both are computed with integers alone and rounded down, so that every fold
of one log gives equal amounts.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt
from typing import TypeAlias

import msgspec

from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.scheduling.ordering.pending_queue import LocalQueueRank
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import Requests

AMOUNT_SCALE = 1 << 32
FACTOR_BITS = 64
FACTOR_SCALE = 1 << FACTOR_BITS
GUARD_BITS = 32
"""Kept beyond `FACTOR_BITS` while a part is worked out, so that roundings do not add up."""

ScaledAmounts: TypeAlias = dict[str, int]
"""Resource name to amount in `AMOUNT_SCALE`-ths of its unit."""


class Consumption(msgspec.Struct, frozen=True, kw_only=True):
    """What one LocalQueue had used at `at`, and its admitted `usage` ever since.

    `penalties` are what workloads with reserved quota will add when they are admitted, by their
    keys: who was let in counts at once, long before the usage shows.
    """

    at: Instant
    consumed: ScaledAmounts = {}
    usage: Requests = {}
    penalties: dict[str, ScaledAmounts] = {}


def decayed(found: Consumption, at: Instant, rules: AdmissionFairSharing) -> Consumption:
    """The same as it is at a later instant; without a half-life nothing is remembered."""
    elapsed = max(0, at - found.at)
    if not rules.usage_half_life_seconds:
        consumed: ScaledAmounts = {}
    elif elapsed:
        left = decay_factor(elapsed, rules.usage_half_life_seconds)
        consumed = _moving_average(found.consumed, found.usage, left)
    else:
        consumed = found.consumed
    return msgspec.structs.replace(found, at=max(at, found.at), consumed=consumed)


def entry_penalty(requests: Mapping[str, int], rules: AdmissionFairSharing) -> ScaledAmounts:
    """What letting in a workload adds: what one sampling interval of its requests would leave."""
    if not rules.usage_half_life_seconds:
        return {}
    interval = rules.usage_sampling_interval_seconds * MICROSECONDS_PER_SECOND
    gained = FACTOR_SCALE - decay_factor(interval, rules.usage_half_life_seconds)
    return {
        name: amount * AMOUNT_SCALE * gained // FACTOR_SCALE
        for name, amount in sorted(requests.items())
    }


def with_penalties(found: Consumption) -> ScaledAmounts:
    """What counts in the order: what was consumed, and what is about to be added."""
    total = dict(found.consumed)
    for penalty in found.penalties.values():
        total = summed(total, penalty)
    return total


def rank_of(
    amounts: Mapping[str, int], rules: AdmissionFairSharing, weight_milli: int
) -> LocalQueueRank:
    """Sorts a LocalQueue by its weighted usage; one without weight comes last (trap T15).

    Weights are for base units, of which a core has a thousand millicores.
    """
    if weight_milli <= 0:
        return True, Fraction(0)
    return False, weighted_usage(amounts, rules) / Fraction(weight_milli, 1000)


def weighted_usage(amounts: Mapping[str, int], rules: AdmissionFairSharing) -> Fraction:
    """The sum over resources of weight times base units."""
    weights = rules.resource_weights_milli
    thousandths = sum(
        weights.get(name, 1000) * amount * (1 if name == "cpu" else 1000)
        for name, amount in amounts.items()
    )
    return Fraction(thousandths, 1_000_000 * AMOUNT_SCALE)


def summed(left: Mapping[str, int], right: Mapping[str, int]) -> ScaledAmounts:
    """Two amounts together, resource by resource, without those that are nothing."""
    names = sorted({*left, *right})
    total = {name: left.get(name, 0) + right.get(name, 0) for name in names}
    return {name: amount for name, amount in total.items() if amount}


def decay_factor(elapsed: int, half_life_seconds: int) -> int:
    """`2 ** -(elapsed / half-life)` in `FACTOR_SCALE`-ths; `elapsed` is in microseconds.

    Whole half-lives are shifts. The rest, a binary fraction, is a product of the roots of one half
    that stand for its digits.
    """
    half_life = half_life_seconds * MICROSECONDS_PER_SECOND
    halvings, rest = divmod(elapsed, half_life)
    digits = (rest << FACTOR_BITS) // half_life
    left = 1 << _ROOT_BITS
    for place, root in enumerate(_ROOTS, start=1):
        if digits >> (FACTOR_BITS - place) & 1:
            left = left * root >> _ROOT_BITS
    return left >> GUARD_BITS + halvings


def _moving_average(
    consumed: Mapping[str, int], usage: Mapping[str, int], left: int
) -> ScaledAmounts:
    names = sorted({*consumed, *usage})
    mixed = {
        name: (
            consumed.get(name, 0) * left + usage.get(name, 0) * AMOUNT_SCALE * (FACTOR_SCALE - left)
        )
        >> FACTOR_BITS
        for name in names
    }
    return {name: amount for name, amount in mixed.items() if amount}


def _roots_of_one_half() -> tuple[int, ...]:
    """The square root of one half, its root, and so on."""
    roots = []
    root = 1 << _ROOT_BITS - 1
    for _ in range(FACTOR_BITS):
        root = isqrt(root << _ROOT_BITS)
        roots.append(root)
    return tuple(roots)


_ROOT_BITS = FACTOR_BITS + GUARD_BITS
_ROOTS = _roots_of_one_half()
