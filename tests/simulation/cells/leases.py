"""Rules of quota leases between cells, as pure functions of one cell's state and its clock.

A pair of lender and borrower has at most one lease at a time, with a number that only grows. A
renewal is a later end of the number. Times are in milliseconds of the clock of the cell that asks.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

LEASE = 300_000
DRAIN = 30_000
"""The longest soft eviction: workloads that use a lease are stopped from `until - DRAIN` on."""
SKEW = 5_000
"""The largest difference between any two clocks."""
RENEW_BEFORE = 60_000
"""A borrower asks for a later end from so long before its quota is lowered."""
FOREVER = 1 << 62


class Lent(Struct, frozen=True):
    """The latest lease of a lender to one borrower; its amount counts until it `is_over`."""

    number: int
    amount: int
    until: int
    is_over: bool = False


class Taken(Struct, frozen=True):
    """The latest lease of a borrower from one lender."""

    number: int
    amount: int
    until: int
    is_returned: bool = False


def counted_until(until: int) -> int:
    """The instant up to which a lender counts an amount as lent, by its own clock."""
    return until + SKEW


def in_effect_until(until: int) -> int:
    """The instant up to which a borrower admits on a lease, by its own clock."""
    return until - DRAIN


def is_expired(lent: Lent, now: int) -> bool:
    """Whether a lender may use an amount again without news of the borrower."""
    return not lent.is_over and now > counted_until(lent.until)


def is_in_effect(taken: Taken, now: int) -> bool:
    """Whether a lease raises the quota of its borrower."""
    return not taken.is_returned and now < in_effect_until(taken.until)


def lent_amount(lent: Iterable[Lent]) -> int:
    """The sum of amounts that a lender counts as lent."""
    return sum(lease.amount for lease in lent if not lease.is_over)


def borrowed_amount(taken: Iterable[Taken], now: int) -> int:
    """The sum of amounts that raise the quota of a borrower."""
    return sum(lease.amount for lease in taken if is_in_effect(lease, now))


def granted(known: Lent | None, number: int, amount: int, now: int) -> Lent | None:
    """The lease that a lender writes for a request, None where the number is void.

    A request for the number that is lent already, renews it: doubled requests lend nothing twice.
    A number below, or one that is over, is void for ever.
    """
    if known is None or number > known.number:
        if known is not None and not known.is_over:
            return None
        return Lent(number, amount, now + LEASE)
    if number < known.number or known.is_over:
        return None
    return Lent(number, known.amount, max(known.until, now + LEASE))


def taken(known: Taken | None, number: int, amount: int, until: int) -> Taken | None:
    """The lease that a borrower writes for a grant, None where the grant changes nothing.

    A grant of a number that was returned is void, so that one which is late revives nothing.
    """
    if known is None or number > known.number:
        return Taken(number, amount, until)
    if number < known.number or known.is_returned or until <= known.until:
        return None
    return Taken(number, amount, until)


def stop_times(
    amounts: Iterable[tuple[str, int]], own: int, leases: Iterable[Taken]
) -> dict[str, int]:
    """By running workload, in the order of admission, when its executor stops it by itself.

    A workload may run as long as the quota of the cell at that instant, leases that have ended by
    then left out, covers it and all before it. Executors hold these times, so that a lease ends
    even where its borrower is down. A time never moves forward in life: amounts before a workload
    only shrink, and a cell lends only what its own quota has left beyond all its workloads.
    """
    current = sorted(
        (lease for lease in leases if not lease.is_returned), key=lambda lease: -lease.until
    )
    found, sum_before = {}, 0
    for uid, amount in amounts:
        sum_before += amount
        covered, until = own, FOREVER
        for lease in current:
            if covered >= sum_before:
                break
            covered, until = covered + lease.amount, lease.until
        found[uid] = until if covered >= sum_before else 0
    return found


def may_return(
    amounts: Iterable[tuple[str, int]], own: int, leases: Mapping[str, Taken], lender: str
) -> bool:
    """Whether no workload would have to stop earlier without the lease from a lender.

    Executors hold the times they were given, so that a lease is not returned while a time
    rests on its end, though the others may cover as much.
    """
    running = tuple(amounts)
    times = stop_times(running, own, leases.values())
    others = [lease for of, lease in leases.items() if of != lender]
    return all(stop_times(running, own, others)[uid] >= time for uid, time in times.items())


def next_end(lent: Mapping[str, Lent], taken: Mapping[str, Taken], now: int) -> int:
    """The next instant at which a lease of a cell changes by the clock alone."""
    ends = [counted_until(lease.until) + 1 for lease in lent.values() if not lease.is_over]
    for lease in taken.values():
        if not lease.is_returned:
            ends += (in_effect_until(lease.until), in_effect_until(lease.until) - RENEW_BEFORE)
            ends.append(lease.until)
    return min((end for end in ends if end > now), default=FOREVER)
