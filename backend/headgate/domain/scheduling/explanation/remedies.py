"""What would help: each of these, if somebody does it, takes the blocker it stands for away."""

import msgspec

from headgate.domain.scheduling.explanation.amounts import written_amount, written_level
from headgate.domain.scheduling.explanation.amounts import written_number as number
from headgate.domain.scheduling.results import PlacementShortfall, QuotaResult
from headgate.domain.values.quantities import FlavorResource


class QuotaSupply(msgspec.Struct, frozen=True, gc=False):
    """Where more of a flavor's resource could come from for one ClusterQueue.

    `held_by` names the largest holders whose release would help here;
    `max_without_borrowing_limit` is the most that the ClusterQueue could use if its own borrowing
    limit did not apply.
    """

    held_by: tuple[str, ...] = ()
    max_without_borrowing_limit: int = 0


def quota_remedies(
    key: FlavorResource, answer: QuotaResult, supply: QuotaSupply
) -> tuple[str, ...]:
    """What ends a shortage of quota, by so much that it is ended.

    A nominal quota higher by so much always is; a borrowing limit only where it is what ends the
    borrowing, and never for what may not be preempted (preemption.md §6.4).
    """
    flavor, resource = key
    if answer.reason == "ExceedsMaxQuota":
        return (_a_higher_limit(key, answer, supply),)
    amount = written_amount(resource, answer.need - answer.have + answer.debt)
    held = f", held by {_listed(supply.held_by)}" if supply.held_by else ""
    if answer.is_non_preemptible:
        theirs = f", or as much given back by {_listed(supply.held_by)}" if supply.held_by else ""
        return (f"a nominal quota higher by {amount} of flavor {flavor}{theirs}",)
    if answer.is_withheld:
        theirs = f", or as much given back by {_listed(supply.held_by)}" if supply.held_by else ""
        return (f"a borrowing limit higher by {amount} of flavor {flavor}{theirs}",)
    return (f"{amount} more of flavor {flavor}{held}",)


def _a_higher_limit(key: FlavorResource, answer: QuotaResult, supply: QuotaSupply) -> str:
    flavor, resource = key
    is_bound = not answer.is_non_preemptible and supply.max_without_borrowing_limit >= answer.need
    limit = "nominal quota or borrowing limit" if is_bound else "nominal quota"
    amount = written_amount(resource, answer.need - answer.most)
    smaller = f", or a request of at most {number(resource, answer.most)}" if answer.most else ""
    return f"a {limit} higher by {amount} of flavor {flavor}{smaller}"


def placement_remedies(flavor: str, shortfall: PlacementShortfall) -> tuple[str, ...]:
    """What ends a shortage of hosts, in the units that are counted: pods, or slices of them."""
    level = written_level(shortfall.level)
    if shortfall.reason:
        return ()
    if shortfall.lacks_leader:
        where = f"in one {level} with its workers" if shortfall.domain else f"of flavor {flavor}"
        return (f"a host {where} that has room for the pods of the leader",)
    short = shortfall.needs - shortfall.fits
    units = shortfall.unit.removesuffix("s") if short == 1 else shortfall.unit
    where = f"in one {level}" if shortfall.domain else f"on any hosts of flavor {flavor}"
    return (f"room for {short} more {units} {where}",)


def _listed(names: tuple[str, ...], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
